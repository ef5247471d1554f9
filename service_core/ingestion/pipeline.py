"""Moves events from the queue to the event store: take, parse, enrich, append, acknowledge.

A batch is acknowledged only when it is durable in the store. After a failure it stays in the queue and is processed
again; the store ignores events that it has stored before.
"""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeVar
from uuid import UUID

from service_core.access.models import Workspace
from service_core.ingestion.campaign import link_tag_without_utm
from service_core.ingestion.column_enrichment import BatchEnricher, UtmByWorkspace
from service_core.ingestion.enrichment import Enricher
from service_core.ingestion.event_columns import EventColumns
from service_core.ingestion.event_source import BROWSER, MOBILE_APP, WEB, reported_user_agent
from service_core.ingestion.ignored_values import ignored_values
from service_core.ingestion.imported_ids import stored_import_id
from service_core.ingestion.ledger import start_of_hour
from service_core.ingestion.lru_cache import LruCache
from service_core.ingestion.models import (
    IMPORT_HEADER,
    UNPARSED_HEADER,
    UNREAD_FIELDS_HEADER,
    EnrichedEvent,
    Event,
    IngestEndpoint,
    QuarantinedEvent,
    QueuedEvent,
    ReceivedEvent,
)
from service_core.ingestion.parse_event import (
    NO_EXTERNAL_ID_EVENTS,
    ExternalIdEvent,
    ParsedEvent,
    parse_event,
)
from service_core.ingestion.ports import (
    EventStore,
    IngestQueue,
    LinkLookup,
    SessionKey,
    SessionState,
    TransformGap,
)
from service_core.ingestion.reported_touches import link_tags_of_touches_without_utm
from service_core.ingestion.sanitize_json import is_storable_json
from service_core.ingestion.stored_repeats import (
    STORED_BEFORE,
    positions_of_events_not_stored_or_none_if_all_new,
)
from service_core.ingestion.traffic_source_columns import (
    VisitorCampaign,
    campaign_of_event,
    campaign_of_state,
    latest_campaign,
    session_state_after_event,
    session_state_before_event,
)
from service_core.ingestion.transforms.run_transforms import NO_TRANSFORMS, EventHeld, EventTransforms
from service_core.ingestion.validation import text_of_string_or_number
from service_core.kernel.clock import Clock, system_clock

BATCH_SIZE: Final = 5_000
"""Most events of one append. Appending 5,000 instead of 2,000 costs the embedded store 0.6 times per event."""
FIRST_BATCH_SIZE: Final = 1_000
"""Most events of a batch while the size of their bodies is unknown."""
MAX_BATCH_BYTES: Final = 64_000_000
"""Bytes of bodies that a batch should not exceed; 5,000 events of usual size have 3 million."""
HIGH_RATE_THRESHOLD: Final = 200
"""Events of one visitor in a minute; a higher rate is added to the bot reasons."""

_END_USER_SOURCES: Final = frozenset({BROWSER, WEB, MOBILE_APP})
"""Sources whose requests come from the end user's own browser or application."""
_SESSION_CACHE_SIZE: Final = 20_000
_YIELD_EVERY: Final = 50
_MAX_REASON_LENGTH: Final = 500

_T = TypeVar("_T")

MapKeptMessage = Callable[[ReceivedEvent], Awaitable[ReceivedEvent | None]]
"""Maps a message of a provider that was kept raw; None if it still becomes no event."""

IsPaidEvent = Callable[[str, Workspace], bool]
"""Whether something is paid with an event of this name in this workspace."""

FindWorkspace = Callable[[UUID], Awaitable[Workspace | None]]
"""Workspace by id; None if it was deleted."""


FindReactionNames = Callable[[UUID], Awaitable[Collection[str]]]
"""Names of the events of a workspace that something reacts to."""

OnTransformGaps = Callable[[Collection[TransformGap]], Awaitable[None]]
"""Called with the hours of events that a transform failed for, before these leave the queue."""


class RuleCandidate(NamedTuple):
    """A stored event that a conversion rule of its workspace may match.

    Attributes:
        user_agent: user agent of the end user, which event rows do not contain; None if a server sent the event.
    """

    event: Event
    user_agent: str | None


OnStored = Callable[[Sequence[RuleCandidate]], Awaitable[None]]
"""Called with stored events before they leave the queue, and again if their batch is processed again."""


class _ParsedEventOfWorkspace(NamedTuple):
    queued: QueuedEvent
    workspace: Workspace
    parsed: ParsedEvent
    body: Mapping[str, Any]
    is_storable: bool
    transform_reasons: tuple[str, ...] = ()

    @property
    def is_of_provider(self) -> bool:
        """Whether a provider sent it."""
        return self.queued.arrival.channel is IngestEndpoint.WEBHOOK


class _EnrichedBatch(NamedTuple):
    events: EventColumns
    triggered: list[RuleCandidate]
    quarantined: list[QuarantinedEvent]
    ignored: dict[int, Sequence[str]]
    dropped: dict[int, str]
    gaps: set[TransformGap]


class IngestPipeline:
    """Consumes one queue. At most one pipeline runs per queue.

    Args:
        queue: the queue of accepted events.
        store: the event store.
        find_workspace: called once per workspace and batch.
        enricher: converts events to rows.
        decode: JSON bytes -> value; may raise for invalid JSON.
        batch_size: most events of one batch.
        links: finds the UTM values of link tags; None if there are no links.
        on_stored: called with stored events that trigger conversion rules; None if there are no rules.
        external_id_events: events that carry an id of a provider, by event name.
        map_kept_message: maps messages of providers that were kept raw, so that a replay after an update of the
            plugin stores them; None leaves them in quarantine.
        is_paid_event: whether something is paid with a tracked event of this name, so that its amount is revenue.
        data_version: changes when a person was erased in any process; the pipeline then reads sessions again.
        transforms: drop and change events before they are enriched. Messages of providers pass them by.
        reaction_names: id of a workspace -> names of events for which ``on_stored`` is called, besides those of rules.
        on_transform_gaps: records the hours of events that a transform failed for; None for nowhere.
        clock: tells which events were received long ago.
    """

    def __init__(
        self,
        queue: IngestQueue,
        store: EventStore,
        find_workspace: FindWorkspace,
        enricher: Enricher,
        decode: Callable[[bytes], object],
        *,
        batch_size: int = BATCH_SIZE,
        links: LinkLookup | None = None,
        on_stored: OnStored | None = None,
        external_id_events: Mapping[str, ExternalIdEvent] = NO_EXTERNAL_ID_EVENTS,
        map_kept_message: MapKeptMessage | None = None,
        is_paid_event: IsPaidEvent = lambda _name, _workspace: True,
        data_version: Callable[[], int | None] = lambda: None,
        transforms: EventTransforms = NO_TRANSFORMS,
        on_transform_gaps: OnTransformGaps | None = None,
        clock: Clock = system_clock,
        reaction_names: FindReactionNames | None = None,
    ) -> None:
        self._queue = queue
        self._store = store
        self._find_workspace = find_workspace
        self._enricher = enricher
        self._decode = decode
        self._batch_size = batch_size
        self._next_limit = min(batch_size, FIRST_BATCH_SIZE)
        self._links = links
        self._on_stored = on_stored
        self._external_id_events = external_id_events
        self._map_kept_message = map_kept_message
        self._is_paid_event = is_paid_event
        self._data_version = data_version
        self._transforms = transforms
        self._on_transform_gaps = on_transform_gaps
        self._clock = clock
        self._reaction_names = reaction_names
        self._cached_version: int | None = None
        self._sessions: LruCache[SessionKey, SessionState] = LruCache(
            max(_SESSION_CACHE_SIZE, 2 * batch_size)
        )
        self._campaigns: LruCache[tuple[UUID, str], VisitorCampaign] = LruCache(
            max(_SESSION_CACHE_SIZE, 2 * batch_size)
        )
        self._event_counts_by_minute: LruCache[tuple[UUID, str, int], int] = LruCache(
            max(_SESSION_CACHE_SIZE, 2 * batch_size)
        )

    async def process_batch(self) -> int:
        """Moves the next batch; returns how many events left the queue, 0 if it is empty.

        An event that cannot become a row is quarantined with its reason and does not block the others.

        Raises:
            Exception: the queue or the store failed; nothing was acknowledged, so the same batch is processed again.
        """
        taken = await self._queue.take(self._next_limit)
        if not taken:
            return 0
        self._next_limit = event_count_of_next_batch_by_mean_size(taken, self._batch_size)
        self._drop_cached_sessions_if_data_was_erased()
        try:
            batch = await self._drop_stored_repeats(await self._enrich_or_quarantine_batch(taken))
            if batch.events:
                await self._store.append(batch.events)
            if batch.triggered and self._on_stored is not None:
                await self._on_stored(batch.triggered)
            if batch.gaps and self._on_transform_gaps is not None:
                await self._on_transform_gaps(batch.gaps)
            await self._queue.acknowledge(batch.events, batch.quarantined, batch.ignored, batch.dropped)
        except BaseException:
            self._sessions.clear()
            self._campaigns.clear()
            self._event_counts_by_minute.clear()
            raise
        return len(taken)

    async def _drop_stored_repeats(self, batch: _EnrichedBatch) -> _EnrichedBatch:
        """Returns a batch without the events that are stored already."""
        now = self._clock()
        new = await positions_of_events_not_stored_or_none_if_all_new(batch.events, self._store, now)
        if new is None:
            return batch
        events = batch.events.select(new)
        repeats = set(batch.events.column("seq")).difference(events.column("seq"))
        return batch._replace(
            events=events,
            triggered=[candidate for candidate in batch.triggered if candidate.event.seq not in repeats],
            ignored={seq: reasons for seq, reasons in batch.ignored.items() if seq not in repeats},
            dropped=batch.dropped | dict.fromkeys(repeats, STORED_BEFORE),
        )

    def _drop_cached_sessions_if_data_was_erased(self) -> None:
        """Clears the cached sessions when the data version changed, so that no erased session is continued."""
        version = self._data_version()
        if version != self._cached_version:
            self._sessions.clear()
            self._campaigns.clear()
            self._event_counts_by_minute.clear()
            self._cached_version = version

    async def _enrich_or_quarantine_batch(self, batch: Sequence[QueuedEvent]) -> _EnrichedBatch:
        ids = {queued.arrival.workspace_id for queued in batch}
        workspaces = {workspace_id: await self._find_workspace(workspace_id) for workspace_id in ids}
        find = self._reaction_names
        reaction_names = {id_: await find(id_) if find else () for id_ in ids}
        ready: list[_ParsedEventOfWorkspace] = []
        quarantined: list[QuarantinedEvent] = []
        ignored: dict[int, Sequence[str]] = {}
        dropped: dict[int, str] = {}
        gaps: set[TransformGap] = set()
        self._transforms.begin_batch()
        async for taken in _yield_to_event_loop_every_50(batch):
            queued = await self._map_again_or_keep(taken) if _is_kept_raw(taken.arrival) else taken
            try:
                step = self._parse_queued(queued, workspaces[queued.arrival.workspace_id])
                if (kept := self._transform_or_drop(step, dropped, gaps)) is not None:
                    ready.append(kept)
            except Exception as fault:  # noqa: BLE001 - one event never blocks the others
                quarantined.append(_build_quarantined_event(queued, fault))
        self._transforms.report_batch()
        await self._cache_stored_sessions(ready)
        rows = BatchEnricher(self._enricher, await self._load_utm_of_bare_link_tags(ready))
        stored: list[_ParsedEventOfWorkspace] = []
        triggered: list[int] = []
        async for step in _yield_to_event_loop_every_50(ready):
            try:
                event = self._enrich_and_advance_session(step, rows)
            except Exception as fault:  # noqa: BLE001 - one event never blocks the others
                quarantined.append(_build_quarantined_event(step.queued, fault))
                continue
            name = step.parsed.name
            if name in step.workspace.triggers or name in reaction_names[step.workspace.id]:
                triggered.append(len(stored))
            stored.append(step)
            unused = ignored_values(
                step.body,
                event,
                is_paid_event=not event.revenue
                or step.is_of_provider
                or self._is_paid_event(event.event_name, step.workspace),
                has_unread_fields=UNREAD_FIELDS_HEADER in step.queued.arrival.headers,
                is_storable=step.is_storable,
            )
            if unused or step.transform_reasons:
                ignored[step.queued.seq] = (*unused, *step.transform_reasons)
        events = rows.columns()
        candidates = [
            RuleCandidate(events[place], _end_user_agent(stored[place], events[place].source))
            for place in triggered
        ]
        return _EnrichedBatch(events, candidates, quarantined, ignored, dropped, gaps)

    def _transform_or_drop(
        self, step: _ParsedEventOfWorkspace, dropped: dict[int, str], gaps: set[TransformGap]
    ) -> _ParsedEventOfWorkspace | None:
        """Returns the event as the transforms leave it; adds a dropped one to ``dropped`` and returns None.

        The hour of an event that one failed for is added to ``gaps``.
        """
        if step.is_of_provider or not self._transforms:
            return step
        hour = start_of_hour(step.parsed.timestamp)
        try:
            transformed = self._transforms.apply_until_dropped(
                step.parsed,
                step.queued.arrival,
                self._enricher.event_source(step.parsed, step.queued.arrival),
            )
        except EventHeld:
            gaps.add(TransformGap(step.workspace.id, hour, is_held=True))
            raise
        if transformed.skipped and transformed.dropped is None:
            gaps.add(TransformGap(step.workspace.id, hour, is_held=False))
        if transformed.dropped is not None:
            dropped[step.queued.seq] = transformed.dropped
            return None
        return step._replace(parsed=transformed.parsed, transform_reasons=transformed.ignored)

    async def _map_again_or_keep(self, queued: QueuedEvent) -> QueuedEvent:
        """Returns the event of a message that was kept raw, if it can be mapped now; else the same event."""
        mapped = await self._map_kept_message(queued.arrival) if self._map_kept_message else None
        return queued if mapped is None else QueuedEvent(queued.seq, mapped)

    def _parse_queued(self, queued: QueuedEvent, workspace: Workspace | None) -> _ParsedEventOfWorkspace:
        if workspace is None:
            raise LookupError("the workspace is gone")
        if _is_kept_raw(queued.arrival):
            raise ValueError(queued.arrival.headers[UNPARSED_HEADER])
        body = self._decode(queued.arrival.body)
        if not isinstance(body, dict):
            raise TypeError("the body is not a JSON object")
        is_storable = is_storable_json(queued.arrival.body)
        if IMPORT_HEADER in queued.arrival.headers:
            stored_id = stored_import_id(queued.arrival.event_id)
            queued = QueuedEvent(queued.seq, queued.arrival._replace(event_id=stored_id))
        return _ParsedEventOfWorkspace(
            queued,
            workspace,
            parse_event(queued.arrival, body, workspace, self._external_id_events, is_storable=is_storable),
            body,
            is_storable,
        )

    async def _cache_stored_sessions(self, arrivals: Iterable[_ParsedEventOfWorkspace]) -> None:
        """Loads the sessions of a batch that are not cached."""
        keys = {step.parsed.session_key: None for step in arrivals}
        unknown = [key for key in keys if key not in self._sessions]
        if unknown:
            for key, state in (await self._store.session_states(unknown)).items():
                self._sessions.put(key, state)

    async def _load_utm_of_bare_link_tags(
        self, arrivals: Iterable[_ParsedEventOfWorkspace]
    ) -> UtmByWorkspace:
        """Returns UTM values by workspace and link tag, for events that have a tag and no UTM value."""
        if self._links is None:
            return {}
        tags: defaultdict[UUID, set[str]] = defaultdict(set)
        for step in arrivals:
            if tag := link_tag_without_utm(step.parsed.properties):
                tags[step.workspace.id].add(tag)
            if touch_tags := link_tags_of_touches_without_utm(step.parsed.properties):
                tags[step.workspace.id].update(touch_tags)
        utm_by_workspace: dict[UUID, dict[str, Mapping[str, str]]] = {}
        for workspace_id, workspace_tags in tags.items():
            links = await self._links.links_by_tag(workspace_id, workspace_tags)
            utm_by_workspace[workspace_id] = {tag: link.utm for tag, link in links.items()}
        return utm_by_workspace

    def _enrich_and_advance_session(
        self, arrival: _ParsedEventOfWorkspace, rows: BatchEnricher
    ) -> EnrichedEvent | Event:
        key = arrival.parsed.session_key
        known = self._sessions.get(key)
        visitor = arrival.workspace.id, arrival.parsed.ids.visitor_id
        campaign = latest_campaign(campaign_of_state(known), self._campaigns.get(visitor))
        event = rows.add_event(
            arrival.queued,
            arrival.parsed,
            arrival.workspace,
            session_state_before_event(known, campaign, arrival.parsed.timestamp),
            high_rate=self._count_and_check_minute_rate(arrival.parsed),
        )
        if not event.is_bot and event.from_device:
            self._sessions.put(key, session_state_after_event(event, known))
            if latest := latest_campaign(campaign, campaign_of_event(event)):
                self._campaigns.put(visitor, latest)
        return event

    def _count_and_check_minute_rate(self, parsed: ParsedEvent) -> bool:
        """Counts the event, and returns whether its visitor has sent more than 200 in the minute."""
        minute = parsed.workspace_id, parsed.ids.visitor_id, int(parsed.timestamp.timestamp()) // 60
        seen = (self._event_counts_by_minute.get(minute) or 0) + 1
        self._event_counts_by_minute.put(minute, seen)
        return seen > HIGH_RATE_THRESHOLD


def event_count_of_next_batch_by_mean_size(latest: Sequence[QueuedEvent], most: int) -> int:
    """Returns how many events to take next: as many as fit `MAX_BATCH_BYTES` if they are as large as the latest.

    Args:
        latest: the latest batch.
        most: the most events of a batch.
    """
    mean_bytes = max(1, sum(len(queued.arrival.body) for queued in latest) // len(latest))
    return max(1, min(most, MAX_BATCH_BYTES // mean_bytes))


def _is_kept_raw(arrival: ReceivedEvent) -> bool:
    return arrival.channel is IngestEndpoint.WEBHOOK and UNPARSED_HEADER in arrival.headers


def _end_user_agent(arrival: _ParsedEventOfWorkspace, source: str) -> str | None:
    """Returns the user agent of the end user; None if only a server's client is known."""
    return reported_user_agent(arrival.parsed.context) or (
        text_of_string_or_number(arrival.queued.arrival.user_agent) if source in _END_USER_SOURCES else None
    )


def _build_quarantined_event(queued: QueuedEvent, error: Exception) -> QuarantinedEvent:
    return QuarantinedEvent(queued, f"{type(error).__name__}: {error}"[:_MAX_REASON_LENGTH])


async def _yield_to_event_loop_every_50(values: Iterable[_T]) -> AsyncIterator[_T]:
    """Yields the values and lets other tasks run every `_YIELD_EVERY` values."""
    for position, value in enumerate(values):
        if position % _YIELD_EVERY == 0:
            await asyncio.sleep(0)
        yield value
