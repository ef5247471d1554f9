"""The rules of intake as data. Rows remember the version they were enriched by."""

from typing import Final

RULES_VERSION: Final = 1
"""Raise it with every change of a list or rule in this folder, or of how enrichment applies them."""
