"""Determines which kind of client sent an event, and the end user's IP address."""

from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address
from typing import Final

from service_core.ingestion.models import PROVIDER_HEADER, IngestEndpoint, ReceivedEvent
from service_core.kernel.settings import IngestSettings

API: Final = "api"
BROWSER: Final = "browser"
MOBILE_APP: Final = "mobile_app"
WEB: Final = "web"
"""Source of events of the browser batch, whose senders have no key: they never take the id of an event with a key."""

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
        if any(token.lower() in agent for token in self.mobile) or _is_mobile_http_client(agent, names_app):
            return MOBILE_APP
        if any(token.lower() in agent for token in self.server):
            return API
        return BROWSER if any(token in agent for token in _BROWSERS) else API


def _is_mobile_http_client(agent: str, names_app: Callable[[], bool]) -> bool:
    """Returns whether the lower-case User-Agent is that of an app's HTTP library on iOS or Android."""
    return (
        ("cfnetwork/" in agent and "darwin/" in agent)
        or agent.startswith("dalvik/")
        or ("okhttp/" in agent and names_app())
    )


def webhook_provider(arrival: ReceivedEvent) -> str | None:
    """Returns the revenue provider whose webhook the event is; None for any other event."""
    return arrival.headers.get(PROVIDER_HEADER) if arrival.channel is IngestEndpoint.WEBHOOK else None


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


def _normalized_ip_or_none(text: str) -> str | None:
    try:
        address = ip_address(text.strip())
    except ValueError:
        return None
    if isinstance(address, IPv6Address):
        address = address.ipv4_mapped or address
    return str(address).partition("%")[0]
