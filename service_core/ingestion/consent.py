"""Removes click ids, cookie ids and IP addresses from events without consent."""

import re
from collections.abc import Mapping
from typing import Any, Final

from service_core.ingestion.campaign import CONSENT_REQUIRED_FIELDS
from service_core.ingestion.page_urls import remove_query_parameters
from service_core.ingestion.property_addresses import ADDRESS_KEYS
from service_core.ingestion.sanitize_json import MAX_DEPTH

DENIED: Final = "denied"
"""The value of the property ``consent`` of an event without consent."""

_MARKETING_PURPOSES: Final = frozenset(
    {
        "marketing", "advertising", "advertisement", "ads", "ad", "adstorage", "aduserdata", "targeting",
        "targetedadvertising", "saleofdata",
    }
)  # fmt: skip
"""Purposes of a consent object, lower case without separators, whose refusal denies marketing or ad storage."""
_REFUSALS: Final = frozenset(
    {"denied", "deny", "false", "no", "0", "rejected", "declined", "optout", "revoked"}
)
_PURPOSE_GROUPS_DEPTH: Final = 4
_SEPARATORS: Final = re.compile(r"[\s_.-]+")

_TOUCH_PREFIXES: Final = ("first_touch_", "last_touch_")
_TOUCH_IDENTIFIER_FIELDS: Final = CONSENT_REQUIRED_FIELDS | {"click_id", "click_id_type"}
_OTHER_IDENTIFIER_FIELDS: Final = frozenset(
    {
        *("_fbp", "_fbc", "_ttp", "_ga", "_gid", "_gac", "_gcl", "_gl", "_uetsid", "_uetvid", "_uetmsclkid", "_scid"),
        *("_pin_unauth", "_epik", "_rdt_uuid", "_twclid", "_clck", "_clsk", "_hjid", "muid", "li_giant", "_li_fat_id"),
        *("cookie", "cookies", "idfa", "gaid", "aaid", "adid", "advertising_id", "advertisingid", "ga_client_id"),
        *ADDRESS_KEYS,
    }
)  # fmt: skip
"""Names of cookies of ad platforms, of addresses and of advertising ids, lower case."""
_COOKIE_PREFIXES: Final = ("_ga_", "_gac_", "_gcl_", "_tt_")


def is_consent_denied(properties: Mapping[str, Any], *others: Mapping[str, Any]) -> bool:
    """Returns whether the event says that consent to marketing or to ad storage was denied.

    Args:
        properties: the properties of the event.
        others: further objects whose field ``consent`` counts alike.
    """
    sources = [source for source in (properties, *others) if "consent" in source]
    return bool(sources) and any(_denies(source["consent"]) for source in sources)


def _denies(consent: object) -> bool:
    if isinstance(consent, dict):
        return _denies_marketing(consent, 0)
    return _is_refusal(consent)


def _denies_marketing(consent: Mapping[str, Any], depth: int) -> bool:
    """Returns whether a consent object refuses a marketing purpose, also in a group such as ``categories``."""
    for purpose, value in consent.items():
        if isinstance(value, dict):
            if depth < _PURPOSE_GROUPS_DEPTH and _denies_marketing(value, depth + 1):
                return True
        elif _SEPARATORS.sub("", purpose.lower()) in _MARKETING_PURPOSES and _is_refusal(value):
            return True
    return False


def _is_refusal(value: object) -> bool:
    if isinstance(value, str):
        return _SEPARATORS.sub("", value.strip().lower()) in _REFUSALS
    return isinstance(value, bool | int | float) and value == 0


def strip_click_and_browser_ids(properties: Mapping[str, Any], depth: int = 0) -> dict[str, Any]:
    """Returns an object without click ids, cookie ids and addresses, at every depth, in URLs and reported touches."""
    return {
        name: _strip_value(value, depth)
        for name, value in properties.items()
        if not _is_identifier_field(name)
    }


def _strip_value(value: Any, depth: int) -> Any:
    if isinstance(value, str):
        return strip_click_ids_from_url(value) if "=" in value else value
    if depth >= MAX_DEPTH:
        return value
    if isinstance(value, dict):
        return strip_click_and_browser_ids(value, depth + 1)
    return [_strip_value(item, depth + 1) for item in value] if isinstance(value, list) else value


def _is_identifier_field(name: str) -> bool:
    touch_field = next(
        (name.removeprefix(start) for start in _TOUCH_PREFIXES if name.startswith(start)), None
    )
    fields = CONSENT_REQUIRED_FIELDS if touch_field is None else _TOUCH_IDENTIFIER_FIELDS
    return (touch_field or name) in fields or is_cookie_or_address(name)


def is_cookie_or_address(name: str) -> bool:
    """Returns whether a field has the name of an ad platform's cookie, of an address or of an advertising id."""
    lower = name.lower()
    return lower in _OTHER_IDENTIFIER_FIELDS or lower.startswith(_COOKIE_PREFIXES)


def strip_click_ids_from_url(url: str) -> str:
    """Returns the URL, or the query string, without the parameters of click ids and cookie ids."""
    if "?" in url:
        return remove_query_parameters(url, _URL_IDENTIFIERS)
    if "://" in url or ("&" not in url and url.partition("=")[0] not in _URL_IDENTIFIERS):
        return url
    return remove_query_parameters(f"?{url}", _URL_IDENTIFIERS).removeprefix("?")


_URL_IDENTIFIERS: Final = CONSENT_REQUIRED_FIELDS | _OTHER_IDENTIFIER_FIELDS
