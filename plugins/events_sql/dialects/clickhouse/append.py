"""Append on ClickHouse, which has no transactions: every step can be repeated without effect.

New events are inserted first, in one block with a deduplication token. Derived rows are then recomputed for
the sessions and visitors of the batch, from all their events, and replace the stored rows. An append that was
interrupted is completed when the batch is sent again; of two writers the one with the newer version wins.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from hashlib import blake2b
from typing import Any, Final
from uuid import UUID, uuid4

import sqlalchemy as sa

from plugins.events_sql.dialects.clickhouse import deletion, event_versions
from plugins.events_sql.dialects.clickhouse.lone_links import insert_lone_links, visitors_with_new_strong_id
from plugins.events_sql.dialects.clickhouse.person_merges import recompute_person_merges
from plugins.events_sql.dialects.clickhouse.replacing_rows import (
    CHANGED_NUMBERS,
    id_number,
    insert_block,
    insert_session,
    insert_versioned_and_mark_deleted,
    set_changed_numbers,
)
from plugins.events_sql.dialects.clickhouse.superseded_events import (
    choose_those_of_stored_events,
    find_superseded_events,
    insert_superseded_events,
    move_superseded_events_and_recompute_derived_tables,
)
from plugins.events_sql.execution.query_executor import DeletedRowsByTable, StatementRunner
from plugins.events_sql.identity.identity_links import (
    WEB_ATTRIBUTION_MATCHED,
    read_alias_and_email_match_unless_bot,
)
from plugins.events_sql.schema.row_mapping import to_column_value, to_naive_utc, to_utc
from plugins.events_sql.schema.tables import (
    EMAIL_DIGESTS,
    EVENTS,
    ID_NUMBERS,
    REPORTED_TOUCHES,
    SESSIONS,
    TOUCH_CANDIDATES,
    VISITOR_ID_PAIRS,
    VISITOR_OWNERS,
    WEAK_LINKS,
    IdNumber,
)
from plugins.events_sql.sql.conditions import Expression
from plugins.events_sql.writes import derived_tables
from plugins.events_sql.writes.append import visitors_linked_by_event
from plugins.events_sql.writes.session_rows import session_rows
from service_core.plugin import COLUMNS, ORDER_DEDUP_WINDOW, Event, SupersededEvent, has_email

_BATCH_EVENT_IDS: Final = sa.table(
    "batch_event_ids",
    sa.column("workspace_id", sa.Uuid),
    sa.column("event_id", sa.Text),
    sa.column("received_at", sa.DateTime),
)
_BATCH_IDS: Final = sa.table(
    "batch_ids", sa.column("workspace_id", sa.Uuid), sa.column("id", sa.Text), sa.column("number", IdNumber)
)
"""The ids of a batch; searching among all ids would become slower with every visitor."""

_BATCH_SESSION_EVENTS: Final = sa.table(
    "batch_session_events", *(sa.column(c.name, c.type) for c in EVENTS.columns)
)
"""All events of the batch's sessions."""


class ReplacingWrites:
    """The writes of an engine that replaces rows instead of having transactions.

    Args:
        cluster: name of the cluster that holds the tables; empty for one server.
    """

    def __init__(self, cluster: str = "") -> None:
        self._cluster = cluster

    def append_new_and_update_derived(self, writer: StatementRunner, events: Sequence[Event]) -> int:
        """Stores the new events of a batch and returns how many were new."""
        from plugins.events_sql.writes.event_frames import drop_ids_repeated_within  # noqa: PLC0415 - loads the data frame library

        events = list(events)  # `EventColumns` would make each event again for every workspace
        batch, superseded = drop_ids_repeated_within(events, ORDER_DEDUP_WINDOW.total_seconds())
        new = _events_not_received_within_week(writer, batch)
        if len(new) < len(batch) and self._move_superseded_if_any(writer, batch):
            new = _events_not_received_within_week(writer, batch)
        numbered_ids = [
            (workspace, name, id_number(workspace, name))
            for workspace, name in _prefixed_ids_with_workspace(events)
        ]
        recorded_at = to_naive_utc(writer.read_recording_time())
        became_strong = visitors_with_new_strong_id(writer, _prefixed_ids_with_workspace(events))
        insert_block(writer, ID_NUMBERS, numbered_ids)
        insert_session(writer).create_temp_table_from_rows(_BATCH_IDS, numbered_ids)
        if new:
            rows = [_event_row(event, recorded_at) for event in new]
            insert_block(writer, EVENTS, rows, token=_token_of_events(new))
        if superseded:
            _insert_superseded_events_recorded_once(
                writer,
                choose_those_of_stored_events(writer, batch, superseded, _BATCH_EVENT_IDS),
                recorded_at,
            )
        for workspace in {event.workspace_id for event in events}:
            _update_derived_tables(
                writer,
                workspace,
                [event for event in events if event.workspace_id == workspace],
                became_strong[workspace],
            )
        return len(new)

    def store_superseded_events(self, writer: StatementRunner, superseded: Sequence[SupersededEvent]) -> None:
        """Stores superseded events that are not stored yet."""
        _insert_superseded_events_recorded_once(
            writer, superseded, to_naive_utc(writer.read_recording_time())
        )

    def _move_superseded_if_any(self, writer: StatementRunner, batch: Sequence[Event]) -> bool:
        """Moves stored events of senders without a key whose id an event of the batch has, sent with a key."""
        superseded = find_superseded_events(writer, batch, _BATCH_EVENT_IDS)
        for workspace, events in superseded.items():
            version = _next_version(writer)
            visitors = move_superseded_events_and_recompute_derived_tables(
                writer, self._cluster, version, workspace, events
            )
            _recompute_visitor_owners(writer, version, workspace, visitors)
            recompute_person_merges(writer, version, workspace)
        return bool(superseded)

    def revoke_links_and_recompute_owners(
        self, writer: StatementRunner, workspace_id: UUID, event_id: str
    ) -> None:
        """Removes the identity links of an event, also when the event arrives only later."""
        event_versions.insert_revocation_once(writer, workspace_id, event_id)
        version = _next_version(writer)
        visitors = writer.fetch_rows(visitors_linked_by_event(workspace_id, event_id))
        _recompute_visitor_owners(writer, version, workspace_id, {visitor for (visitor,) in visitors})
        recompute_person_merges(writer, version, workspace_id)

    def rebuild_derived_tables(self, writer: StatementRunner) -> None:
        """Recomputes all derived tables, workspace by workspace."""
        for (workspace,) in writer.fetch_rows(sa.select(ID_NUMBERS.c.workspace_id).distinct()):
            rebuild_workspace(writer, workspace)

    def truncate_addresses(self, writer: StatementRunner, before: datetime, since: datetime | None) -> int:
        """Cuts the IP addresses of events received in a time range."""
        return deletion.truncate_addresses(writer, self._cluster, before, since)

    def update_enriched_columns(self, writer: StatementRunner, events: Sequence[Event]) -> None:
        """Inserts the events again: a row replaces the older one with its sorting key."""
        recorded_at = event_versions.keep_versions_of_reenriched_events(writer, events)
        rows = [
            _event_row(e, recorded_at[e.workspace_id, e.seq])
            for e in events
            if (e.workspace_id, e.seq) in recorded_at
        ]
        insert_block(writer, EVENTS, rows, token=uuid4().hex)

    def rebuild_workspace(self, writer: StatementRunner, workspace_id: UUID) -> None:
        """Recomputes all derived rows of a workspace."""
        rebuild_workspace(writer, workspace_id)

    def delete_events(
        self, writer: StatementRunner, workspace_id: UUID, conditions: Sequence[str]
    ) -> DeletedRowsByTable:
        """Deletes the events of a workspace that meet any of the conditions, and recomputes what is derived."""
        deleted = deletion.delete_events(writer, self._cluster, workspace_id, conditions)
        if deleted.total():
            event_versions.record_deletion(writer, workspace_id)
        return self._rebuild_after_deletion(writer, workspace_id, deleted)

    def remove_events_keeping_versions(
        self, writer: StatementRunner, workspace_id: UUID, condition: str
    ) -> DeletedRowsByTable:
        """Deletes events and keeps what they were for reads of an earlier instant."""
        event_versions.keep_versions_of_removed_events(writer, workspace_id, condition)
        deleted = deletion.delete_events(writer, self._cluster, workspace_id, [condition], keep_versions=True)
        if deleted["revoked_links"]:
            event_versions.record_deletion(writer, workspace_id)
        return self._rebuild_after_deletion(writer, workspace_id, deleted)

    def _rebuild_after_deletion(
        self, writer: StatementRunner, workspace_id: UUID, deleted: DeletedRowsByTable
    ) -> DeletedRowsByTable:
        rebuild_workspace(writer, workspace_id)
        if deleted["events"]:
            deleted += deletion.delete_unused_ids(writer, self._cluster, workspace_id)
        return deleted

    def delete_event_versions(self, writer: StatementRunner, condition: str) -> None:
        """Deletes what events were, where a SQL condition is met."""
        deletion.delete_rows(writer, self._cluster, "event_versions", condition)

    def wait_for_running_appends(self, writer: StatementRunner) -> None:
        """Does nothing: an append becomes visible row block by row block."""


def _insert_superseded_events_recorded_once(
    writer: StatementRunner, superseded: Sequence[SupersededEvent], recorded_at: datetime
) -> None:
    """Inserts superseded events; one that is there keeps the time at which it became visible."""
    known = event_versions.recorded_at_of_superseded_events(writer, superseded)
    times = {**dict.fromkeys((each.event.seq for each in superseded), recorded_at), **known}
    insert_superseded_events(writer, superseded, times)


def rebuild_workspace(writer: StatementRunner, workspace: UUID) -> None:
    """Recomputes all derived rows of a workspace."""
    version = _next_version(writer)
    for table, rows in derived_tables.workspace_rebuild_queries(workspace).items():
        insert_versioned_and_mark_deleted(writer, version, table, rows, [table.c.workspace_id == workspace])
    recompute_person_merges(writer, version, workspace)


def _update_derived_tables(
    writer: StatementRunner, workspace: UUID, events: Sequence[Event], became_strong: set[int]
) -> None:
    """Recomputes the derived rows of one workspace's part of a batch.

    Args:
        writer: runs the statements.
        workspace: the workspace.
        events: its events.
        became_strong: numbers of stored visitors whose id these events name as a strong id.
    """
    version = _next_version(writer)
    set_changed_numbers(writer, {_session_number(event) for event in events})
    span = _time_range_of_changed_sessions(writer, workspace, events)
    writer.create_temp_table(
        _BATCH_SESSION_EVENTS.name,
        sa.select(EVENTS).where(*_changed_session_conditions(EVENTS, workspace, span)),
    )
    weak = derived_tables.secondary_weak_link_rows(_BATCH_SESSION_EVENTS, _BATCH_IDS)
    for table, query in (
        (SESSIONS, session_rows(_BATCH_SESSION_EVENTS)),
        (REPORTED_TOUCHES, derived_tables.reported_touch_rows(_BATCH_SESSION_EVENTS)),
        (WEAK_LINKS, weak),
        (VISITOR_ID_PAIRS, derived_tables.visitor_id_pair_rows(_BATCH_SESSION_EVENTS, weak.subquery("weak"))),
        (EMAIL_DIGESTS, derived_tables.email_owner_and_seeker_rows(_BATCH_SESSION_EVENTS)),
    ):
        insert_versioned_and_mark_deleted(writer, version, table, query, [])
    lone_links = insert_lone_links(writer, version, workspace, events, became_strong)
    stored_candidates = _changed_session_conditions(TOUCH_CANDIDATES, workspace, span)
    insert_versioned_and_mark_deleted(
        writer,
        version,
        TOUCH_CANDIDATES,
        derived_tables.touch_candidate_rows(_BATCH_SESSION_EVENTS),
        stored_candidates,
    )
    changed_visitors = _visitors_whose_owner_may_change(writer, workspace, events) | lone_links
    _recompute_visitor_owners(writer, version, workspace, changed_visitors)
    if (
        any(
            links.previous_id or links.carries_external_id
            for links in map(read_alias_and_email_match_unless_bot, events)
        )
        or (changed_visitors and _has_identity_events_or_email_seekers(writer, workspace))
        or (any(map(has_email, events)) and _has_provider_visitor_seeking_email(writer, workspace))
    ):
        recompute_person_merges(writer, version, workspace)


def _session_number(event: Event) -> int:
    return id_number(event.workspace_id, f"s:{len(event.visitor_id)}:{event.visitor_id}{event.session_id}")


def _prefixed_ids_with_workspace(events: Iterable[Event]) -> set[tuple[UUID, str]]:
    """Returns all ids in events, with their workspaces."""
    ids = set()
    for event in events:
        links = read_alias_and_email_match_unless_bot(event)
        prefixed_ids = [
            ("v:", event.visitor_id),
            ("u:", event.strong_id),
            ("u:", links.previous_id),
            ("v:", links.web_visitor_id),
        ]
        prefixed_ids += [("v:", weak) for weak in _weak_ids(event)]
        ids |= {(event.workspace_id, prefix + name) for prefix, name in prefixed_ids if name is not None}
    return ids


def _weak_ids(event: Event) -> set[str]:
    """Returns the weak ids that an event links to its strong id."""
    return set() if event.is_bot else set(event.weak_ids_joined_to_strong_id)


def _events_not_received_within_week(writer: StatementRunner, events: Sequence[Event]) -> list[Event]:
    """Returns the events whose id is not stored with a time of receipt less than 7 days apart.

    Creates the temporary table of the ids of the batch.
    """
    insert_session(writer).create_temp_table_from_rows(
        _BATCH_EVENT_IDS, [(e.workspace_id, e.event_id, e.received_at) for e in events]
    )
    c, received = EVENTS.c, [event.received_at for event in events]
    key = sa.tuple_(c.workspace_id, c.event_id).in_(
        sa.select(_BATCH_EVENT_IDS.c.workspace_id, _BATCH_EVENT_IDS.c.event_id)
    )
    since, until = (
        sa.literal(to_naive_utc(min(received) - ORDER_DEDUP_WINDOW)),
        sa.literal(to_naive_utc(max(received) + ORDER_DEDUP_WINDOW)),
    )
    stored_query = sa.select(c.workspace_id, c.event_id, c.received_at).where(
        c.received_at > since, c.received_at < until, key
    )
    stored: defaultdict[tuple[UUID, str], list[datetime]] = defaultdict(list)
    for workspace, event_id, at in writer.fetch_rows(stored_query):
        stored[workspace, event_id].append(to_utc(at))
    return [
        event
        for event in events
        if all(
            abs(event.received_at - at) >= ORDER_DEDUP_WINDOW
            for at in stored[event.workspace_id, event.event_id]
        )
    ]


def _event_row(event: Event, recorded_at: datetime) -> list[Any]:
    strong = None if event.strong_id is None else id_number(event.workspace_id, f"u:{event.strong_id}")
    visitor = id_number(event.workspace_id, f"v:{event.visitor_id}")
    return [
        *(to_column_value(f.name, getattr(event, f.name)) for f in COLUMNS),
        visitor,
        strong,
        _session_number(event),
        recorded_at,
    ]


def _token_of_events(events: Iterable[Event]) -> str:
    """Returns the token of a block: the same events, sent again because a response was lost, are ignored."""
    digest = blake2b(digest_size=16)
    for event in events:
        digest.update(f"{event.workspace_id}{event.event_id}{event.seq}\n".encode())
    return digest.hexdigest()


def _time_range_of_changed_sessions(
    writer: StatementRunner, workspace: UUID, events: Sequence[Event]
) -> tuple[datetime, datetime]:
    """Returns the first and last timestamp of the changed sessions, stored or in the batch."""
    c = SESSIONS.c
    conditions = (c.workspace_id == workspace, c.session_no.in_(sa.select(CHANGED_NUMBERS.c.number)))
    ((first, last),) = writer.fetch_rows(
        sa.select(sa.func.min(c.first_at), sa.func.max(c.last_at)).where(*conditions)
    )
    instants = [to_naive_utc(event.timestamp) for event in events]
    instants += [to_naive_utc(to_utc(at)) for at in (first, last) if at is not None]
    return min(instants), max(instants)


def _changed_session_conditions(
    table: sa.Table, workspace: UUID, span: tuple[datetime, datetime]
) -> list[Expression]:
    """Returns the conditions of rows of the sessions in ``changed_numbers``, within their time range."""
    c, (first, last) = table.c, span
    inside = [c.timestamp >= sa.literal(first), c.timestamp <= sa.literal(last)]
    return [c.workspace_id == workspace, *inside, c.session_no.in_(sa.select(CHANGED_NUMBERS.c.number))]


def _next_version(writer: StatementRunner) -> int:
    """Returns a version that replaces all older rows; it is taken before reading, so that a higher one has read more."""
    ((version,),) = writer.execute_text("SELECT toUnixTimestamp64Micro(now64(6)) * 2")
    return int(version)


def _visitors_whose_owner_may_change(
    writer: StatementRunner, workspace: UUID, events: Iterable[Event]
) -> set[int]:
    """Returns the numbers of visitors with a link in the events other than a repeated link to their only person.

    Creates the temporary table ``changed_numbers`` with the visitors that the events link.
    """
    strong_by_visitor: defaultdict[int, set[int]] = defaultdict(set)
    for event in events:
        for weak_id in _weak_ids(event):
            strong_by_visitor[id_number(workspace, f"v:{weak_id}")].add(
                id_number(workspace, f"u:{event.strong_id}")
            )
    if not strong_by_visitor:
        return set()
    set_changed_numbers(writer, strong_by_visitor)
    o, owners_by_visitor = VISITOR_OWNERS.c, defaultdict(set)
    conditions = (o.workspace_id == workspace, o.visitor_no.in_(sa.select(CHANGED_NUMBERS.c.number)))
    for visitor, strong in writer.fetch_rows(sa.select(o.visitor_no, o.strong_no).where(*conditions)):
        owners_by_visitor[visitor].add(strong)
    return {
        visitor
        for visitor, strong in strong_by_visitor.items()
        if len(strong) > 1 or owners_by_visitor[visitor] != strong
    }


def _recompute_visitor_owners(
    writer: StatementRunner, version: int, workspace: UUID, visitors: set[int]
) -> None:
    """Recomputes and stores the owners of some visitors; does nothing without visitors."""
    if not visitors:
        return
    set_changed_numbers(writer, visitors)
    visitor_numbers = sa.select(CHANGED_NUMBERS.c.number)
    links = derived_tables.identity_link_rows(
        derived_tables.workspace_rows(EVENTS, workspace),
        derived_tables.workspace_rows(WEAK_LINKS, workspace),
        visitor_numbers,
    )
    conditions = [
        VISITOR_OWNERS.c.workspace_id == workspace,
        VISITOR_OWNERS.c.visitor_no.in_(visitor_numbers),
    ]
    insert_versioned_and_mark_deleted(
        writer,
        version,
        VISITOR_OWNERS,
        derived_tables.visitor_owner_periods(links.subquery("identity_link_rows")),
        conditions,
    )


def _has_identity_events_or_email_seekers(writer: StatementRunner, workspace: UUID) -> bool:
    """Returns whether a changed owner may change person merges: events have external ids, or visitors seek an e-mail."""
    c = EVENTS.c
    has_identity_ids = sa.or_(c.external_ids.is_not(None), c.event_name == WEB_ATTRIBUTION_MATCHED)
    rows = writer.fetch_rows(
        sa.select(c.event_id).where(c.workspace_id == workspace, has_identity_ids).limit(1)
    )
    return bool(rows) or _has_provider_visitor_seeking_email(writer, workspace)


def _has_provider_visitor_seeking_email(writer: StatementRunner, workspace: UUID) -> bool:
    """Returns whether a visitor of a revenue provider seeks a person by e-mail."""
    c = EMAIL_DIGESTS.c
    return bool(
        writer.fetch_rows(sa.select(c.number).where(c.workspace_id == workspace, c.source != "").limit(1))
    )
