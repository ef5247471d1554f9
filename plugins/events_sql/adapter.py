"""The event store over SQL: implements every event-store port, each method by one read module."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import ClassVar
from uuid import UUID

import sqlalchemy as sa

from plugins.events_sql.attribution.path_counts import count_touch_paths, may_share_path_tables
from plugins.events_sql.dialects.open_backend import open_backend
from plugins.events_sql.event_deletion import EventDeletion
from plugins.events_sql.event_history import SqlEventHistory
from plugins.events_sql.execution.query_executor import Backend, QueryExecutor, StatementRunner
from plugins.events_sql.execution.shared_reads import Q, R, SharedReads
from plugins.events_sql.reads import event_queries, export_batches, session_states, superseded_events
from plugins.events_sql.reads.acquisition_values import list_acquisition_values
from plugins.events_sql.reads.aggregate import evaluate_aggregates, may_share_credit_or_payment_tables
from plugins.events_sql.reads.cohorts import evaluate_cohorts
from plugins.events_sql.reads.experiment import evaluate_experiment
from plugins.events_sql.reads.funnels.funnel import evaluate_funnel
from plugins.events_sql.reads.funnels.funnel_start_values import list_start_values
from plugins.events_sql.reads.funnels.funnel_units import list_units_of_step_and_total
from plugins.events_sql.reads.items import sum_items_booked_in_span
from plugins.events_sql.reads.journeys import list_journeys
from plugins.events_sql.reads.paths import session_paths
from plugins.events_sql.reads.people import person_profile
from plugins.events_sql.reads.people.first_touches import first_touch_by_known_id
from plugins.events_sql.reads.people.id_conflicts import list_id_conflicts_and_count_all
from plugins.events_sql.reads.people.people_list import list_people
from plugins.events_sql.reads.people.person_journey import read_person_activity
from plugins.events_sql.schema.store_version import require_current_version
from plugins.events_sql.schema.tables import ID_NUMBERS, STORE_VERSION
from plugins.events_sql.settings import SqlSettings
from plugins.events_sql.statement_warm_up import compile_frequent_statements_once
from plugins.events_sql.writes.append import TransactionalWrites
from service_core.plugin import (
    MAX_ITEMS_PER_PERSON,
    AcquisitionValuesQuery,
    ActiveVisitor,
    AggregateQuery,
    AggregateResult,
    CohortReaderQuery,
    CohortResult,
    ColumnValueCount,
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
)


def open_store(settings: SqlSettings) -> "SqlEventStore":
    """Returns the store for the settings of an adapter URL.

    Raises:
        StartupError: the driver of the engine is not installed.
    """
    return SqlEventStore(open_backend(settings))


def _one_by_one(
    evaluate: Callable[[Q, StatementRunner], R],
) -> Callable[[Sequence[Q], StatementRunner], list[R]]:
    """Returns a function that evaluates queries one after the other."""
    return lambda queries, runner: [evaluate(query, runner) for query in queries]


class SqlEventStore(EventDeletion, SqlEventHistory):
    """The event-store ports on one SQL engine.

    Args:
        backend: the engine.
    """

    start_limit_seconds: ClassVar[float | None] = None
    """No limit: an engine may have to replay a long log."""

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        self._engine = QueryExecutor(backend)
        self._aggregates = self._build_shared_reads(
            evaluate_aggregates,
            lambda result: replace(result, rows=list(result.rows)),
            may_share_credit_or_payment_tables=may_share_credit_or_payment_tables,
        )
        self._touch_paths = self._build_shared_reads(
            count_touch_paths, list, may_share_credit_or_payment_tables=may_share_path_tables
        )
        self._cohorts = self._build_shared_reads(
            _one_by_one(evaluate_cohorts),
            lambda result: CohortResult(dict(result.sizes), list(result.cells)),
        )
        self._people = self._build_shared_reads(_one_by_one(list_people), lambda page: (page[0][:], page[1]))

    def _build_shared_reads(
        self,
        evaluate: Callable[[Sequence[Q], StatementRunner], list[R]],
        copy_result: Callable[[R], R],
        may_share_credit_or_payment_tables: Callable[[Q, Q], bool] | None = None,
    ) -> SharedReads[Q, R]:
        run_read = self._engine.run_read_within_time_budget
        return SharedReads(
            lambda queries: run_read(lambda runner: evaluate(queries, runner)),
            self._engine.ended_writes_unless_writing,
            is_only_writer=self.backend.is_only_writer,
            copy_result=copy_result,
            may_share_credit_or_payment_tables=may_share_credit_or_payment_tables,
        )

    async def check(self) -> None:
        """Checks that the engine can be reached and holds no store of another version, without changing anything.

        Raises:
            StartupError: it cannot, or does.
        """
        await asyncio.to_thread(self.backend.has_tables_or_raise_unusable)

    async def check_stored_version(self) -> None:
        """Checks that the open store still has the tables of this version.

        Raises:
            StartupError: another version has written it.
        """
        query = sa.select(STORE_VERSION.c.version).distinct()
        require_current_version(
            await self._engine.run_read_within_time_budget(lambda runner: runner.fetch_rows(query))
        )

    async def takes_writes(self) -> bool:
        """Returns whether the open engine takes writes, as far as it says so itself."""
        query = self.backend.read_only_query
        if not query:
            return True
        ((is_read_only,),) = await self._engine.run_read_within_time_budget(
            lambda runner: runner.execute_text(query, {})
        )
        return not is_read_only

    async def has_tables(self) -> bool:
        """Returns whether the engine has the tables of a store already; True for a store in memory.

        Raises:
            StartupError: it cannot be reached.
        """
        return await asyncio.to_thread(self.backend.has_tables_or_raise_unusable)

    async def start(self) -> None:
        """Opens the engine, creates missing tables and compiles frequent statements in the background.

        Raises:
            StartupError: the engine cannot be used, or holds a store of another version.
        """
        await self._engine.open_in_writer_thread()
        self._engine.run_in_background(compile_frequent_statements_once)

    async def aclose(self) -> None:
        """Finishes the running write and closes the engine."""
        await asyncio.to_thread(self._engine.finish_work_and_close)

    async def append(self, events: Sequence[Event]) -> int:
        """Stores the new events of a batch atomically and returns how many were new."""
        if not events:
            return 0
        return await self._engine.run_write_to_its_end(
            lambda writer: self.backend.writes.append_new_and_update_derived(writer, events)
        )

    async def append_encoded(self, batch: bytes) -> int:
        """Stores a batch that another process encoded as `append` does; returns how many events were new.

        Args:
            batch: from the ``encode_batch`` of the adapter's declaration.
        """
        writes = self.backend.writes
        assert isinstance(writes, TransactionalWrites)  # no other engine declares an encoder
        return await self._engine.run_write_to_its_end(
            lambda writer: writes.decode_batch_and_append(writer, batch)
        )

    async def session_states(self, keys: Sequence[SessionKey]) -> dict[SessionKey, SessionState]:
        """Returns the stored states of sessions."""
        return (
            await self._engine.run_read_within_time_budget(
                lambda runner: session_states.read_session_states(keys, runner)
            )
            if keys
            else {}
        )

    async def find_events_by_id(
        self, workspace_id: UUID, event_ids: Collection[str]
    ) -> Sequence[StoredEventKey]:
        """Returns the stored events with these ids."""
        return await self._engine.run_read_within_time_budget(
            lambda runner: event_queries.find_events_by_id(workspace_id, event_ids, runner)
        )

    async def maintain(self) -> None:
        """Compacts the store and updates statistics."""
        await self._engine.run_write_to_its_end(self.backend.run_maintenance)

    async def rebuild(self) -> None:
        """Recomputes all derived tables from the events."""
        await self._engine.run_write_to_its_end(self.backend.writes.rebuild_derived_tables)

    async def aggregate(self, query: AggregateQuery) -> AggregateResult:
        """Returns aggregations by dimensions and buckets."""
        return await self._aggregates.read(query)

    async def list_events(self, query: EventPageQuery) -> EventPageResult:
        """Returns a page of events."""
        return await self._engine.run_read_within_time_budget(
            lambda runner: event_queries.list_events_newest_first(query, runner)
        )

    def stream_events_newest_first(self, scope: QueryScope, limit: int) -> AsyncGenerator[RowBatch, None]:
        """Yields events for an export, newest first."""
        return self._engine.stream_without_time_limit(
            lambda runner: export_batches.stream_newest_events(scope, limit, runner)
        )

    def stream_persons_of_page(self, query: PeoplePageQuery) -> AsyncGenerator[Sequence[Person], None]:
        """Yields persons for an export."""
        return self._engine.stream_without_time_limit(
            lambda runner: export_batches.stream_persons_of_page(query, runner)
        )

    async def list_event_names(self, scope: QueryScope) -> list[EventNameSummary]:
        """Returns the event names of the span with counts."""
        return await self._engine.run_read_within_time_budget(
            lambda runner: event_queries.list_event_names_by_frequency(scope, runner)
        )

    async def list_custom_properties_by_event(
        self, scope: QueryScope, limit_per_event_name: int
    ) -> list[CustomPropertySummary]:
        """Returns custom property keys by event name."""
        return await self._engine.run_read_within_time_budget(
            lambda runner: event_queries.list_property_keys_by_event(scope, limit_per_event_name, runner)
        )

    async def list_visitors_with_recently_received_events(
        self, scope: QueryScope, received_since: datetime, limit: int
    ) -> list[ActiveVisitor]:
        """Returns visitors with an event received since an instant."""
        return await self._engine.run_read_within_time_budget(
            lambda runner: event_queries.list_active_visitors_latest_first(
                scope, received_since, limit, runner
            )
        )

    async def first_and_last_event_time(self, workspace_id: UUID) -> tuple[datetime, datetime] | None:
        """Returns the timestamps of the first and last event, bots included."""
        return await self._engine.run_read_within_time_budget(
            lambda runner: event_queries.event_time_range_with_bots(workspace_id, runner)
        )

    async def list_people_and_total(self, query: PeoplePageQuery) -> tuple[list[Person], int]:
        """Returns a page of persons and the number of all."""
        return await self._people.read(query)

    async def find_person_of_any_id(self, workspace_id: UUID, any_id: str) -> str | None:
        """Returns the person of an id."""
        return await self._engine.run_read_within_time_budget(
            lambda runner: person_profile.resolve_person_strong_id_first(workspace_id, any_id, runner)
        )

    async def first_touches_of_seen_ids(
        self, workspace_id: UUID, user_or_visitor_ids: Collection[str]
    ) -> Mapping[str, PersonFirstTouch]:
        """Returns the persons of ids with their first touches."""
        return (
            await self._engine.run_read_within_time_budget(
                lambda runner: first_touch_by_known_id(workspace_id, user_or_visitor_ids, runner)
            )
            if user_or_visitor_ids
            else {}
        )

    async def list_external_id_conflicts_and_total(
        self, workspace_id: UUID, limit: int
    ) -> tuple[list[ExternalIdConflict], int]:
        """Returns external ids that merge nobody because several persons carry them, and the number of all."""
        return await self._engine.run_read_within_time_budget(
            lambda runner: list_id_conflicts_and_count_all(workspace_id, limit, runner)
        )

    async def list_latest_person_events(
        self, scope: QueryScope, person: str, limit: int = MAX_ITEMS_PER_PERSON
    ) -> list[Event]:
        """Returns the latest events of a person in the span."""
        return await self._engine.run_read_within_time_budget(
            lambda runner: person_profile.latest_person_events_oldest_first(scope, person, limit, runner)
        )

    async def list_latest_person_touches(
        self, scope: QueryScope, person: str, limit: int = MAX_ITEMS_PER_PERSON
    ) -> list[Touch]:
        """Returns the latest touches of a person in the span."""
        return await self._engine.run_read_within_time_budget(
            lambda runner: person_profile.latest_person_touches_oldest_first(scope, person, limit, runner)
        )

    async def read_activity(self, query: PersonActivityQuery) -> PersonActivity:
        """Returns a person with profile, sessions and conversions."""
        return await self._engine.run_read_within_time_budget(
            lambda runner: read_person_activity(query, runner)
        )

    async def revoke_identity_link(self, workspace_id: UUID, event_id: str) -> None:
        """Removes the identity links of an event."""
        await self._engine.run_write_to_its_end(
            lambda writer: self.backend.writes.revoke_links_and_recompute_owners(
                writer, workspace_id, event_id
            )
        )

    async def update_enriched_columns(self, workspace_id: UUID, events: Sequence[Event]) -> None:  # noqa: ARG002 - each event names it
        """Replaces the enriched columns of stored events."""
        if events:
            await self._engine.run_write_to_its_end(
                lambda writer: self.backend.writes.update_enriched_columns(writer, events)
            )

    async def rebuild_workspace(self, workspace_id: UUID) -> None:
        """Recomputes everything that is derived from the events of a workspace."""
        await self._engine.run_write_to_its_end(
            lambda writer: self.backend.writes.rebuild_workspace(writer, workspace_id)
        )

    async def list_ids(self, workspace_id: UUID) -> list[str]:
        """Returns every visitor id and user id that events carry."""
        query = sa.select(ID_NUMBERS.c.id).where(ID_NUMBERS.c.workspace_id == workspace_id)
        rows = await self._engine.run_write_to_its_end(lambda writer: writer.fetch_rows(query))
        superseded = await self._engine.run_write_to_its_end(
            lambda writer: superseded_events.list_ids_of_superseded_events(workspace_id, writer)
        )
        return list({id_.partition(":")[2] for (id_,) in rows} | superseded)

    async def first_event_time_with_superseded(self, workspace_id: UUID) -> datetime | None:
        """Returns the timestamp of the first event, superseded ones and bots included."""
        return await self._engine.run_read_within_time_budget(
            lambda runner: superseded_events.first_event_time_with_superseded(workspace_id, runner)
        )

    def stream_superseded_events(self, workspace_id: UUID) -> AsyncGenerator[Sequence[SupersededEvent], None]:
        """Yields the superseded events of a workspace, by sequence number."""
        return self._engine.stream_without_time_limit(
            lambda runner: superseded_events.stream_superseded_events(workspace_id, runner)
        )

    async def store_superseded_events(self, superseded: Sequence[SupersededEvent]) -> None:
        """Stores superseded events as another store kept them."""
        await self._engine.run_write_to_its_end(
            lambda writer: self.backend.writes.store_superseded_events(writer, superseded)
        )

    async def read_cohorts(self, query: CohortReaderQuery) -> CohortResult:
        """Returns cohort sizes, activity and revenue."""
        return await self._cohorts.read(query)

    async def list_acquisition_values(self, query: AcquisitionValuesQuery) -> list[ColumnValueCount]:
        """Returns the most frequent values of a column among the events that acquired persons."""
        return await self._engine.run_read_within_time_budget(
            lambda runner: list_acquisition_values(query, runner)
        )

    async def read_experiment(
        self, query: ExperimentReaderQuery, max_mixed_persons: int
    ) -> ExperimentOutcome:
        """Returns the outcome of an experiment by variant."""
        return await self._engine.run_read_within_time_budget(
            lambda runner: evaluate_experiment(query, max_mixed_persons, runner)
        )

    async def read_funnel(self, query: FunnelReaderQuery) -> FunnelResult:
        """Returns how many units reach each step."""
        return await self._engine.run_read_within_time_budget(lambda runner: evaluate_funnel(query, runner))

    async def list_units_of_step_and_total(
        self, query: FunnelStepUnitsQuery
    ) -> tuple[list[FunnelStepUnit], int]:
        """Returns a page of the units of a funnel's step and the number of all."""
        return await self._engine.run_read_within_time_budget(
            lambda runner: list_units_of_step_and_total(query, runner)
        )

    async def list_start_values(self, query: FunnelStartValuesQuery) -> list[ColumnValueCount]:
        """Returns the most frequent values of a column among the events that start a funnel."""
        return await self._engine.run_read_within_time_budget(lambda runner: list_start_values(query, runner))

    async def list_distinct_touch_paths_with_counts(self, query: TouchPathQuery) -> list[TouchPath]:
        """Returns every distinct touch path with its conversions."""
        return await self._touch_paths.read(query)

    async def list_journeys(self, query: JourneysQuery) -> JourneysResult:
        """Returns a page of journeys, the number of all, and the sum of their credit."""
        return await self._engine.run_read_within_time_budget(lambda runner: list_journeys(query, runner))

    async def read_paths(self, query: PathsQuery, nodes_per_step: int) -> PathsResult:
        """Returns the most frequent nodes of each step of paths."""
        return await self._engine.run_read_within_time_budget(
            lambda runner: session_paths.read_paths(query, nodes_per_step, runner)
        )

    async def list_path_sessions(self, query: PathSessionsQuery) -> PathSessionPage:
        """Returns a page of the sessions of paths and the number of all."""
        return await self._engine.run_read_within_time_budget(
            lambda runner: session_paths.list_path_sessions(query, runner)
        )

    async def sum_line_items(self, query: LineItemQuery) -> list[LineItemSum]:
        """Returns the sums of sold and returned items."""
        return await self._engine.run_read_within_time_budget(
            lambda runner: sum_items_booked_in_span(query, runner)
        )
