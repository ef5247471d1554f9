"""Telling that a visit went on to an app store."""

from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from service_core.intake.model import Event

NAMES: Final = frozenset({"app_store_click", "app_store_clicked", "app_store_redirect"})
HOSTS: Final = frozenset(
    {"apps.apple.com", "itunes.apple.com", "appsto.re", "play.google.com", "market.android.com"}
)
SCHEMES: Final = frozenset({"itms-apps", "itms-appss", "market"})
TARGETS: Final = ("href", "link_url", "target_url", "outbound_url", "destination_url", "url")
"""Keys of ``event_data`` that say where a click led."""


def leads_to_store(event: Event) -> bool:
    """Whether an event says that the visitor went on to an app store."""
    return event.event_name in NAMES or any(map(_is_store, _targets(event.event_data)))


def _targets(data: Mapping[str, Any]) -> Iterator[str]:
    return (value for key in TARGETS if isinstance(value := data.get(key), str))


def _is_store(address: str) -> bool:
    try:
        parts = urlsplit(address)
    except ValueError:
        return False
    return parts.scheme.lower() in SCHEMES or parts.hostname in HOSTS
