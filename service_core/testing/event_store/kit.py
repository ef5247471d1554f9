"""Fixtures and query helpers that all tests of the event store kit share."""

from typing import Any, Protocol

import pytest

from service_core.analytics.attribution_reads.ports import JourneyReader
from service_core.analytics.cohorts.ports import CohortReader
from service_core.analytics.event_rules.visits import IS_VISIT_EVENT
from service_core.analytics.experiments.ports import ExperimentReader
from service_core.analytics.funnels.ports import FunnelReader
from service_core.analytics.line_items.ports import LineItemReader
from service_core.analytics.measures import Aggregation, Column, Measure, Relation, count_distinct
from service_core.analytics.paths.ports import PathReader
from service_core.analytics.people.ports import PersonActivityReader, PersonReader
from service_core.analytics.ports import (
    AggregateQuery,
    AggregateReader,
    CreditRule,
    EventReader,
    QueryScope,
    TouchPathReader,
)
from service_core.ingestion.event_history import EventHistory
from service_core.ingestion.ports import (
    EventStore,
    ImportedEventStore,
    PersonalDataStore,
    ReenrichableStore,
    SupersededEventStore,
)
from service_core.testing.event_builder import EventBuilder
from service_core.testing.reference_store import open_reference_event_store


class Store(
    EventStore,
    AggregateReader,
    EventReader,
    PersonReader,
    PersonActivityReader,
    CohortReader,
    FunnelReader,
    ExperimentReader,
    TouchPathReader,
    PathReader,
    JourneyReader,
    LineItemReader,
    PersonalDataStore,
    ImportedEventStore,
    ReenrichableStore,
    SupersededEventStore,
    EventHistory,
    Protocol,
):
    """Combines all ports of an event store."""


class EventStoreKit:
    """Gives the fixtures of the kit's classes. Override ``store`` with an async fixture of the adapter under test.

    Each test uses new workspaces, so one store may serve a whole class.
    """

    @pytest.fixture
    def store(self) -> Store:
        """Returns the store under test; an adapter's test class overrides it."""
        raise pytest.UsageError("override the fixture `store` with the adapter under test")

    @pytest.fixture
    def oracle(self) -> Store:
        """Returns a new, empty ``memory://`` store, with whose answers the store under test is compared."""
        opened: Store = open_reference_event_store()
        return opened

    @pytest.fixture
    def builder(self) -> EventBuilder:
        """Returns a builder of events in a new workspace."""
        return EventBuilder()


async def measure_value_or_row(
    store: AggregateReader, scope: QueryScope, *measures: Measure, credit: CreditRule | None = None
) -> Any:
    """Returns the values of measures over a scope as one row, or the bare value when there is one measure."""
    result = await store.aggregate(AggregateQuery(scope, measures, credit=credit))
    (row,) = result.rows
    return row[0] if len(row) == 1 else row


async def measure_by_columns(
    store: AggregateReader,
    scope: QueryScope,
    aggregation: Aggregation,
    *columns: str | Column,
    credit: CreditRule | None = None,
) -> dict[Any, Any]:
    """Returns the values of an aggregation, by the value of one column or the tuple of values of several."""
    dimensions = tuple(
        {str(aggregation.relation): Column(column) if isinstance(column, str) else column}
        for column in columns
    )
    result = await store.aggregate(AggregateQuery(scope, (aggregation,), dimensions, credit=credit))
    return {row[:-1] if len(columns) > 1 else row[0]: row[-1] for row in result.rows}


EVENTS = Aggregation(Relation.EVENTS)
VISITORS = count_distinct("visitor_id", Relation.EVENTS, IS_VISIT_EVENT)
PERSONS = Aggregation(Relation.EVENTS, Column("person"), distinct=True)
SESSIONS = count_distinct("session", Relation.EVENTS, IS_VISIT_EVENT)
SESSION_STARTS = Aggregation(Relation.SESSIONS)
CONVERTED = Aggregation(Relation.CONVERSIONS)
CREDITED = Aggregation(Relation.CREDITS, Column("credit"))
CREDITED_ORDERS = Aggregation(Relation.CREDITS, Column("order_credit"))
CREDITED_MONEY = Aggregation(Relation.CREDITS, Column("amount"))
CREDITED_REFUNDS = Aggregation(Relation.CREDITS, Column("refunded"))
