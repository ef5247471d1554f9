"""Conformance tests of event pages, event names, custom properties and active visitors."""

from datetime import timedelta

from service_core.analytics.measures import Predicate
from service_core.analytics.ports import EventPageQuery
from service_core.kernel.time_ranges import TimeRange
from service_core.testing.event_builder import EventBuilder, utc_instant, whole_utc_days
from service_core.testing.event_store.kit import EventStoreKit, Store

SPAN = whole_utc_days("2026-03-02", "2026-03-03")


class EventReads(EventStoreKit):
    """Tests of the `EventReader` port."""

    async def test_event_pages_are_newest_first_without_gaps_by_offset_and_by_cursor(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """Pages by offset or after a known event list the range's events without bots, newest first, without gap or overlap."""
        for hour in (3, 1, 1, 2, 3, 0):
            builder.add_event("x", at=f"2026-03-02T{hour:02}:00", visitor="A1")
        builder.add_event("x", at="2026-03-02T01:00", visitor="A1", is_bot=True)
        builder.add_event("x", at="2026-03-04", visitor="A1")
        await store.append(builder.events)
        expected = sorted(builder.events[:6], key=lambda e: (e.timestamp, e.seq), reverse=True)
        scope = builder.query_scope(SPAN)
        listed = []
        for offset in (0, 4):
            page = await store.list_events(EventPageQuery(scope, 4, offset))
            assert (page.total, page.has_more) == (6, offset == 0)
            listed += page.events
        assert listed == expected
        after = (expected[2].timestamp, expected[2].seq)
        remaining = await store.list_events(EventPageQuery(scope, 10, count_total=False, after=after))
        assert (remaining.events, remaining.total, remaining.has_more) == (expected[3:], None, False)

    async def test_event_page_and_its_total_count_only_matching_events(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """An event page, its total and `has_more` count only events that match the filter."""
        for price in (5, "7", None, "text"):
            builder.add_event("x", at="2026-03-02", visitor="A1", event_data={"price": price})
        await store.append(builder.events)
        page = await store.list_events(
            EventPageQuery(builder.query_scope(SPAN, filters=(Predicate("event_name", value="x"),)), 2)
        )
        assert (len(page.events), page.total, page.has_more) == (2, 4, True)

    async def test_event_names_are_listed_most_frequent_first_with_first_and_last_time(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """Event names come most frequent first, then by name, with their first and last time in the range."""
        for name, at in (("b", "2026-03-02"), ("a", "2026-03-03"), ("c", "2026-03-02"), ("c", "2026-03-03")):
            builder.add_event(name, at=at, visitor="A1")
        await store.append(builder.events)
        answer = await store.list_event_names(builder.query_scope(SPAN))
        assert [(n.name, n.count) for n in answer] == [("c", 2), ("a", 1), ("b", 1)]
        assert (answer[0].first_seen_at, answer[0].last_seen_at) == (
            utc_instant("2026-03-02"),
            utc_instant("2026-03-03"),
        )

    async def test_custom_properties_have_count_sample_and_type_per_event_name(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """Custom properties have count, distinct values, sample and type per event name.

        The limit is per event name.
        """
        for data in (
            {
                "plan": "pro",
                "n": 1,
                "utm_source": "x",
                "url": "/",
                "session_x": 1,
                "tags": ["a"],
                "none": None,
            },
            {"plan": "free", "n": "1", "ok": True, "none": None},
            {"plan": "free", "n": 2, "deep": {"a": 1}},
        ):
            builder.add_event("x", at="2026-03-02", visitor="A1", event_data=data)
        builder.add_event("a", at="2026-03-02", visitor="A1", event_data={"plan": "pro"})
        await store.append(builder.events)
        answer = await store.list_custom_properties_by_event(builder.query_scope(SPAN), 10)
        rows = [(p.event_name, p.key, p.count, p.distinct_count, p.sample, p.type) for p in answer]
        assert rows == [
            ("a", "plan", 1, 1, "pro", "string"),
            ("x", "n", 3, 3, 2, "mixed"),
            ("x", "plan", 3, 2, "free", "string"),
            ("x", "none", 2, 0, None, "null"),
            ("x", "deep", 1, 1, {"a": 1}, "object"),
            ("x", "ok", 1, 1, True, "boolean"),
            ("x", "tags", 1, 1, ["a"], "array"),
        ]
        assert [(p.event_name, p.key) for p in await store.list_custom_properties_by_event(builder.query_scope(SPAN), 1)] == [
            ("a", "plan"), ("x", "n"),
        ]  # fmt: skip

    async def test_active_visitors_have_events_timed_and_received_since_the_given_time(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """Active visitors have events that happened and were received since then, newest first, at most the limit."""
        now = utc_instant("2026-03-02T12:00")
        for seconds, visitor, name, columns in (
            (240, "A1", "page_view", {}),
            (60, "A1", "purchase", {"revenue": 500}),
            (60, "A2", "page_view", {}),
            (20, "A4", "purchase", {"revenue": 900, "currency": "JPY"}),
            (30, "A3", "page_view", {}),
            (30, "late", "page_view", {"received_at": now - timedelta(minutes=9)}),
            (400, "gone", "page_view", {}),
        ):
            builder.add_event(name, at=now - timedelta(seconds=seconds), visitor=visitor, **columns)
        await store.append(builder.events)
        since = now - timedelta(minutes=5)
        scope = builder.query_scope(TimeRange(since, now))
        answer = await store.list_visitors_with_recently_received_events(scope, since, 10)
        rows = [(v.latest_event.visitor_id, v.pageviews, v.events, v.revenue) for v in answer]
        assert rows == [("A4", 0, 1, None), ("A3", 1, 1, 0), ("A1", 1, 2, 500), ("A2", 1, 1, 0)]
        assert answer[2].last_seen - answer[2].first_seen == timedelta(minutes=3)
        assert [
            v.latest_event.visitor_id
            for v in await store.list_visitors_with_recently_received_events(scope, since, 1)
        ] == ["A4"]
