"""Ports of ingestion: the durable queue, the write side of the event store, and look-ups."""

from collections.abc import AsyncGenerator, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Final, NamedTuple, Protocol
from uuid import UUID

from service_core.ingestion.models import (
    Event,
    IngestEndpoint,
    KnownEventStore,
    LedgerRow,
    QuarantinedEvent,
    QueuedEvent,
    ReceivedEvent,
    RejectionReason,
    SupersededEvent,
)

NOTHING_IGNORED: Final[Mapping[int, Sequence[str]]] = MappingProxyType({})
"""The ignored reasons of a batch of which every value was used."""

NONE_DROPPED: Final[Mapping[int, str]] = MappingProxyType({})
"""The reasons of a batch of which no event was dropped."""


class EnqueueResult(StrEnum):
    """Result of enqueueing an event."""

    QUEUED = "queued"
    DUPLICATE = "duplicate"


class EnqueueFailed(Exception):
    """The event was not stored durably, and its id may be sent again.

    Args:
        detail: ``queue`` or ``claim``.
        cause: the error of the queue, for the log.
    """

    def __init__(self, detail: str, cause: Exception | None = None) -> None:
        super().__init__(detail)
        self.detail = detail
        self.__cause__ = cause


@dataclass(frozen=True, slots=True)
class QueueState:
    """Number and oldest receipt time of events that are not stored yet."""

    waiting_count: int
    oldest_received_at: datetime | None


class IngestLedger(Protocol):
    """Counts of received events, part of the queue."""

    async def count_rejected(
        self,
        workspace_id: UUID,
        key_id: UUID,
        channel: IngestEndpoint,
        reason: RejectionReason,
        received_at: datetime,
        *,
        event_count: int = 1,
    ) -> None:
        """Counts rejected events; durable with the next commit or within a second."""

    async def count_duplicate(
        self, workspace_id: UUID, key_id: UUID, channel: IngestEndpoint, received_at: datetime
    ) -> None:
        """Counts an event that its caller already knows to be a duplicate, without enqueueing it."""

    async def ledger_rows(self, workspace_id: UUID, start: datetime, end: datetime) -> list[LedgerRow]:
        """Returns the ledger rows with ``start <= hour < end``, oldest first."""


class IngestQueue(IngestLedger, Protocol):
    """A durable queue that claims event ids and keeps the ledger in the same commit.

    Claim, enqueue and ledger count commit together; many offers share one commit.
    """

    async def offer(self, arrival: ReceivedEvent) -> EnqueueResult:
        """Claims the event id and enqueues the event; returns when the result is durable.

        Raises:
            EnqueueFailed: nothing was stored and the event id is not claimed.
        """

    async def offer_all(self, arrivals: Sequence[ReceivedEvent]) -> list[EnqueueResult | EnqueueFailed]:
        """Enqueues several events in one commit if they fit; returns one result each.

        Returns:
            One result per event, in order. Of two events with the same id the later is the duplicate; a failure is
            returned for an event that was not stored.

        Raises:
            EnqueueFailed: none of them was stored.
        """

    async def take(self, limit: int) -> list[QueuedEvent]:
        """Returns the oldest queued events in sequence order, without removing them."""

    async def acknowledge(
        self,
        stored: Sequence[Event],
        quarantined: Sequence[QuarantinedEvent],
        ignored: Mapping[int, Sequence[str]] = NOTHING_IGNORED,
        dropped: Mapping[int, str] = NONE_DROPPED,
    ) -> None:
        """Removes stored, quarantined and dropped events from the queue and counts them, in one commit.

        Args:
            stored: the events that are durable in the event store.
            quarantined: those that cannot be stored.
            ignored: by sequence number, which parts of a stored event could not be used.
            dropped: by sequence number, why an event that is neither stored nor quarantined was dropped; the ledger
                counts it as rejected.
        """

    async def state(self) -> QueueState:
        """Returns how many events wait, and since when."""


class Quarantine(Protocol):
    """Events that could not be stored, part of the queue."""

    async def list_quarantined(self, workspace_id: UUID, limit: int) -> list[QuarantinedEvent]:
        """Returns the quarantined events of a workspace, earliest first."""

    async def replay(self, workspace_id: UUID) -> int:
        """Puts the events back into the queue under their sequence numbers; returns how many."""

    async def delete_quarantined_before(self, received_before: datetime) -> dict[UUID, int]:
        """Deletes events received before a time; returns the number by workspace. The ledger stays unchanged."""

    async def rewrite_quarantined(
        self, rewrite: Callable[[ReceivedEvent], ReceivedEvent | None]
    ) -> dict[UUID, int]:
        """Replaces quarantined events of all workspaces, in their order. The ledger stays unchanged.

        Args:
            rewrite: returns the event to keep instead, the same one to leave it as it is, or None to delete it. It
                may change the body, the address, the user agent and the headers.

        Returns:
            The number of replaced and deleted events by workspace.
        """


class WaitingEvents(Protocol):
    """Rewrites events that are not stored yet, part of the queue."""

    async def rewrite_waiting(
        self, received_before: datetime, rewrite: Callable[[ReceivedEvent], ReceivedEvent]
    ) -> int:
        """Replaces waiting events of all workspaces; sequence number, claim and ledger stay unchanged.

        An event that is being stored meanwhile may be stored as it was.

        Args:
            received_before: events received later are left as they are.
            rewrite: returns the event to keep instead, or the same one. It may change the body, the address, the user
                agent and the headers.

        Returns:
            The number of replaced events.
        """


@dataclass(frozen=True, slots=True)
class SessionState:
    """State of a session before its next event. Events of bots and of revenue providers are left out.

    Attributes:
        first_at: time of its first event; None while only the visitor's earlier sessions are known.
        landing_page: of the event that describes how it began; None until there is one with a page.
        attribution_source: source of its latest event that may be a touch; None without one.
        attribution_medium: medium of that event.
        channel: channel of that event.
        last_campaign: the `CAMPAIGN_COLUMNS` of the visitor's latest event with campaign values, in that order, in
            whichever session; None if there is none.
        last_campaign_at: time of that event.
    """

    first_at: datetime | None
    landing_page: str | None = None
    attribution_source: str | None = None
    attribution_medium: str | None = None
    channel: str | None = None
    last_campaign: tuple[str | None, ...] | None = None
    last_campaign_at: datetime | None = None


SessionKey = tuple[UUID, str, str]
"""Workspace id, visitor id, session id."""


@dataclass(frozen=True, slots=True)
class TaggedLink:
    """The part of a trackable link that its tag resolves to.

    Attributes:
        targets_app: whether it leads into an app or the store it is installed from.
        utm: the UTM values it has.
    """

    id: UUID
    name: str
    targets_app: bool
    utm: Mapping[str, str]


class LinkLookup(Protocol):
    """Finds trackable links by tag (the ``lyr`` value)."""

    async def links_by_tag(self, workspace_id: UUID, tags: Collection[str]) -> Mapping[str, TaggedLink]:
        """Returns the workspace's links by tag, deleted ones included; unknown tags are left out."""


class StoredEventKey(NamedTuple):
    """What tells a stored event from one with the same id."""

    event_id: str
    seq: int
    timestamp: datetime
    source: str


class EventStore(Protocol):
    """Write side of the event store."""

    async def append(self, events: Sequence[Event]) -> int:
        """Stores a batch atomically; idempotent by workspace and event id within 7 days of receipt.

        An event of a sender with a key supersedes one of a sender without, of the same id: the latter is kept and
        counts nowhere (`SupersededEventStore`).

        Args:
            events: a consumer gives `EventColumns`; a store that reads its columns makes no `Event`.

        Returns:
            How many events were new.
        """

    async def session_states(self, keys: Sequence[SessionKey]) -> dict[SessionKey, SessionState]:
        """Returns the states of these sessions.

        A new session of a visitor with campaign values in another one has a state with these only; other unknown
        sessions are left out.
        """

    async def find_events_by_id(
        self, workspace_id: UUID, event_ids: Collection[str]
    ) -> Sequence[StoredEventKey]:
        """Returns the stored events with these ids, whenever they were received; superseded ones are left out."""

    async def revoke_identity_link(self, workspace_id: UUID, event_id: str) -> None:
        """Removes the identity link an event made and restores the earlier state; idempotent."""

    async def maintain(self) -> None:
        """Compacts the store; called from time to time while the service runs."""


class EventStoreRecord(Protocol):
    """Remembers which event store belongs to the deployment, so that a missing one is never replaced by an empty one."""

    async def find_event_store(self) -> KnownEventStore | None:
        """Returns the event store that was used last; None before the first."""

    async def save_event_store(self, store: KnownEventStore) -> None:
        """Replaces the event store of the deployment."""


class TransformGap(NamedTuple):
    """An hour of which some events were stored without a transform, or wait for one.

    Attributes:
        hour: start of the hour in which the events happened.
        is_held: whether they wait in quarantine.
    """

    workspace_id: UUID
    hour: datetime
    is_held: bool


class TransformGaps(Protocol):
    """The hours over which answers are incomplete, because a transform failed."""

    async def add_gaps(self, gaps: Collection[TransformGap]) -> None:
        """Adds hours; idempotent."""

    async def list_gap_hours(self, workspace_id: UUID) -> Sequence[datetime]:
        """Returns the starts of the hours of a workspace, in order, each once."""

    async def delete_held_gaps(self, workspace_id: UUID) -> Collection[TransformGap]:
        """Deletes the hours whose events waited, as they are about to be tried again.

        Returns the deleted hours, so that they can be added again if the events could not be tried.
        """


class SupersededEventStore(Protocol):
    """The events of senders without a key that events with a key superseded. No read counts them."""

    def stream_superseded_events(self, workspace_id: UUID) -> AsyncGenerator[Sequence[SupersededEvent], None]:
        """Yields the superseded events of a workspace, by sequence number."""

    async def store_superseded_events(self, superseded: Sequence[SupersededEvent]) -> None:
        """Stores superseded events as another store kept them; idempotent by workspace and sequence number."""


class PersonalDataStore(Protocol):
    """Removes personal data from the event store. Nothing that is removed comes back, also after a rebuild.

    Superseded events are cut and deleted like all others.
    """

    async def first_event_time_with_superseded(self, workspace_id: UUID) -> datetime | None:
        """Returns the timestamp of the first event of a workspace, superseded ones and bots included; None without any."""

    async def truncate_addresses(self, before: datetime, since: datetime | None = None) -> int:
        """Cuts the IP addresses of events received in a time range to their /24 or /48, in properties, too.

        In properties the addresses under `ADDRESS_KEYS` are cut, at every depth (`ADDRESS_PATTERNS`).

        Args:
            before: end of the range, exclusive.
            since: start of the range; None for no start.

        Returns:
            How many events had a whole address.
        """

    async def delete_events_before(self, workspace_id: UUID, before: datetime) -> int:
        """Deletes the events of a workspace that happened before a time, with everything derived from them.

        Returns:
            How many events were deleted.
        """

    async def delete_events(self, workspace_id: UUID, seqs: Collection[int]) -> Mapping[str, int]:
        """Deletes events by sequence number, with everything derived from them; idempotent.

        Ids that no other event carries are forgotten. The remaining events count as if the others were never sent.
        What a deleted event superseded is deleted with it.

        Returns:
            How many rows were deleted, by table; ``events`` is always among them.
        """

    async def list_ids(self, workspace_id: UUID) -> list[str]:
        """Returns every visitor id and user id that events of a workspace carry, in any order."""


class ImportedEventStore(Protocol):
    """Removes imports from the event store."""

    async def delete_imported_events(self, workspace_id: UUID, import_id: UUID) -> int:
        """Deletes the events whose `IMPORT_PROPERTY` names an import, with everything derived from them; idempotent.

        The remaining events count as if the others were never sent, as after `PersonalDataStore.delete_events`.

        Returns:
            How many events were deleted.
        """


class ReenrichableStore(Protocol):
    """Replaces enriched columns of stored events."""

    async def update_enriched_columns(self, workspace_id: UUID, events: Sequence[Event]) -> None:
        """Replaces the `REENRICHED_COLUMNS` of stored events, by sequence number and timestamp; idempotent.

        What is derived from them, such as sessions and touches, is out of date until `rebuild_workspace`.
        """

    async def rebuild_workspace(self, workspace_id: UUID) -> None:
        """Recomputes everything that is derived from the events of a workspace."""


@dataclass(frozen=True, slots=True)
class GeoLocation:
    """Country (ISO 3166-1 alpha-2), region, city and time zone of an IP address."""

    country: str | None = None
    region: str | None = None
    city: str | None = None
    timezone: str | None = None


class GeoLocator(Protocol):
    """Finds the location of an IP address."""

    def locate(self, ip: str) -> GeoLocation | None:
        """Returns the location of an IP address; None if it is unknown."""


@dataclass(frozen=True, slots=True)
class Device:
    """Device and client that a user agent describes.

    Attributes:
        crawler_name: name of a crawler that a list names.
        crawler_class: `ai_training`, `ai_search`, `ai_assistant`, `search_engine` or `other`; None unless a crawler.
    """

    device_type: str | None = None
    browser: str | None = None
    browser_version: str | None = None
    os: str | None = None
    os_version: str | None = None
    crawler: bool = False
    headless: bool = False
    crawler_name: str | None = None
    crawler_class: str | None = None


class PublicSuffixList(Protocol):
    """Finds registrable domains by the public suffix list."""

    def registrable_domain(self, host: str) -> str | None:
        """``shop.example.co.uk`` -> ``example.co.uk``; None for an address or a bare suffix."""


class UserAgentParser(Protocol):
    """Parses user agents."""

    def parse(self, user_agent: str) -> Device:
        """Returns device and bot signs of a user agent; never raises."""
