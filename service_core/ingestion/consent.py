"""Removes click ids, cookie ids and IP addresses from events without consent."""

from collections.abc import Mapping
from typing import Any, Final

from service_core.ingestion.campaign import CONSENT_REQUIRED_FIELDS
from service_core.ingestion.page_urls import remove_query_parameters

_URL_FIELDS: Final = frozenset({"url", "referrer", "install_referrer_url"})
_TOUCH_PREFIXES: Final = ("first_touch_", "last_touch_")
_TOUCH_IDENTIFIER_FIELDS: Final = CONSENT_REQUIRED_FIELDS | {"click_id", "click_id_type"}
_TOUCH_URL_FIELDS: Final = _URL_FIELDS | {"landing_page"}


def is_consent_denied(properties: Mapping[str, Any]) -> bool:
    """Returns whether the event says that consent was denied."""
    return properties.get("consent") == "denied"


def strip_click_and_browser_ids(properties: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the properties without click and browser ids, also inside URLs and reported touches."""
    remaining: dict[str, Any] = {}
    for name, value in properties.items():
        touch_field = _touch_field_name(name)
        identifier_fields, url_fields = (
            (CONSENT_REQUIRED_FIELDS, _URL_FIELDS)
            if touch_field is None
            else (_TOUCH_IDENTIFIER_FIELDS, _TOUCH_URL_FIELDS)
        )
        if (touch_field or name) not in identifier_fields:
            is_url = (touch_field or name) in url_fields and isinstance(value, str)
            remaining[name] = strip_click_ids_from_url(value) if is_url else value
    return remaining


def _touch_field_name(name: str) -> str | None:
    """Returns the field name of a ``first_touch_`` or ``last_touch_`` property; None for any other property."""
    return next((name.removeprefix(start) for start in _TOUCH_PREFIXES if name.startswith(start)), None)


def strip_click_ids_from_url(url: str) -> str:
    """Returns the URL without click id parameters."""
    return remove_query_parameters(url, CONSENT_REQUIRED_FIELDS)
