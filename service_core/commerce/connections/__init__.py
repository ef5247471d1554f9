"""Connections as a writable resource: connect, change, pause, test and remove a provider."""
