"""Conformance tests of superseded events: they are kept, count nowhere, and are removed like all others."""

from dataclasses import replace
from datetime import timedelta

from service_core.ingestion.models import Event, SupersededEvent
from service_core.testing.event_builder import EventBuilder, utc_instant, whole_utc_days
from service_core.testing.event_store.kit import EVENTS, EventStoreKit, Store, measure_value_or_row

SPAN = whole_utc_days("2026-03-01", "2026-03-31")


class SupersededEvents(EventStoreKit):
    """Tests of `SupersededEventStore`, and of its events in `PersonalDataStore`."""

    async def test_superseded_event_is_kept_and_counts_nowhere(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """The event of a browser batch stays stored as it was, with the number of the event that counts."""
        claimed, real = page_and_server_report(builder)
        await store.append([claimed])
        await store.append([real])
        await store.append([claimed, real])
        scope = builder.query_scope(SPAN, include_bots=True)
        assert await list_superseded(store, builder) == [SupersededEvent(claimed, real.seq)]
        assert await measure_value_or_row(store, scope, EVENTS) == 1
        assert await store.list_latest_person_events(scope, "v:A1") == []
        await store.rebuild_workspace(builder.workspace_id)
        assert await measure_value_or_row(store, scope, EVENTS) == 1
        assert await list_superseded(store, EventBuilder()) == []

    async def test_event_that_is_superseded_within_its_batch_is_kept(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """Of two events of one id in a batch that without a key is kept, also when the batch is sent again."""
        claimed, real = page_and_server_report(builder)
        assert await store.append([claimed, real]) == 1
        assert await store.append([claimed, real]) == 0
        assert await list_superseded(store, builder) == [SupersededEvent(claimed, real.seq)]
        assert await measure_value_or_row(store, builder.query_scope(SPAN), EVENTS) == 1

    async def test_event_superseded_by_a_repeat_is_dropped_with_it(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """An event of a batch whose keyed event repeats a stored one supersedes nothing that is kept."""
        claimed, real = page_and_server_report(builder)
        later = [replace(event, seq=event.seq + 1000) for event in (claimed, real)]
        assert await store.append([claimed, real]) == 1
        assert await store.append(later) == 0
        assert await list_superseded(store, builder) == [SupersededEvent(claimed, real.seq)]
        assert await measure_value_or_row(store, builder.query_scope(SPAN), EVENTS) == 1

    async def test_superseded_events_are_stored_in_another_store_once(
        self, store: Store, builder: EventBuilder, oracle: Store
    ) -> None:
        """A copy of the events of another store is complete, and adds nothing the second time."""
        for _ in range(3):
            await oracle.append(page_and_server_report(builder))
        kept = await list_superseded(oracle, builder)
        assert len(kept) == 3
        await store.store_superseded_events(kept[:2])
        await store.store_superseded_events(kept)
        assert await list_superseded(store, builder) == kept
        assert await measure_value_or_row(store, builder.query_scope(SPAN), EVENTS) == 0

    async def test_addresses_of_superseded_events_are_cut(self, store: Store, builder: EventBuilder) -> None:
        """The address of a superseded event and those in its properties are cut like those of any other."""
        claimed, real = page_and_server_report(builder)
        await store.append([claimed])
        await store.append([replace(real, ip=None, event_data={})])
        assert await store.truncate_addresses(claimed.received_at + timedelta(days=8)) >= 1
        assert await store.truncate_addresses(claimed.received_at + timedelta(days=8)) == 0
        (kept,) = await list_superseded(store, builder)
        assert (kept.event.ip, dict(kept.event.event_data)) == ("203.0.113.0/24", {"ip": "198.51.100.0/24"})

    async def test_superseded_events_before_a_time_are_deleted(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """Deletion by age removes old superseded events, and counts only those that were no repeats."""
        claimed, real = page_and_server_report(builder)
        real = replace(real, timestamp=utc_instant("2026-03-09"))
        await store.append([claimed, real])
        first = await store.first_event_time_with_superseded(builder.workspace_id)
        assert first == claimed.timestamp
        assert await store.delete_events_before(builder.workspace_id, utc_instant("2026-03-05")) == 0
        assert await list_superseded(store, builder) == []
        assert await store.first_event_time_with_superseded(builder.workspace_id) == real.timestamp
        assert await measure_value_or_row(store, builder.query_scope(SPAN), EVENTS) == 1
        await store.delete_events_before(builder.workspace_id, utc_instant("2026-03-10"))
        assert await store.first_event_time_with_superseded(builder.workspace_id) is None

    async def test_superseded_events_are_deleted_by_number_and_with_what_superseded_them(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """A person's events are deleted wherever they are, and the ids of superseded events are listed until then."""
        reports = [page_and_server_report(builder) for _ in range(3)]
        for claimed, real in reports:
            await store.append([claimed])
            await store.append([real])
        assert {"A1", "B1", "U1"} <= set(await store.list_ids(builder.workspace_id))
        removed = await store.delete_events(builder.workspace_id, [reports[0][0].seq, reports[1][1].seq])
        assert (removed["events"], removed["superseded_events"]) == (1, 2)
        assert await list_superseded(store, builder) == [SupersededEvent(reports[2][0], reports[2][1].seq)]
        await store.delete_events(builder.workspace_id, [reports[2][0].seq])
        assert "A1" not in await store.list_ids(builder.workspace_id)
        assert await list_superseded(store, builder) == []


def page_and_server_report(builder: EventBuilder) -> tuple[Event, Event]:
    """Returns an order as a page reports it without a key, and as its server reports it under the same id."""
    claimed = builder.add_event(
        "purchase", at="2026-03-02T10:05", visitor="A1", source="web", revenue=1, ip="203.0.113.9",
        event_data={"ip": "198.51.100.7"},
    )  # fmt: skip
    real = replace(
        claimed, seq=claimed.seq + 100, source="api", visitor_id="B1", strong_id="U1", session_id="other"
    )
    return claimed, real


async def list_superseded(store: Store, builder: EventBuilder) -> list[SupersededEvent]:
    """Returns all superseded events of the builder's workspace."""
    pieces = store.stream_superseded_events(builder.workspace_id)
    return [superseded async for piece in pieces for superseded in piece]
