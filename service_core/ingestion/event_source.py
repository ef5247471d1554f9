"""Determines which kind of client sent an event, and the end user's IP address."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv6Address, ip_address
from typing import Any, Final

from service_core.ingestion.event_names import APP_OPENINGS, PAGE_VIEWS, SESSION_START
from service_core.ingestion.models import (
    CAMPAIGN_COLUMNS,
    PROVIDER_HEADER,
    Event,
    IngestEndpoint,
    ReceivedEvent,
)
from service_core.ingestion.text_cache import MAX_CACHED_TEXT_LENGTH, cache_by_text
from service_core.ingestion.validation import text_of_string_or_number
from service_core.kernel.settings import IngestSettings

API: Final = "api"
BROWSER: Final = "browser"
MOBILE_APP: Final = "mobile_app"
WEB: Final = "web"
"""Source of events of the browser batch, whose senders have no key: they never take the id of an event with a key."""

TOUCH_EVENTS: Final = PAGE_VIEWS | {SESSION_START, *APP_OPENINGS}
"""Events that only devices have; they may be touches without campaign values."""

CLIENT_SESSION: Final = "client"
"""The ``session_origin`` of an event whose session id the client sent."""

DEVICE_SOURCES: Final = frozenset({BROWSER, MOBILE_APP, WEB})
"""Sources whose events devices send themselves."""
DEVICE_SIGN_COLUMNS: Final = ("device_type", "browser", "os", "page_url", "referrer", *CAMPAIGN_COLUMNS)
"""Columns of an `API` event that only a device's event has."""
_DEFAULTS: Final = IngestSettings()
_BROWSERS: Final = ("mozilla", "chrome", "safari", "firefox", "edge", "opera")


@dataclass(frozen=True, slots=True)
class SdkUserAgents:
    """Parts of the ``User-Agent`` that identify SDKs; case is ignored."""

    mobile: tuple[str, ...] = _DEFAULTS.mobile_sdks
    server: tuple[str, ...] = _DEFAULTS.server_sdks

    def classify_event_source(
        self,
        endpoint: IngestEndpoint,
        user_agent: str | None,
        names_app: Callable[[], bool] = lambda: False,
    ) -> str:
        """Returns the source column: `MOBILE_APP`, `API`, `BROWSER`, or `WEB` for browser batches.

        Args:
            endpoint: the endpoint that received the event.
            user_agent: of the request.
            names_app: whether the event names an app or a mobile system: the HTTP client of Android apps is also used
                on servers.
        """
        if endpoint is IngestEndpoint.BATCH:
            return WEB
        agent = (user_agent or "").lower()
        is_app_on_okhttp = "okhttp/" in agent and names_app()
        if len(agent) > MAX_CACHED_TEXT_LENGTH:
            return _source_of_user_agent(self, agent, is_app_on_okhttp)
        return _cached_source_of_user_agent(self, agent, is_app_on_okhttp)


def _source_of_user_agent(sdks: SdkUserAgents, agent: str, is_app_on_okhttp: bool) -> str:
    """Returns the source by a lower-case User-Agent; ``okhttp`` is also used on servers."""
    is_mobile_http_client = (
        ("cfnetwork/" in agent and "darwin/" in agent) or agent.startswith("dalvik/") or is_app_on_okhttp
    )
    if is_mobile_http_client or any(token.lower() in agent for token in sdks.mobile):
        return MOBILE_APP
    if any(token.lower() in agent for token in sdks.server):
        return API
    return BROWSER if any(token in agent for token in _BROWSERS) else API


_cached_source_of_user_agent: Final = lru_cache(2048)(_source_of_user_agent)


def webhook_provider(arrival: ReceivedEvent) -> str | None:
    """Returns the revenue provider whose webhook the event is; None for any other event."""
    return arrival.headers.get(PROVIDER_HEADER) if arrival.channel is IngestEndpoint.WEBHOOK else None


def was_sent_by_or_for_device(event: Event) -> bool:
    """Returns whether a device of the visitor sent an event, itself or through a server.

    A revenue provider has no device. A server passes a device's event on when it names the device, its session, page,
    user agent or campaign, or the event is one that only devices have, such as a page view.
    """
    if event.source != API:
        return event.source in DEVICE_SOURCES
    return signs_show_device_behind_server_event(
        event.event_name,
        event.session_origin,
        names_device=event.anonymous_id is not None
        or event.visitor_id not in {event.distinct_id, event.user_id},
    ) or any(getattr(event, column) is not None for column in DEVICE_SIGN_COLUMNS)


def signs_show_device_behind_server_event(
    event_name: str, session_origin: str, *, names_device: bool
) -> bool:
    """Returns whether name, session or ids of an event that a server sent show that a device's event is passed on.

    Args:
        event_name: of the event.
        session_origin: ``client`` or ``generated``.
        names_device: whether its visitor is another id than those of a user.
    """
    return names_device or session_origin == CLIENT_SESSION or event_name in TOUCH_EVENTS


def reported_or_connection_ip(
    reported_ip: object, connection_ip: str | None, event_source: str
) -> str | None:
    """Returns the end user's IP address.

    Args:
        reported_ip: the ``ip`` of the body. ``0`` requests that no address is stored; an invalid one is ignored.
        connection_ip: address of the connection, used without a reported one, except for `API` events.
        event_source: the source column of the event.
    """
    if reported_ip is not None and not isinstance(reported_ip, bool) and str(reported_ip).strip() == "0":
        return None
    own = _normalized_ip_or_none(reported_ip) if isinstance(reported_ip, str) else None
    return own or (_normalized_ip_or_none(connection_ip) if connection_ip and event_source != API else None)


def reported_user_agent(context: Mapping[str, Any]) -> str | None:
    """Returns the user agent of the end user that the context of an event names."""
    return text_of_string_or_number(context.get("userAgent")) or text_of_string_or_number(
        context.get("user_agent")
    )


@cache_by_text(4096)
def _normalized_ip_or_none(text: str) -> str | None:
    try:
        address = ip_address(text.strip())
    except ValueError:
        return None
    if isinstance(address, IPv6Address):
        address = address.ipv4_mapped or address
    return str(address).partition("%")[0]
