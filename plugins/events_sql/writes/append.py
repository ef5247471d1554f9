"""Append on engines with transactions: stores a batch and updates the derived tables.

Runs in the writer thread. A batch that is sent again adds nothing: events whose workspace and event id are
stored within seven days of receipt are removed first.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID

import sqlalchemy as sa

from plugins.events_sql.execution.query_executor import (
    DeletedRowsByTable,
    StatementRunner,
    TransactionalSession,
)
from plugins.events_sql.identity.person_merges import recompute_and_store_person_merges
from plugins.events_sql.schema.row_mapping import to_naive_utc
from plugins.events_sql.schema.tables import (
    EVENTS,
    ID_NUMBERS,
    PERSON_MERGES,
    REVOKED_LINKS,
    WEAK_LINKS,
)
from plugins.events_sql.writes import append_statements as step
from plugins.events_sql.writes import (
    deletion,
    derived_tables,
    event_versions,
    reenrichment,
    superseded_events,
)
from service_core.plugin import ORDER_DEDUP_WINDOW, Event, SupersededEvent

if TYPE_CHECKING:
    import polars as pl

    from plugins.events_sql.writes.event_batch import EventBatch


@dataclass(frozen=True)
class TransactionalWrites:
    """The writes of an engine with transactions.

    Attributes:
        after_insert: called in the transaction of an append when there are new events.
    """

    after_insert: Callable[[StatementRunner], None] = lambda _: None

    def append_new_and_update_derived(self, writer: StatementRunner, events: Sequence[Event]) -> int:
        """Stores the new events of a batch in one transaction and returns how many were new.

        Events that another event of the batch supersedes are stored in a second transaction; a repeated append stores
        them after a crash between the two. Those of an event that is itself a repeat are dropped with it.
        """
        from plugins.events_sql.writes.event_batch import EventBatch  # noqa: PLC0415 - loads the data frame library

        return self.append_batch_and_update_derived(writer, EventBatch.of_events(events))

    def decode_batch_and_append(self, writer: StatementRunner, encoded: bytes) -> int:
        """Stores a batch that `EventBatch.encode` wrote; returns how many events were new."""
        from plugins.events_sql.writes.event_batch import EventBatch  # noqa: PLC0415 - loads the data frame library

        return self.append_batch_and_update_derived(writer, EventBatch.decode(encoded))

    def append_batch_and_update_derived(self, writer: StatementRunner, batch: "EventBatch") -> int:
        """Stores a prepared batch as `append_new_and_update_derived` does; returns how many events were new."""
        session = transactional_session(writer)
        with session.exclusive_write_transaction():
            session.expose_frame_as_table(batch.unique)
            recorded_at = to_naive_utc(writer.read_recording_time())
            span = (
                batch.first_received - ORDER_DEDUP_WINDOW,
                batch.last_received + ORDER_DEDUP_WINDOW,
            )
            new = _select_and_count_new_events(writer, *span)
            if new < len(batch.unique) and _move_superseded_if_any(writer, *span):
                new = _select_and_count_new_events(writer, *span)
            if new:
                _number_and_insert_events(writer, recorded_at)
                self.after_insert(writer)
                _update_derived_tables(
                    writer,
                    has_touches=batch.has_touches,
                    has_emails=batch.has_emails,
                    has_lone_ids=batch.has_lone_ids,
                )
            stored_places: list[int] = []
            if batch.superseded_keys:
                stored = {
                    (str(workspace), seq)
                    for workspace, seq in writer.fetch_rows(step.select_stored_keyed_events_of_batch(*span))
                }
                stored_places = [place for place, key in enumerate(batch.superseded_keys) if key in stored]
        if stored_places:
            frame = batch.superseded[stored_places]
            sequence_numbers = [batch.superseded_keys[place][1] for place in stored_places]
            _store_superseded_frame(writer, frame, sequence_numbers, recorded_at)
        return new

    def store_superseded_events(self, writer: StatementRunner, superseded: Sequence[SupersededEvent]) -> None:
        """Stores superseded events that are not stored yet in one transaction; does nothing without any."""
        from plugins.events_sql.writes.event_frames import events_to_frame  # noqa: PLC0415 - loads the data frame library

        if superseded:
            frame = events_to_frame([each.event for each in superseded])
            recorded_at = to_naive_utc(writer.read_recording_time())
            _store_superseded_frame(writer, frame, [each.superseded_by for each in superseded], recorded_at)

    def revoke_links_and_recompute_owners(
        self, writer: StatementRunner, workspace_id: UUID, event_id: str
    ) -> None:
        """Removes the identity links of an event, also when the event arrives only later."""
        with transactional_session(writer).exclusive_write_transaction():
            recorded_at = to_naive_utc(writer.read_recording_time())
            revoked = sa.select(sa.literal(workspace_id), sa.literal(event_id), sa.literal(recorded_at))
            writer.fetch_rows(step.insert_rows(REVOKED_LINKS, revoked))
            writer.create_temp_table("changed_visitors", visitors_linked_by_event(workspace_id, event_id))
            _recompute_changed_owners_if_any(writer)
            recompute_and_store_person_merges(writer, [workspace_id])

    def rebuild_derived_tables(self, writer: StatementRunner) -> None:
        """Recomputes all derived tables from the events."""
        with transactional_session(writer).exclusive_write_transaction():
            for table, query in derived_tables.REBUILD_QUERIES.items():
                writer.fetch_rows(sa.delete(table))
                writer.fetch_rows(step.insert_rows(table, query))
            writer.fetch_rows(sa.delete(PERSON_MERGES))
            workspaces = writer.fetch_rows(sa.select(ID_NUMBERS.c.workspace_id).distinct())
            recompute_and_store_person_merges(writer, [workspace for (workspace,) in workspaces])

    def truncate_addresses(self, writer: StatementRunner, before: datetime, since: datetime | None) -> int:
        """Cuts the IP addresses of events received in a time range, one day in each transaction."""
        total, rest = 0, since
        while True:
            with transactional_session(writer).exclusive_write_transaction():
                count, rest = deletion.truncate_day_of_addresses(writer, before, rest)
            total += count
            if rest is None:
                return total

    def update_enriched_columns(self, writer: StatementRunner, events: Sequence[Event]) -> None:
        """Replaces the enriched columns of stored events in one transaction."""
        from plugins.events_sql.writes.event_frames import events_to_frame  # noqa: PLC0415 - loads the data frame library

        session = transactional_session(writer)
        with session.exclusive_write_transaction():
            session.expose_frame_as_table(events_to_frame(events))
            event_versions.keep_versions_of_reenriched_events(writer)
            writer.execute_text(reenrichment.UPDATE_EVENTS_FROM_BATCH)

    def rebuild_workspace(self, writer: StatementRunner, workspace_id: UUID) -> None:
        """Recomputes all derived rows of a workspace in one transaction."""
        with transactional_session(writer).exclusive_write_transaction():
            reenrichment.rebuild_workspace(writer, workspace_id)

    def delete_events(
        self, writer: StatementRunner, workspace_id: UUID, conditions: Sequence[str]
    ) -> DeletedRowsByTable:
        """Deletes the events of a workspace that meet any of the conditions, in one transaction."""
        with transactional_session(writer).exclusive_write_transaction():
            return deletion.delete_events(writer, workspace_id, conditions)

    def remove_events_keeping_versions(
        self, writer: StatementRunner, workspace_id: UUID, condition: str
    ) -> DeletedRowsByTable:
        """Deletes events and keeps what they were for reads of an earlier instant, in one transaction."""
        with transactional_session(writer).exclusive_write_transaction():
            event_versions.keep_versions_of_removed_events(writer, workspace_id, condition)
            return deletion.delete_events(writer, workspace_id, [condition], keep_versions=True)

    def delete_event_versions(self, writer: StatementRunner, condition: str) -> None:
        """Deletes what events were, where a SQL condition is met."""
        writer.execute_text(f"DELETE FROM event_versions WHERE {condition}")  # noqa: S608 - no input

    def wait_for_running_appends(self, writer: StatementRunner) -> None:
        """Returns when all appends that have read their recording time are visible."""
        with transactional_session(writer).exclusive_write_transaction():
            return


def transactional_session(writer: StatementRunner) -> TransactionalSession:
    """Returns the session of a writer whose engine has transactions."""
    session = writer.lazily_opened_session
    assert isinstance(session, TransactionalSession)
    return session


def _store_superseded_frame(
    writer: StatementRunner, superseded: "pl.DataFrame", superseded_by: Sequence[int], recorded_at: datetime
) -> None:
    """Stores superseded events that are not stored yet, in one transaction.

    Args:
        writer: of the store.
        superseded: the events, with the columns of `tables.BATCH`.
        superseded_by: the sequence number of the event that supersedes each of them.
        recorded_at: naive UTC at which they became visible.
    """
    session = transactional_session(writer)
    with session.exclusive_write_transaction():
        session.expose_frame_as_table(superseded)
        superseded_events.insert_events_of_batch(
            writer, list(zip(superseded["row_no"].to_list(), superseded_by, strict=True)), recorded_at
        )


def _select_and_count_new_events(writer: StatementRunner, since: datetime, until: datetime) -> int:
    """Creates the table of the events of the batch that are not stored yet."""
    writer.create_temp_table("new_events", step.SELECT_NEW_EVENTS)
    writer.fetch_rows(step.delete_events_stored_within_week(since, until))
    return int(writer.fetch_rows(step.COUNT_NEW_EVENTS)[0][0])


def _move_superseded_if_any(writer: StatementRunner, since: datetime, until: datetime) -> bool:
    """Moves stored events of senders without a key whose id an event of the batch has; returns whether there were any."""
    writer.create_temp_table(step.NEWLY_SUPERSEDED.name, step.select_superseded_events(since, until))
    workspaces = superseded_events.superseded_workspaces(writer)
    if workspaces:
        writer.create_temp_table("changed_visitors", superseded_events.SELECT_LINKED_VISITORS)
        superseded_events.move_superseded_events(writer)
        _recompute_changed_owners_if_any(writer)
        recompute_and_store_person_merges(writer, workspaces)
    return bool(workspaces)


def _number_and_insert_events(writer: StatementRunner, recorded_at: datetime) -> None:
    """Numbers the new ids and sessions of the batch and inserts its events."""
    writer.create_temp_table("batch_ids", step.SELECT_BATCH_IDS)
    writer.fetch_rows(step.INSERT_IDS)
    writer.create_temp_table("batch_sessions", step.SELECT_BATCH_SESSIONS)
    writer.create_temp_table("event_numbers", step.SELECT_EVENT_NUMBERS)
    writer.create_temp_table("numbered_events", step.select_numbered_events(recorded_at))
    writer.fetch_rows(step.INSERT_EVENTS)


def _update_derived_tables(
    writer: StatementRunner, *, has_touches: bool, has_emails: bool, has_lone_ids: bool
) -> None:
    """Updates all derived tables; the flags skip steps that most batches do not need."""
    writer.create_temp_table("batch_session_rows", step.SELECT_BATCH_SESSION_ROWS)
    writer.create_temp_table("stored_session_rows", step.SELECT_STORED_SESSION_ROWS)
    writer.fetch_rows(step.DELETE_STORED_SESSION_ROWS)
    writer.create_temp_table("merged_session_rows", step.SELECT_MERGED_SESSION_ROWS)
    writer.fetch_rows(step.INSERT_SESSIONS)
    if writer.fetch_rows(step.SELECT_ANY_SESSION_WITHOUT_ENTRY):
        writer.fetch_rows(step.DELETE_SESSIONS_WITHOUT_ENTRY)
        writer.fetch_rows(step.RECOMPUTE_SESSIONS_WITHOUT_ENTRY)
    writer.fetch_rows(step.INSERT_TOUCH_CANDIDATES)
    writer.fetch_rows(step.DELETE_OUTDATED_CANDIDATES)
    if has_touches:
        writer.fetch_rows(step.INSERT_REPORTED_TOUCHES)
    writer.create_temp_table("new_strong_visitors", step.SELECT_NEW_STRONG_VISITORS)
    has_lone_ids = has_lone_ids or bool(writer.fetch_rows(step.SELECT_ANY_NEW_STRONG_VISITOR))
    writer.create_temp_table(
        "new_weak_links",
        step.SELECT_WEAK_LINKS_WITH_LONE_IDS if has_lone_ids else step.SELECT_NEW_WEAK_LINKS,
    )
    writer.fetch_rows(step.INSERT_WEAK_LINKS)
    writer.fetch_rows(step.INSERT_ID_PAIRS)
    writer.create_temp_table("changed_visitors", step.SELECT_CHANGED_VISITORS)
    workspaces = writer.fetch_rows(
        step.SELECT_WORKSPACES_TO_MERGE
        if _recompute_changed_owners_if_any(writer)
        else step.SELECT_WORKSPACES_WITH_IDENTITY_IDS
    )
    if has_emails:
        writer.create_temp_table("new_email_digests", step.SELECT_NEW_EMAIL_DIGESTS)
        writer.fetch_rows(step.INSERT_EMAIL_DIGESTS)
        workspaces += writer.fetch_rows(step.SELECT_WORKSPACES_WITH_EMAIL_MATCH)
    recompute_and_store_person_merges(writer, {workspace for (workspace,) in workspaces})


def _recompute_changed_owners_if_any(writer: StatementRunner) -> bool:
    """Recomputes the owners of the visitors in ``changed_visitors`` and returns whether there are any."""
    if not writer.fetch_rows(step.SELECT_ANY_CHANGED_VISITOR):
        return False
    writer.create_temp_table("visitor_links", step.SELECT_VISITOR_LINKS)
    writer.fetch_rows(step.DELETE_OWNERS)
    writer.fetch_rows(step.INSERT_OWNERS)
    return True


def visitors_linked_by_event(workspace_id: UUID, event_id: str) -> sa.CompoundSelect[Any]:
    """Selects the numbers of the visitors that an event may link to a person."""
    return sa.union(
        *(
            sa.select(table.c.visitor_no).where(
                table.c.workspace_id == workspace_id, table.c.event_id == event_id
            )
            for table in (EVENTS, WEAK_LINKS)
        )
    )
