"""Reads the browser ids that ad platforms keep in cookies: `fbp`, `fbc` and `ttp`.

Libraries send them as properties, with or without the underscore of the cookie's name, in an object beside them such as
``fingerprint_data`` or ``cookies``, or as the text of a ``Cookie`` header.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from service_core.ingestion.campaign import campaign_text

_COLUMN_BY_FIELD: Final[Mapping[str, str]] = MappingProxyType(
    {"fbp": "fbp", "_fbp": "fbp", "fbc": "fbc", "_fbc": "fbc", "ttp": "ttp", "_ttp": "ttp"}
)
_COOKIE_TEXT_FIELDS: Final = ("cookies", "cookie")


def first_sent_browser_ids_by_column(*sources: Mapping[str, Any]) -> dict[str, str]:
    """Returns the browser ids by column.

    Args:
        sources: objects of the body in order of precedence. The fields of an object precede those of the objects inside
            it; deeper objects are not read.
    """
    found: dict[str, str] = {}
    for source in sources:
        for group in _field_groups_with_browser_id(source):
            for field, column in _COLUMN_BY_FIELD.items():
                if field in group and (value := campaign_text(group[field])):
                    found.setdefault(column, value)
    return found


def _field_groups_with_browser_id(source: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Returns an object, the objects inside it and its cookies, as far as they have a browser id."""
    fields = _COLUMN_BY_FIELD.keys()
    groups = [] if fields.isdisjoint(source) else [source]
    groups += [value for value in source.values() if isinstance(value, dict) and not fields.isdisjoint(value)]
    groups += [
        _parse_cookie_text(source[field])
        for field in _COOKIE_TEXT_FIELDS
        if field in source and isinstance(source[field], str)
    ]
    return groups


def _parse_cookie_text(text: str) -> dict[str, str]:
    pairs = (pair.partition("=") for pair in text.split(";"))
    return {name.strip(): value.strip() for name, _, value in pairs}
