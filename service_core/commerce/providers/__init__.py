"""Revenue providers: their webhooks become events and states of subscriptions (semantics 11)."""
