"""The core as a plugin of itself: its operations, metrics and dimensions, in explicit tuples."""
