"""Explanation of changes."""
