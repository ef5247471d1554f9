"""Ids of dimensions that are made of a name."""

from typing import Final

PROPERTY_PREFIX: Final = "property:"
"""Beginning of the id of a dimension that is a custom property of events."""
