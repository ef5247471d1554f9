"""Channel rules and source lists as data, with a version that event rows store."""

from typing import Final

RULES_VERSION: Final = 2
"""Raise it with every change of a list or rule in this folder, or of how enrichment applies them."""
