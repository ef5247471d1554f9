"""What intake needs from outside: a durable queue, the write side of the event store, lookups."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol
from uuid import UUID

from service_core.ingestion.models import (
    Event,
    IngestEndpoint,
    LedgerRow,
    QuarantinedEvent,
    QueuedEvent,
    ReceivedEvent,
    RejectionReason,
)


class EnqueueResult(StrEnum):
    """What became of an offered event."""

    QUEUED = "queued"
    DUPLICATE = "duplicate"


class EnqueueFailed(Exception):
    """The event is not durable and its claim is free again.

    Args:
        detail: ``queue`` or ``claim``.
        cause: what kept it, for the log.
    """

    def __init__(self, detail: str, cause: Exception | None = None) -> None:
        super().__init__(detail)
        self.detail = detail
        self.__cause__ = cause


@dataclass(frozen=True, slots=True)
class QueueState:
    """How far the queue is behind: number and receipt time of what is not stored yet."""

    waiting_count: int
    oldest_received_at: datetime | None


class IngestLedger(Protocol):
    """The side of a queue where what came is counted, kept or not (semantics 20)."""

    async def count_rejected(
        self,
        workspace_id: UUID,
        key_id: UUID,
        channel: IngestEndpoint,
        reason: RejectionReason,
        at: datetime,
        *,
        events: int = 1,
    ) -> None:
        """Count rejected events; cheap, made durable with the next commit or within a second."""

    async def count_duplicate(
        self, workspace_id: UUID, key_id: UUID, channel: IngestEndpoint, at: datetime
    ) -> None:
        """Count an event that is not offered, as whoever brought it knows that it is a duplicate; as cheap."""

    async def ledger_rows(self, workspace_id: UUID, start: datetime, end: datetime) -> list[LedgerRow]:
        """Ledger rows with ``start <= hour < end``, oldest first."""


class IngestQueue(IngestLedger, Protocol):
    """A durable queue that claims event ids and keeps the ledger, all in one step.

    Claim, enqueue and ledger count commit together; many offers share one commit.
    """

    async def offer(self, arrival: ReceivedEvent) -> EnqueueResult:
        """Claim the event id and enqueue; returns when the outcome is durable.

        Raises:
            EnqueueFailed: nothing was kept and the claim is free.
        """

    async def offer_all(self, arrivals: Sequence[ReceivedEvent]) -> list[EnqueueResult | EnqueueFailed]:
        """The same for several that came together: one step for all, as long as they fit in one.

        Returns:
            The outcome of each, in order: of two with one id the later is the duplicate, and a
            failure stands in the place of what was not kept.

        Raises:
            EnqueueFailed: none of them was kept.
        """

    async def take(self, limit: int) -> list[QueuedEvent]:
        """The oldest waiting events, in order of sequence, without removing them."""

    async def acknowledge(self, stored: Sequence[Event], quarantined: Sequence[QuarantinedEvent]) -> None:
        """Remove events that are durable in the store (or set aside), and count them, in one commit."""

    async def state(self) -> QueueState:
        """How far behind the queue is."""


class Quarantine(Protocol):
    """The side of a queue where events are kept that could not be stored, raw and with the reason."""

    async def list_quarantined(self, workspace_id: UUID, limit: int) -> list[QuarantinedEvent]:
        """The events of a workspace that were set aside, the earliest first."""

    async def replay(self, workspace_id: UUID) -> int:
        """Put them back in the queue, each under its sequence; returns how many."""

    async def delete_before(self, before: datetime) -> dict[UUID, int]:
        """Let go of those received before a time; returns how many of each workspace. The ledger stays as it is."""


@dataclass(frozen=True, slots=True)
class SessionState:
    """What intake knows of a session before the next event: since when, its entry page, its latest touch values.

    ``last_campaign`` holds the `CAMPAIGN_COLUMNS` of the latest event that carried any, in that
    order; None while there was none. What bots did is left out. A store may look further back than
    the session, at the visitor.
    """

    first_at: datetime
    landing_page: str | None
    attribution_source: str | None
    attribution_medium: str | None
    channel: str | None
    last_campaign: tuple[str | None, ...] | None = None


SessionKey = tuple[UUID, str, str]
"""Workspace id, visitor id, session id."""


@dataclass(frozen=True, slots=True)
class TaggedLink:
    """A trackable link as its tag tells of it.

    Attributes:
        to_app: whether it leads into an app or the store it is installed from.
        utm: the UTM values it has.
    """

    id: UUID
    name: str
    targets_app: bool
    utm: Mapping[str, str]


class LinkLookup(Protocol):
    """Tag (the ``lyr`` value) -> trackable link."""

    async def links_by_tag(self, workspace_id: UUID, tags: Collection[str]) -> Mapping[str, TaggedLink]:
        """The links of a workspace with these tags, deleted ones included; unknown tags are left out."""


class EventStore(Protocol):
    """Write side of the event store."""

    async def append(self, events: Sequence[Event]) -> int:
        """Store a batch atomically; idempotent by (workspace, event id) within 7 days of receipt.

        Returns:
            How many events were new.
        """

    async def session_states(self, keys: Sequence[SessionKey]) -> dict[SessionKey, SessionState]:
        """What is stored of these sessions; unknown ones are left out."""

    async def revoke_identity_link(self, workspace_id: UUID, event_id: str) -> None:
        """Remove the identity link an event made; the earlier state returns (semantics 5.9). Twice is as good as once."""

    async def maintain(self) -> None:
        """Compact and tidy; called now and then while the service runs."""


@dataclass(frozen=True, slots=True)
class GeoLocation:
    """Where an address is: ISO 3166-1 alpha-2 country, region and city names, IANA zone."""

    country: str | None = None
    region: str | None = None
    city: str | None = None
    timezone: str | None = None


class GeoLocator(Protocol):
    """Address -> place."""

    def locate(self, ip: str) -> GeoLocation | None:
        """The place of an IP address; None when unknown."""


@dataclass(frozen=True, slots=True)
class Device:
    """What a user agent says about the device (contract 3.2 for spellings)."""

    device_type: str | None = None
    browser: str | None = None
    browser_version: str | None = None
    os: str | None = None
    os_version: str | None = None
    crawler: bool = False
    headless: bool = False


class PublicSuffixList(Protocol):
    """Host name -> the name somebody registered, by the public suffix list."""

    def registrable_domain(self, host: str) -> str | None:
        """``shop.example.co.uk`` -> ``example.co.uk``; None for an address or a bare suffix."""


class UserAgentParser(Protocol):
    """User agent -> device."""

    def parse(self, user_agent: str) -> Device:
        """Device and bot signs of a user agent; never fails."""
