"""Values of dimensions in words for people."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from hosts.web.value_words import humanize
from service_core.analytics.measures import NOT_SET
from service_core.analytics.query.models import OTHER_GROUP_LABEL
from service_core.analytics.reads.countries import COUNTRIES
from service_core.ingestion.event_names import PAGE_VIEWS

_DEVICE_TYPES: Final = {
    "desktop": "Desktop",
    "mobile": "Mobile",
    "tablet": "Tablet",
    "tv": "TV",
    "other": "Other",
}
CRAWLER_CLASSES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "ai_assistant": "AI assistants acting for people",
        "ai_search": "AI search engines",
        "ai_training": "AI training crawlers",
        "search_engine": "Search engines",
        "other": "Other crawlers",
    }
)
_LABELS: Final[Mapping[str, Mapping[str, str]]] = MappingProxyType(
    {
        "channel": {"ai_assistant": "AI assistant"},
        "country": COUNTRIES,
        "device_type": _DEVICE_TYPES,
        "screen_class": {"small": "Small", "medium": "Medium", "large": "Large", "wide": "Wide"},
        "crawler_class": CRAWLER_CLASSES,
        "is_bot": {"true": "Bots", "false": "People"},
        "bot_reason": {
            "known_agent": "Known crawler",
            "headless": "Headless browser",
            "prefetch": "Prefetch or preview",
            "referrer_spam": "Referrer spam",
        },
        "new_vs_returning": {"new": "New", "returning": "Returning"},
        "referrer_host": {"(direct)": "Direct (no referrer)"},
        "attribution_source": {"(direct)": "Direct"},
        "attribution_medium": {"(none)": "None"},
    }
)
_UNKNOWN_LABELS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "utm_campaign": "No campaign",
        "utm_source": "No UTM source",
        "utm_medium": "No UTM medium",
        "attribution_source": "Direct",
        "attribution_medium": "Direct",
        "page_path": "No page",
        "landing_page": "No page",
        "exit_page": "No page",
        "click_id_type": "No click id",
        "lyr": "No link",
        "crawler": "Unnamed",
        "crawler_class": "Other bots",
        "bot_reason": "Not a bot",
    }
)


def label_dimension_value(dimension: str, value: object) -> str:
    """A value of a dimension in words; an absent one as "Unknown", or as what its absence means.

    Args:
        dimension: id of the catalog.
        value: as answers have it.
    """
    if value is None or value in ("", NOT_SET):
        return _UNKNOWN_LABELS.get(dimension, "Unknown")
    if value == OTHER_GROUP_LABEL:
        return "Everything else"
    text = str(value)
    if dimension == "event_name":
        return label_event_name(text)
    words = _LABELS.get(dimension, {}).get(text)
    return words or (humanize(text) if dimension == "channel" else text)


def label_event_name(name: str) -> str:
    """The name of an event as a sentence begins: ``product_viewed`` as "Product viewed", ``$identify`` as "Identify"."""
    if name in PAGE_VIEWS:
        return "Page view"
    return humanize(name.removeprefix("$"))
