"""Subscriptions: what each was worth at every instant, and how that moved (semantics 16.6, 16.7)."""
