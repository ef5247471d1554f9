"""Grants people give to programs over OAuth; the authorization server itself stands above."""
