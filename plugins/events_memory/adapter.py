"""The event store over Python lists."""

import json
from collections import defaultdict
from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from plugins.events_memory import (
    aggregate,
    cohorts,
    event_queries,
    experiment,
    export_batches,
    funnel,
    items,
    journeys,
    path_counts,
    people,
    person_journey,
    session_paths,
)
from plugins.events_memory.event_history import MemoryEventHistory
from plugins.events_memory.workspace_events import WorkspaceEvents
from service_core.plugin import (
    CAMPAIGN_COLUMNS,
    IMPORT_PROPERTY,
    MAX_ITEMS_PER_PERSON,
    REENRICHED_COLUMNS,
    WEB,
    AcquisitionValuesQuery,
    ActiveVisitor,
    AggregateQuery,
    AggregateResult,
    CohortReaderQuery,
    CohortResult,
    ColumnValueCount,
    ConversionSet,
    CustomPropertySummary,
    Event,
    EventNameSummary,
    EventPageQuery,
    EventPageResult,
    ExperimentOutcome,
    ExperimentReaderQuery,
    ExternalIdConflict,
    FunnelReaderQuery,
    FunnelResult,
    FunnelStartValuesQuery,
    FunnelStepUnit,
    FunnelStepUnitsQuery,
    JourneysQuery,
    JourneysResult,
    LineItemQuery,
    LineItemSum,
    PathSessionPage,
    PathSessionsQuery,
    PathsQuery,
    PathsResult,
    PeoplePageQuery,
    Person,
    PersonActivity,
    PersonActivityQuery,
    PersonFirstTouch,
    QueryScope,
    RowBatch,
    SessionKey,
    SessionState,
    StoredEventKey,
    SupersededEvent,
    Touch,
    TouchPath,
    TouchPathQuery,
    entry_event_with_page_view_over_system_event,
    event_time_key,
    is_system_event,
    is_visit_event,
    truncate_addresses_in_json,
    truncate_to_ipv4_24_or_ipv6_48,
)

_REPEAT_WINDOW: Final = timedelta(days=7)


class MemoryEventStore(MemoryEventHistory):
    """The event-store ports on events in memory."""

    def __init__(self) -> None:
        super().__init__()
        self._events: list[Event] = []
        self._received_at: defaultdict[tuple[UUID, str], list[datetime]] = defaultdict(list)
        self._superseded: dict[tuple[UUID, int], SupersededEvent] = {}

    async def append(self, events: Sequence[Event]) -> int:
        """Stores the new events of a batch atomically and returns how many were new.

        An event repeats a stored one of its workspace and event id that was received less than 7 days before or after.
        With a key it supersedes a stored one of a sender without.
        """
        added: set[int] = set()
        for event in events:
            received = self._received_at[event.workspace_id, event.event_id]
            if received and event.source != WEB:
                added -= self._move_superseded(event)
            if all(abs(event.received_at - at) >= _REPEAT_WINDOW for at in received):
                received.append(event.received_at)
                self._events.append(event)
                self.record_event(event)
                added.add(event.seq)
        return len(added)

    def _move_superseded(self, event: Event) -> set[int]:
        """Moves the events of senders without a key that an event with a key supersedes; returns their numbers."""
        old = [
            e
            for e in self._events
            if e.source == WEB
            and (e.workspace_id, e.event_id) == (event.workspace_id, event.event_id)
            and abs(e.received_at - event.received_at) < _REPEAT_WINDOW
        ]
        for e in old:
            self._events.remove(e)
            self._received_at[e.workspace_id, e.event_id].remove(e.received_at)
            self._superseded[e.workspace_id, e.seq] = SupersededEvent(e, event.seq)
        return {e.seq for e in old}

    async def find_events_by_id(
        self, workspace_id: UUID, event_ids: Collection[str]
    ) -> Sequence[StoredEventKey]:
        """Returns the stored events with these ids."""
        wanted = {id_ for id_ in event_ids if (workspace_id, id_) in self._received_at}
        events = self._events if wanted else ()
        found = [e for e in events if e.workspace_id == workspace_id and e.event_id in wanted]
        return [StoredEventKey(e.event_id, e.seq, e.timestamp, e.source) for e in found]

    async def stream_superseded_events(
        self, workspace_id: UUID
    ) -> AsyncGenerator[Sequence[SupersededEvent], None]:
        """Yields the superseded events of a workspace, by sequence number."""
        own = [each for (workspace, _), each in sorted(self._superseded.items()) if workspace == workspace_id]
        if own:
            yield own

    async def store_superseded_events(self, superseded: Sequence[SupersededEvent]) -> None:
        """Stores superseded events as another store kept them."""
        for each in superseded:
            self._superseded.setdefault((each.event.workspace_id, each.event.seq), each)
            self.record_event(each.event)

    async def session_states(self, keys: Sequence[SessionKey]) -> dict[SessionKey, SessionState]:
        """Returns the states of the sessions, without events of bots and of revenue providers."""
        visits = sorted((e for e in self._events if not e.is_bot and is_visit_event(e)), key=event_time_key)
        states = {
            (workspace, visitor, session): _session_state_of_sorted_events(
                [e for e in visits if (e.workspace_id, e.visitor_id) == (workspace, visitor)], session
            )
            for workspace, visitor, session in keys
        }
        return {key: state for key, state in states.items() if state.first_at or state.last_campaign}

    async def maintain(self) -> None:
        """Does nothing: a list needs no maintenance."""

    async def aggregate(self, query: AggregateQuery) -> AggregateResult:
        """Returns aggregations by dimensions and buckets."""
        return aggregate.evaluate_aggregate(query, self._scan_events(query.scope))

    async def list_events(self, query: EventPageQuery) -> EventPageResult:
        """Returns a page of events."""
        return event_queries.list_events_newest_first(query, self._scan_events(query.scope))

    async def stream_events_newest_first(
        self, scope: QueryScope, limit: int
    ) -> AsyncGenerator[RowBatch, None]:
        """Yields events for an export, newest first."""
        events = event_queries.list_events_newest_first(
            EventPageQuery(scope, limit, count_total=False), self._scan_events(scope)
        ).events
        for batch in export_batches.event_batches(events):
            yield batch

    async def stream_persons_of_page(self, query: PeoplePageQuery) -> AsyncGenerator[Sequence[Person], None]:
        """Yields persons for an export."""
        persons, _ = people.list_people(query, self._scan_events(query.scope))
        for start in range(0, len(persons), export_batches.BATCH_SIZE):
            yield persons[start : start + export_batches.BATCH_SIZE]

    async def list_event_names(self, scope: QueryScope) -> list[EventNameSummary]:
        """Returns the event names of the span with counts."""
        return event_queries.list_event_names_by_frequency(scope, self._scan_events(scope))

    async def list_custom_properties_by_event(
        self, scope: QueryScope, limit_per_event_name: int
    ) -> list[CustomPropertySummary]:
        """Returns custom property keys by event name."""
        return event_queries.list_property_keys_by_event(
            scope, limit_per_event_name, self._scan_events(scope)
        )

    async def list_visitors_with_recently_received_events(
        self, scope: QueryScope, received_since: datetime, limit: int
    ) -> list[ActiveVisitor]:
        """Returns visitors with an event received since an instant."""
        return event_queries.list_active_visitors_latest_first(
            scope, received_since, limit, self._scan_events(scope)
        )

    async def first_and_last_event_time(self, workspace_id: UUID) -> tuple[datetime, datetime] | None:
        """Returns the timestamps of the first and last event, bots included."""
        times = [e.timestamp for e in self._events if e.workspace_id == workspace_id]
        return (min(times), max(times)) if times else None

    async def list_people_and_total(self, query: PeoplePageQuery) -> tuple[list[Person], int]:
        """Returns a page of persons and the number of all."""
        return people.list_people(query, self._scan_events(query.scope))

    async def find_person_of_any_id(self, workspace_id: UUID, any_id: str) -> str | None:
        """Returns the person of an id."""
        return people.resolve_person_strong_id_first(
            any_id, self._events_without_conversions(workspace_id, include_bots=True)
        )

    async def first_touches_of_seen_ids(
        self, workspace_id: UUID, user_or_visitor_ids: Collection[str]
    ) -> Mapping[str, PersonFirstTouch]:
        """Returns the persons of ids with their first touches."""
        return people.first_touch_by_known_id(
            user_or_visitor_ids, self._events_without_conversions(workspace_id, include_bots=True)
        )

    async def list_external_id_conflicts_and_total(
        self, workspace_id: UUID, limit: int
    ) -> tuple[list[ExternalIdConflict], int]:
        """Returns external ids that merge nobody because several persons carry them, and the number of all."""
        return people.list_id_conflicts_and_count_all(limit, self._events_without_conversions(workspace_id))

    async def list_latest_person_events(
        self, scope: QueryScope, person: str, limit: int = MAX_ITEMS_PER_PERSON
    ) -> list[Event]:
        """Returns the latest events of a person in the span."""
        return people.person_events_in_scope(person, scope, self._scan_events(scope))[-limit:]

    async def list_latest_person_touches(
        self, scope: QueryScope, person: str, limit: int = MAX_ITEMS_PER_PERSON
    ) -> list[Touch]:
        """Returns the latest touches of a person in the span."""
        return people.person_touches(person, scope, self._scan_events(scope))[-limit:]

    async def read_activity(self, query: PersonActivityQuery) -> PersonActivity:
        """Returns a person with profile, sessions and conversions."""
        return person_journey.read_person_activity(
            query, self._scan_events(query.scope), self._events_without_conversions(query.scope.workspace_id)
        )

    async def revoke_identity_link(self, workspace_id: UUID, event_id: str) -> None:
        """Removes the identity links of an event."""
        self._revoked_links.setdefault((workspace_id, event_id), self._clock())

    async def truncate_addresses(self, before: datetime, since: datetime | None = None) -> int:
        """Cuts the IP addresses of events received in a time range, in properties, too."""
        changed = 0
        for place, event in enumerate(self._events):
            if (since or event.received_at) <= event.received_at < before:
                self._events[place] = _with_truncated_addresses(event)
                changed += self._events[place] != event
        for key, each in self._superseded.items():
            if (since or each.event.received_at) <= each.event.received_at < before:
                self._superseded[key] = replace(each, event=_with_truncated_addresses(each.event))
                changed += self._superseded[key] != each
        return changed

    async def first_event_time_with_superseded(self, workspace_id: UUID) -> datetime | None:
        """Returns the timestamp of the first event, superseded ones and bots included."""
        stored = (*self._events, *(each.event for each in self._superseded.values()))
        return min((e.timestamp for e in stored if e.workspace_id == workspace_id), default=None)

    async def delete_events_before(self, workspace_id: UUID, before: datetime) -> int:
        """Deletes the events of a workspace that happened before a time."""
        stored = (*self._events, *(each.event for each in self._superseded.values()))
        old = [e.seq for e in stored if e.workspace_id == workspace_id and e.timestamp < before]
        return (await self.delete_events(workspace_id, old))["events"]

    async def delete_events(self, workspace_id: UUID, seqs: Collection[int]) -> Mapping[str, int]:
        """Deletes events by sequence number."""
        chosen = frozenset(seqs)
        gone = [e for e in self._events if e.workspace_id == workspace_id and e.seq in chosen]
        gone_seqs = {event.seq for event in gone}
        self._events = [e for e in self._events if e.workspace_id != workspace_id or e.seq not in gone_seqs]
        for event in gone:
            self._received_at.pop((workspace_id, event.event_id), None)
            self._revoked_links.pop((workspace_id, event.event_id), None)
        superseded = [
            key
            for key, each in self._superseded.items()
            if key[0] == workspace_id and not chosen.isdisjoint((key[1], each.superseded_by))
        ]
        for key in superseded:
            del self._superseded[key]
        if gone or superseded:
            self.forget_versions(workspace_id, {*chosen, *gone_seqs, *(seq for _, seq in superseded)})
        return {"events": len(gone), "superseded_events": len(superseded)}

    async def delete_imported_events(self, workspace_id: UUID, import_id: UUID) -> int:
        """Deletes the events that an import brought in."""
        stored = (*self._events, *(each.event for each in self._superseded.values()))
        own = [
            e.seq
            for e in stored
            if e.workspace_id == workspace_id and e.event_data.get(IMPORT_PROPERTY) == str(import_id)
        ]
        for event in stored:
            if event.workspace_id == workspace_id and event.seq in own:
                self.keep_version(event)
        kept, deleted_at = self._versions, dict(self._deleted_at)
        removed = await self.delete_events(workspace_id, own)
        self._versions, self._deleted_at = kept, deleted_at
        return removed["events"]

    async def update_enriched_columns(self, workspace_id: UUID, events: Sequence[Event]) -> None:
        """Replaces the enriched columns of stored events."""
        new = {(event.seq, event.timestamp): event for event in events}
        for place, event in enumerate(self._events):
            again = new.get((event.seq, event.timestamp)) if event.workspace_id == workspace_id else None
            if again is not None:
                self.keep_version(event)
                columns = {name: getattr(again, name) for name in REENRICHED_COLUMNS}
                self._events[place] = replace(event, **columns)

    async def rebuild_workspace(self, workspace_id: UUID) -> None:
        """Does nothing: everything is computed from the events."""

    async def list_ids(self, workspace_id: UUID) -> list[str]:
        """Returns every visitor id and user id that events carry."""
        own = [e for e in self._events if e.workspace_id == workspace_id]
        ids = {id_ for e in own for id_ in (e.visitor_id, e.strong_id, *e.weak_ids_joined_to_strong_id)}
        for each in self._superseded.values():
            if each.event.workspace_id == workspace_id:
                e = each.event
                ids |= {e.visitor_id, e.strong_id, e.sent_visitor_id, e.distinct_id}
        return [id_ for id_ in ids if id_]

    async def read_cohorts(self, query: CohortReaderQuery) -> CohortResult:
        """Returns cohort sizes, activity and revenue."""
        return cohorts.evaluate_cohorts(query, self._scan_events(query.scope))

    async def list_acquisition_values(self, query: AcquisitionValuesQuery) -> list[ColumnValueCount]:
        """Returns the most frequent values of a column among the events that acquired persons."""
        return cohorts.list_acquisition_values(query, self._scan_events(query.cohorts.scope))

    async def read_experiment(
        self, query: ExperimentReaderQuery, max_mixed_persons: int
    ) -> ExperimentOutcome:
        """Returns the outcome of an experiment by variant."""
        return experiment.evaluate_experiment(query, max_mixed_persons, self._scan_events(query.scope))

    async def read_funnel(self, query: FunnelReaderQuery) -> FunnelResult:
        """Returns how many units reach each step."""
        return funnel.evaluate_funnel(query, self._scan_events(query.scope))

    async def list_units_of_step_and_total(
        self, query: FunnelStepUnitsQuery
    ) -> tuple[list[FunnelStepUnit], int]:
        """Returns a page of the units of a funnel's step and the number of all."""
        return funnel.list_units_of_step_and_total(query, self._scan_events(query.funnel.scope))

    async def list_start_values(self, query: FunnelStartValuesQuery) -> list[ColumnValueCount]:
        """Returns the most frequent values of a column among the events that start a funnel."""
        return funnel.list_start_values(query, self._scan_events(query.funnel.scope))

    async def list_distinct_touch_paths_with_counts(self, query: TouchPathQuery) -> list[TouchPath]:
        """Returns every distinct touch path with its conversions."""
        return path_counts.count_touch_paths(query, self._scan_events(query.scope))

    async def list_journeys(self, query: JourneysQuery) -> JourneysResult:
        """Returns a page of journeys, the number of all, and the sum of their credit."""
        return journeys.list_journeys(query, self._scan_events(query.scope))

    async def read_paths(self, query: PathsQuery, nodes_per_step: int) -> PathsResult:
        """Returns the most frequent nodes of each step of paths."""
        return session_paths.read_paths(query, nodes_per_step, self._scan_events(query.scope))

    async def list_path_sessions(self, query: PathSessionsQuery) -> PathSessionPage:
        """Returns a page of the sessions of paths and the number of all."""
        return session_paths.list_path_sessions(query, self._scan_events(query.paths.scope))

    async def sum_line_items(self, query: LineItemQuery) -> list[LineItemSum]:
        """Returns the sums of sold and returned items."""
        return items.sum_items_booked_in_span(query, self._scan_events(query.scope))

    def _scan_events(self, scope: QueryScope) -> WorkspaceEvents:
        return self._workspace_events(scope.workspace_id, scope.conversions, include_bots=scope.include_bots)

    def _events_without_conversions(
        self, workspace_id: UUID, *, include_bots: bool = False
    ) -> WorkspaceEvents:
        """Returns the events for reads without a scope, in which nothing converts."""
        return self._workspace_events(
            workspace_id, ConversionSet(frozenset(), any_revenue=False), include_bots=include_bots
        )

    def _workspace_events(
        self, workspace_id: UUID, conversions: ConversionSet, *, include_bots: bool
    ) -> WorkspaceEvents:
        return WorkspaceEvents(
            (event for event in self._events if event.workspace_id == workspace_id),
            {event_id for workspace, event_id in self._revoked_links if workspace == workspace_id},
            conversions,
            include_bots=include_bots,
        )


def _session_state_of_sorted_events(visitor_events: list[Event], session_id: str) -> SessionState:
    """Returns the state of a session.

    It has the landing page of its entry event, the attribution of its latest event that may be a touch, and the latest
    campaign of the visitor.

    Args:
        visitor_events: events of its visitor, oldest first.
        session_id: id of the session.
    """
    campaigns = [(e.timestamp, tuple(getattr(e, name) for name in CAMPAIGN_COLUMNS)) for e in visitor_events]
    campaign_at, campaign = next((c for c in reversed(campaigns) if any(c[1])), (None, None))
    events = [e for e in visitor_events if e.session_id == session_id]
    if not events:
        return SessionState(None, last_campaign=campaign, last_campaign_at=campaign_at)
    entry = entry_event_with_page_view_over_system_event(events)
    touch = next((e for e in reversed(events) if e.touchable), None)
    return SessionState(
        first_at=events[0].timestamp,
        landing_page=None if is_system_event(entry.event_name) else entry.landing_page,
        attribution_source=touch.attribution_source if touch else None,
        attribution_medium=touch.attribution_medium if touch else None,
        channel=touch.channel if touch else None,
        last_campaign=campaign,
        last_campaign_at=campaign_at,
    )


def _with_truncated_addresses(event: Event) -> Event:
    properties = json.dumps(event.event_data)
    cut = truncate_addresses_in_json(properties)
    whole = event.ip is not None and "/" not in event.ip
    return replace(
        event,
        ip=truncate_to_ipv4_24_or_ipv6_48(event.ip) if whole else event.ip,
        event_data=event.event_data if cut == properties else json.loads(cut),
    )
