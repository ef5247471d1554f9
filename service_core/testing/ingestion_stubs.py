"""Stubs of the ports of event enrichment, and a workspace and queued events for tests."""

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
    """Implements `PublicSuffixes` without a list: two labels are registrable, three below ``co.uk`` and ``github.io``."""

    def registrable_domain(self, host: str) -> str | None:
        """Returns the last two or three labels of a host; None for an IPv4 address and for a bare suffix."""
        labels = host.split(".")
        label_count = 3 if host.endswith((".co.uk", ".github.io")) else 2
        if labels[-1].isdigit() or len(labels) < label_count:
            return None
        return ".".join(labels[-label_count:])


class StubDevices:
    """Implements `Devices` for Firefox, agents with ``bot`` in their name, and headless browsers."""

    def parse(self, user_agent: str) -> Device:
        """Returns the device of a user agent."""
        if "Firefox" in user_agent:
            return Device("desktop", "Firefox", "140.0", "Linux")
        return Device(crawler="bot" in user_agent.lower(), headless="Headless" in user_agent)


class StubGeo:
    """Implements `Geo` for one documentation network, which is in Berlin."""

    def locate(self, ip: str) -> GeoLocation | None:
        """Returns Berlin for an address of the network, else None."""
        known = ip.startswith(_ADDRESS_IN_BERLIN)
        return GeoLocation("DE", "Berlin", "Berlin", "Europe/Berlin") if known else None


def make_workspace(**overrides: Any) -> Workspace:
    """Returns a workspace of ``example.com`` in euros and UTC, with fields overridden."""
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
    return Workspace(**fields | overrides)


def parse_and_enrich_body(
    enricher: Enricher,
    queued_event: QueuedEvent,
    body: Mapping[str, Any],
    *,
    workspace: Workspace,
    session: SessionState | None = None,
    external_id_events: Mapping[str, ExternalIdEvent] = NO_EXTERNAL_ID_EVENTS,
) -> Event:
    """Returns the event row of one queued body after parsing and enrichment, without queueing it."""
    parsed = parse_event(queued_event.arrival, body, workspace, external_id_events)
    return enricher.build_event_row(queued_event, parsed, workspace=workspace, session=session)


def make_queued_event(body: bytes = b"{}", *, seq: int = 1, **overrides: Any) -> QueuedEvent:
    """Returns a queued event received on ``/track`` at `NOON`, with fields of `ReceivedEvent` overridden."""
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
    return QueuedEvent(seq, ReceivedEvent(**fields | overrides))
