"""What every part of the kit stands on: the store under test, the oracle, and short questions."""

from typing import Any, Protocol

import pytest

from service_core.insight.cohorts.ports import Cohorts
from service_core.insight.funnels.ports import Funnels
from service_core.insight.items.ports import Items
from service_core.insight.measures import Leaf, Measure, Relation
from service_core.insight.people.ports import Journeys, People
from service_core.insight.ports import Aggregate, Aggregates, Credit, EventLog, Paths, Scan
from service_core.intake.ports import EventStore
from service_core.testing.readable import readable_store
from service_core.testing.story import Story


class Store(EventStore, Aggregates, EventLog, People, Journeys, Cohorts, Funnels, Paths, Items, Protocol):
    """Every port of an event store."""


class Kit:
    """Base of the kit's classes. Override ``store`` with an async fixture of the adapter under test.

    Tests keep to workspaces of their own, so a store may live as long as the class.
    """

    @pytest.fixture
    def store(self) -> Store:
        """The store under test."""
        raise pytest.UsageError("override the fixture `store` with the adapter under test")

    @pytest.fixture
    def oracle(self) -> Store:
        """The reference a store is compared with: ``memory://``."""
        opened: Store = readable_store()
        return opened

    @pytest.fixture
    def story(self) -> Story:
        """An empty workspace."""
        return Story()


async def measure(store: Aggregates, scan: Scan, *measures: Measure, credit: Credit | None = None) -> Any:
    """The values of leaves over a scan; the value itself when one is asked."""
    grid = await store.aggregate(Aggregate(scan, measures, credit=credit))
    (row,) = grid.rows
    return row[0] if len(row) == 1 else row


async def split_by(
    store: Aggregates, scan: Scan, leaf: Leaf, *columns: str, credit: Credit | None = None
) -> dict[Any, Any]:
    """The values of a leaf by columns of its relation."""
    dimensions = tuple({str(leaf.of): column} for column in columns)
    grid = await store.aggregate(Aggregate(scan, (leaf,), dimensions, credit=credit))
    return {row[:-1] if len(columns) > 1 else row[0]: row[-1] for row in grid.rows}


EVENTS = Leaf(Relation.EVENTS)
VISITORS = Leaf(Relation.EVENTS, "visitor_id", distinct=True)
PERSONS = Leaf(Relation.EVENTS, "person", distinct=True)
SESSIONS = Leaf(Relation.EVENTS, "session", distinct=True)
SESSION_STARTS = Leaf(Relation.SESSIONS)
CONVERTED = Leaf(Relation.CONVERSIONS)
CREDITED = Leaf(Relation.CREDITS, "credit")
CREDITED_ORDERS = Leaf(Relation.CREDITS, "order_credit")
CREDITED_MONEY = Leaf(Relation.CREDITS, "amount")
CREDITED_REFUNDS = Leaf(Relation.CREDITS, "refunded")
