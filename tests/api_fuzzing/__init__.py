"""Random requests against a running service."""
