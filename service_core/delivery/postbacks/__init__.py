"""Conversions on their way to ad platforms: matched by rules, kept in an outbox, sent by senders (semantics 13)."""
