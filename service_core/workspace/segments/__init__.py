"""Segments: filters with a name."""
