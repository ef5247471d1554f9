"""The documentation: its pages, full-text search, and ``llms.txt``."""
