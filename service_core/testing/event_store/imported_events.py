"""Conformance tests of imported events: left out by a filter, and removed, the rest answers as before the import."""

from uuid import UUID

from service_core.analytics.measures import (
    Aggregation,
    FilterOperator,
    Predicate,
    Relation,
    count_rows,
    property_label_column,
)
from service_core.ingestion.models import IMPORT_PROPERTY
from service_core.testing.event_builder import EventBuilder, whole_utc_days
from service_core.testing.event_store.kit import (
    EVENTS,
    PERSONS,
    SESSION_STARTS,
    VISITORS,
    EventStoreKit,
    Store,
    measure_value_or_row,
)

_SPAN = whole_utc_days("2026-03-01", "2026-03-31")
_MEASURES: tuple[Aggregation, ...] = (
    EVENTS,
    VISITORS,
    PERSONS,
    SESSION_STARTS,
    count_rows(Relation.SESSIONS),
    count_rows(Relation.CONVERSIONS),
    count_rows(Relation.PAYMENTS),
)
_NOT_IMPORTED = Predicate(property_label_column(IMPORT_PROPERTY), FilterOperator.IS_NOT_SET)


def _add_sent_and_imported(builder: EventBuilder, import_id: UUID) -> None:
    """Adds the events of two visitors that were sent, and of two that imports brought in, with a purchase each."""
    imported = {"event_data": {IMPORT_PROPERTY: str(import_id), "plan": "pro"}}
    others = {"event_data": {IMPORT_PROPERTY: str(UUID(int=7)), "note": {IMPORT_PROPERTY: str(import_id)}}}
    builder.add_event("page_view", at="2026-03-02", visitor="A1", session="s1")
    builder.add_event("purchase", at="2026-03-03", visitor="A1", strong_id="U1", session="s1", revenue=500)
    builder.add_event("page_view", at="2026-03-04", visitor="A2", session="s2")
    builder.add_event("page_view", at="2026-03-02", visitor="B1", session="t1", **imported)
    builder.add_event(
        "purchase", at="2026-03-03", visitor="B1", strong_id="U2", session="t1", revenue=700, **imported
    )
    builder.add_event("page_view", at="2026-03-05", visitor="B2", session="t2", **others)


class ImportedEvents(EventStoreKit):
    """Tests of `ImportedEventStore`, and of the filter by import."""

    async def test_filter_leaves_imports_out_of_every_relation(
        self, store: Store, builder: EventBuilder, oracle: Store
    ) -> None:
        """With the filter the numbers are those of a store without the imported events."""
        _add_sent_and_imported(builder, UUID(int=5))
        await store.append(builder.events)
        await oracle.append(builder.events[:3])
        left_out = builder.query_scope(_SPAN, filters=(_NOT_IMPORTED,))
        assert await measure_value_or_row(store, left_out, *_MEASURES) == await measure_value_or_row(
            oracle, builder.query_scope(_SPAN), *_MEASURES
        )

    async def test_removed_import_is_forgotten_and_others_stay(
        self, store: Store, builder: EventBuilder, oracle: Store
    ) -> None:
        """Removal deletes the events of one import of one workspace; again it deletes nothing."""
        other = EventBuilder()
        for target in (builder, other):
            _add_sent_and_imported(target, UUID(int=5))
            await store.append(target.events)
        assert await store.delete_imported_events(builder.workspace_id, UUID(int=5)) == 2
        assert await store.delete_imported_events(builder.workspace_id, UUID(int=5)) == 0
        await oracle.append([*builder.events[:3], builder.events[5]])
        scope = builder.query_scope(_SPAN)
        assert await measure_value_or_row(store, scope, *_MEASURES) == await measure_value_or_row(
            oracle, scope, *_MEASURES
        )
        assert await store.find_person_of_any_id(builder.workspace_id, "U2") is None
        assert await measure_value_or_row(store, other.query_scope(_SPAN), EVENTS) == 6

    async def test_events_are_found_by_id_whenever_they_were_received(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """Each stored event with one of the ids is found with number, time and source; other workspaces have none."""
        builder.add_event("page_view", at="2026-01-02", visitor="A1", event_id="e1")
        builder.add_event("page_view", at="2026-03-02", visitor="A1", event_id="e1", source="api")
        builder.add_event("page_view", at="2026-03-03", visitor="A1", event_id="e'2")
        builder.add_event("page_view", at="2026-03-03", visitor="A1", event_id="e3")
        await store.append(builder.events)
        found = await store.find_events_by_id(builder.workspace_id, {"e1", "e'2", "missing"})
        assert sorted(found, key=lambda key: key.seq) == [
            (e.event_id, e.seq, e.timestamp, e.source) for e in builder.events[:3]
        ]
        assert list(await store.find_events_by_id(EventBuilder().workspace_id, {"e1"})) == []
        assert list(await store.find_events_by_id(builder.workspace_id, set())) == []
