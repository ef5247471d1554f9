"""Paths: what comes before and after a page or an event in a session."""
