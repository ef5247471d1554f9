"""Conformance tests of what a store keeps when it is opened again, and when many calls come at once."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import ClassVar

import pytest

from service_core.testing.event_builder import EventBuilder, utc_instant, whole_utc_days
from service_core.testing.event_store.kit import EVENTS, EventStoreKit, Store, measure_value_or_row

OpenStore = Callable[[], AbstractAsyncContextManager[Store]]
"""Opens the store under test, as another process does after a restart."""

_SPAN = whole_utc_days("2026-03-01", "2026-03-31")
_BATCHES = 12


class Durability(EventStoreKit):
    """Tests of restarts and of concurrent calls; override ``open_store``.

    Attributes:
        keeps_events: whether events outlive the process; False only for a store that says it keeps them in memory.
        time_limit_seconds: how long concurrent calls may take.
    """

    keeps_events: ClassVar[bool] = True
    time_limit_seconds: ClassVar[float] = 60

    @pytest.fixture
    def open_store(self) -> OpenStore:
        """Returns a function that opens the store under test; each call opens the same data."""
        if not self.keeps_events:
            pytest.skip("the store keeps events in memory")
        raise pytest.UsageError(
            "override the fixture `open_store` with a function that opens the store again"
        )

    async def test_events_and_erasures_outlive_a_restart(
        self, open_store: OpenStore, builder: EventBuilder
    ) -> None:
        """A store that is opened again has every event that was appended, and none that was deleted."""
        for visitor in ("A1", "B1"):
            builder.add_event("page_view", at="2026-03-02", visitor=visitor)
        async with open_store() as store:
            await store.append(builder.events)
            await store.delete_events(builder.workspace_id, [builder.events[1].seq])
        async with open_store() as store:
            assert set(await store.list_ids(builder.workspace_id)) == {"A1"}
            assert await measure_value_or_row(store, builder.query_scope(_SPAN), EVENTS) == 1
            assert await store.append(builder.events[:1]) == 0

    async def test_concurrent_appends_are_all_stored(self, store: Store, builder: EventBuilder) -> None:
        """Every event of batches that are appended at the same time is stored, once."""
        for minute in range(2 * _BATCHES):
            at = utc_instant(f"2026-03-02T10:{minute:02}")
            builder.add_event("page_view", at=at, visitor=f"A{minute % 3}")
        batches = [builder.events[start : start + 2] for start in range(0, 2 * _BATCHES, 2)]
        async with asyncio.timeout(self.time_limit_seconds):
            stored = await asyncio.gather(*map(store.append, [*batches, *batches]))
        assert sum(stored) == 2 * _BATCHES
        assert await measure_value_or_row(store, builder.query_scope(_SPAN), EVENTS) == 2 * _BATCHES

    async def test_reads_end_while_events_are_appended(self, store: Store, builder: EventBuilder) -> None:
        """Reads beside appends end in time, and give a state before or after each batch."""
        for hour in range(_BATCHES):
            builder.add_event("page_view", at=f"2026-03-02T{hour:02}:00", visitor="A1")
            builder.add_event("page_view", at=f"2026-03-02T{hour:02}:30", visitor="A1")
        scope = builder.query_scope(_SPAN)
        async with asyncio.timeout(self.time_limit_seconds):
            results = await asyncio.gather(
                *(
                    step
                    for start in range(0, 2 * _BATCHES, 2)
                    for step in (
                        store.append(builder.events[start : start + 2]),
                        measure_value_or_row(store, scope, EVENTS),
                    )
                )
            )
        assert {count % 2 for count in results[1::2]} == {0}
