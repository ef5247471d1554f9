"""What an event keeps without consent: no click id, no cookie id, no IP (semantics 22)."""

from collections.abc import Mapping
from typing import Any, Final

from service_core.ingestion.campaign import CONSENT_REQUIRED_FIELDS
from service_core.ingestion.page_urls import remove_parameters

_URL_FIELDS: Final = frozenset({"url", "referrer", "install_referrer_url"})
_TOUCH_PREFIXES: Final = ("first_touch_", "last_touch_")
_TOUCH_IDENTIFIER_FIELDS: Final = CONSENT_REQUIRED_FIELDS | {"click_id", "click_id_type"}
_TOUCH_URL_FIELDS: Final = _URL_FIELDS | {"landing_page"}


def is_consent_denied(properties: Mapping[str, Any]) -> bool:
    """Whether the sender says that consent was denied."""
    return properties.get("consent") == "denied"


def strip_identifiers(properties: Mapping[str, Any]) -> dict[str, Any]:
    """Properties without ids of clicks and browsers, in page addresses and in touches that are told too."""
    kept: dict[str, Any] = {}
    for name, value in properties.items():
        plain = _touch_field_name(name)
        personal, addresses = (
            (CONSENT_REQUIRED_FIELDS, _URL_FIELDS)
            if plain is None
            else (_TOUCH_IDENTIFIER_FIELDS, _TOUCH_URL_FIELDS)
        )
        if (plain or name) not in personal:
            is_address = (plain or name) in addresses and isinstance(value, str)
            kept[name] = strip_identifiers_from_url(value) if is_address else value
    return kept


def _touch_field_name(name: str) -> str | None:
    """The name of a value of a first or last touch; None for any other property."""
    return next((name.removeprefix(start) for start in _TOUCH_PREFIXES if name.startswith(start)), None)


def strip_identifiers_from_url(url: str) -> str:
    """A page address without ids of clicks."""
    return remove_parameters(url, CONSENT_REQUIRED_FIELDS)
