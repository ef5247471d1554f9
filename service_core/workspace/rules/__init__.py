"""Conversion rules: which event is sent to which ad platform, and as which conversion."""
