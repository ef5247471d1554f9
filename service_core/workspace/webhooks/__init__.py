"""Webhooks: stored events that are sent to an address of the workspace."""
