"""Recognizes clicks on app store links."""

from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from service_core.ingestion.channel_rules.sources import APP_STORE_HOSTS
from service_core.ingestion.models import Event

APP_STORE_CLICK_EVENTS: Final = frozenset({"app_store_click", "app_store_clicked", "app_store_redirect"})
APP_STORE_SCHEMES: Final = frozenset({"itms-apps", "itms-appss", "market"})
URL_KEYS: Final = ("href", "link_url", "target_url", "outbound_url", "destination_url", "url")
"""Keys of ``event_data`` with the target of a click."""


def is_app_store_click(event: Event) -> bool:
    """Whether an event is a click on a link to an app store."""
    return event.event_name in APP_STORE_CLICK_EVENTS or any(
        map(_has_app_store_scheme_or_host, _target_urls(event.event_data))
    )


def _target_urls(data: Mapping[str, Any]) -> Iterator[str]:
    return (value for key in URL_KEYS if isinstance(value := data.get(key), str))


def _has_app_store_scheme_or_host(url: str) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme.lower() in APP_STORE_SCHEMES or parts.hostname in APP_STORE_HOSTS
