"""The documentation: its pages as they are written, what is in them, and where they are read."""
