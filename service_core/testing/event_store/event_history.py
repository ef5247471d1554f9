"""Conformance tests of `EventHistory`: the events as they were known at an earlier instant."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count

from service_core.ingestion.models import IMPORT_PROPERTY, Event
from service_core.kernel.ids import new_id
from service_core.testing.event_builder import EventBuilder
from service_core.testing.event_store.kit import EventStoreKit, Store
from service_core.testing.event_store.superseded_events import page_and_server_report

_CLOCK_START = datetime.now(UTC).replace(microsecond=0) + timedelta(days=1)
_HOURS = count()


class EventHistoryKit(EventStoreKit):
    """Tests of `EventHistory`."""

    async def test_events_are_known_from_when_they_were_recorded(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """An event that arrives later was not known before, however old it is."""
        tick = use_ticking_clock(store)
        early = builder.add_event("page_view", at="2026-03-02T10:00", visitor="A1")
        late = builder.add_event("page_view", at="2026-03-01T09:00", visitor="late")
        before, _ = tick(), await store.append([early])
        between, _ = tick(), await store.append([early, late])
        after = tick()
        assert await events_as_of(store, builder, before) == []
        assert await events_as_of(store, builder, between) == [early]
        assert await events_as_of(store, builder, after) == [early, late]
        assert await events_as_of(store, EventBuilder(), after) == []
        state = await store.read_history_state(builder.workspace_id, between)
        assert (state.event_count, state.deleted_at) == (1, None)
        assert state.starts_at <= before

    async def test_superseded_event_is_known_with_what_supersedes_it(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """A store that gets the events of an instant counts what counted then."""
        tick = use_ticking_clock(store)
        claimed, real = page_and_server_report(builder)
        await store.append([claimed])
        between, _ = tick(), await store.append([real])
        await store.append([claimed, real])
        assert await events_as_of(store, builder, between) == [claimed]
        assert await events_as_of(store, builder, tick()) == [claimed, real]

    async def test_replaced_columns_are_known_as_they_were(self, store: Store, builder: EventBuilder) -> None:
        """Each version of an event is known until the next one."""
        tick = use_ticking_clock(store)
        event = builder.add_event("page_view", at="2026-03-02T10:00", visitor="A1")
        other = builder.add_event("page_view", at="2026-03-02T11:00", visitor="A1")
        versions = [event, replace(event, is_bot=True, bot_reasons=("rule",)), replace(event, country="PL")]
        await store.append([event, other])
        moments = [tick()]
        for version in versions[1:]:
            await store.update_enriched_columns(builder.workspace_id, [version, other])
            await store.rebuild_workspace(builder.workspace_id)
            moments.append(tick())
        assert [await events_as_of(store, builder, at) for at in moments] == [[v, other] for v in versions]
        await store.delete_event_versions(moments[1])
        assert await events_as_of(store, builder, moments[1]) == [versions[1], other]

    async def test_removed_import_is_known_as_it_was(self, store: Store, builder: EventBuilder) -> None:
        """Events of an import are known until it is removed, and that is no deletion of personal data."""
        tick = use_ticking_clock(store)
        import_id = new_id()
        own = builder.add_event("page_view", at="2026-03-02T10:00", visitor="A1")
        brought = builder.add_event(
            "purchase",
            at="2026-03-02T11:00",
            visitor="A1",
            revenue=5,
            event_data={IMPORT_PROPERTY: str(import_id)},
        )
        await store.append([own, brought])
        between = tick()
        assert await store.delete_imported_events(builder.workspace_id, import_id) == 1
        assert await events_as_of(store, builder, between) == [own, brought]
        assert await events_as_of(store, builder, tick()) == [own]
        assert (await store.read_history_state(builder.workspace_id, between)).deleted_at is None

    async def test_deleted_events_are_known_no_more(self, store: Store, builder: EventBuilder) -> None:
        """An erasure removes every version of an event, and the history says when events were deleted."""
        tick = use_ticking_clock(store)
        kept, erased = (builder.add_event("page_view", at="2026-03-02T10:00", visitor=v) for v in "AB")
        await store.append([kept, erased])
        await store.update_enriched_columns(builder.workspace_id, [replace(erased, country="PL")])
        between = tick()
        await store.delete_events(builder.workspace_id, [erased.seq])
        assert await events_as_of(store, builder, between) == [kept]
        deleted_at = (await store.read_history_state(builder.workspace_id, between)).deleted_at
        assert deleted_at is not None
        assert deleted_at > between

    async def test_revocations_are_known_from_when_they_were_made(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """A link that was revoked later was in force before; a second revocation changes nothing."""
        tick = use_ticking_clock(store)
        event = builder.add_event("page_view", at="2026-03-02T10:00", visitor="A1", strong_id="U1")
        await store.append([event])
        between = tick()
        await store.revoke_identity_link(builder.workspace_id, event.event_id)
        after = tick()
        await store.revoke_identity_link(builder.workspace_id, event.event_id)
        assert await store.list_revoked_links_as_of(builder.workspace_id, between) == []
        assert await store.list_revoked_links_as_of(builder.workspace_id, after) == [event.event_id]

    async def test_events_that_waited_at_an_instant_are_told(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """Events received by an instant and recorded later waited in the queue then."""
        tick = use_ticking_clock(store)
        received, at = tick(), tick()
        event = replace(
            builder.add_event("page_view", at="2026-03-02T10:00", visitor="A1"), received_at=received
        )
        tick()
        await store.append([event])
        assert (await store.read_history_state(builder.workspace_id, at)).waiting_since == received
        assert (await store.read_history_state(builder.workspace_id, tick())).waiting_since is None


def use_ticking_clock(store: Store) -> Callable[[], datetime]:
    """Gives a store a clock that is an hour later at each reading, also of the next test, and returns it."""

    def tick() -> datetime:
        return _CLOCK_START + timedelta(hours=next(_HOURS))

    store.use_clock(tick)
    return tick


async def events_as_of(store: Store, builder: EventBuilder, as_of: datetime) -> list[Event]:
    """Returns the events of the builder's workspace as they were known at an instant, by sequence number."""
    pieces = store.stream_events_as_of(builder.workspace_id, as_of)
    return sorted([event async for piece in pieces for event in piece], key=lambda event: event.seq)
