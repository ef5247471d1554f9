"""Trackable links: their URLs, redirects, clicks and domains."""
