"""Notifications: messages of the workspace to people and programs, sent from an outbox."""
