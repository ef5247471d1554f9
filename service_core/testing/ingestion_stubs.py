"""Small stand-ins for what intake is given, and a workspace and arrivals to try rules on."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final
from uuid import UUID

from service_core.access.models import Workspace
from service_core.ingestion.enrichment import Enricher
from service_core.ingestion.models import Event, IngestEndpoint, QueuedEvent, ReceivedEvent
from service_core.ingestion.parse_event import NO_EXTERNAL_ID_EVENTS, ExternalIdEvent, parse_event
from service_core.ingestion.ports import Device, GeoLocation, SessionState

NOON: Final = datetime(2026, 7, 1, 12, tzinfo=UTC)
WORKSPACE_ID: Final = UUID(int=1)
KEY_ID: Final = UUID(int=2)
FIREFOX: Final = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"

_ADDRESS_IN_BERLIN: Final = "203.0.113."


class StubPublicSuffixes:
    """`Domains`: two labels are registrable, three below ``co.uk`` and ``github.io``."""

    def registrable_domain(self, host: str) -> str | None:
        """The last labels of a host; None for an IPv4 address and for a bare suffix."""
        labels = host.split(".")
        wanted = 3 if host.endswith((".co.uk", ".github.io")) else 2
        if labels[-1].isdigit() or len(labels) < wanted:
            return None
        return ".".join(labels[-wanted:])


class StubDevices:
    """`Devices` that knows Firefox, agents that call themselves bots, and headless browsers."""

    def parse(self, user_agent: str) -> Device:
        """The device of an agent."""
        if "Firefox" in user_agent:
            return Device("desktop", "Firefox", "140.0", "Linux")
        return Device(crawler="bot" in user_agent.lower(), headless="Headless" in user_agent)


class StubGeo:
    """`Geo` that knows one documentation network, in Berlin."""

    def locate(self, ip: str) -> GeoLocation | None:
        """The place of an address."""
        known = ip.startswith(_ADDRESS_IN_BERLIN)
        return GeoLocation("DE", "Berlin", "Berlin", "Europe/Berlin") if known else None


def make_workspace(**changes: Any) -> Workspace:
    """A workspace of ``example.com`` that counts in euros, with fields changed."""
    fields: dict[str, Any] = {
        "id": WORKSPACE_ID,
        "public_id": "k3Jx9QmZ2aPr",
        "name": "Example Shop",
        "domain": "example.com",
        "timezone": "UTC",
        "currency": "EUR",
        "plan": "unlimited",
        "active": True,
        "created_at": NOON,
        "secret": b"secret of the workspace",
    }
    return Workspace(**fields | changes)


def enrich_body(
    enricher: Enricher,
    queued_event: QueuedEvent,
    body: Mapping[str, Any],
    *,
    workspace: Workspace,
    session: SessionState | None = None,
    external_id_events: Mapping[str, ExternalIdEvent] = NO_EXTERNAL_ID_EVENTS,
) -> Event:
    """Returns the row of one accepted body."""
    parsed = parse_event(queued_event.arrival, body, workspace, external_id_events)
    return enricher.enrich(queued_event, parsed, workspace=workspace, session=session)


def make_queued_event(body: bytes = b"{}", *, seq: int = 1, **changes: Any) -> QueuedEvent:
    """An arrival through ``/track`` at noon, with fields of `Arrival` changed."""
    fields: dict[str, Any] = {
        "workspace_id": WORKSPACE_ID,
        "key_id": KEY_ID,
        "channel": IngestEndpoint.TRACK,
        "event_id": f"e{seq}",
        "claimed": False,
        "received_at": NOON,
        "body": body,
        "user_agent": None,
        "address": None,
        "headers": {},
    }
    return QueuedEvent(seq, ReceivedEvent(**fields | changes))
