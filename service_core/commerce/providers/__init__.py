"""Revenue providers: webhooks and polled messages become events and subscription facts."""
