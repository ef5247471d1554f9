"""Trackable links: addresses that carry a tag, with or without a redirect of our own."""
