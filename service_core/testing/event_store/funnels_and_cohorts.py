"""Conformance tests of funnels and cohorts."""

from dataclasses import replace
from datetime import timedelta
from typing import Any
from zoneinfo import ZoneInfo

from service_core.analytics.cohorts.ports import CohortReaderQuery
from service_core.analytics.funnels.ports import FunnelOrder, FunnelReaderQuery, FunnelResult
from service_core.analytics.measures import Predicate
from service_core.kernel.bucket_series import buckets_covering
from service_core.kernel.time_ranges import BucketUnit
from service_core.testing.event_builder import EventBuilder, campaign_columns, utc_instant, whole_utc_days
from service_core.testing.event_store.kit import EventStoreKit, Store

SPAN = whole_utc_days("2026-03-01", "2026-03-31")
STEPS = tuple(frozenset({name}) for name in "ABC")


def add_step_events(builder: EventBuilder, names_with_day: str, *, visitor: str = "A1") -> None:
    """Adds events from words of an event name and a day of March 2026: ``A1 B16`` is A on the 1st, B on the 16th."""
    for word in names_with_day.split():
        builder.add_event(word[0], at=f"2026-03-{int(word[1:]):02}", visitor=visitor)


def three_step_funnel_query(builder: EventBuilder, **overrides: Any) -> FunnelReaderQuery:
    """Returns a query of the funnel A, B, C within 14 days, asked on 2026-06-01, with fields overridden."""
    defaults: dict[str, Any] = {
        "steps": STEPS,
        "window": timedelta(days=14),
        "now": utc_instant("2026-06-01"),
    }
    return FunnelReaderQuery(builder.query_scope(SPAN), **defaults | overrides)


def units_per_step(funnel_result: FunnelResult) -> list[int]:
    """Returns the number of units that reached each step."""
    return [step.count for step in funnel_result.steps]


class FunnelsAndCohorts(EventStoreKit):
    """Tests of `read_funnel` and `read_cohorts`."""

    async def test_ordered_funnels_count_units_per_step_within_the_window(self, store: Store) -> None:
        """Golden cases of an ordered funnel: steps in order, repeated steps, retries, and events at one instant, within 14 days."""
        twice = (frozenset({"A"}), frozenset({"A"}))
        for events, steps, reached in (
            ("A1 B2 C3", STEPS, [1, 1, 1]),
            ("A1 A2 C3", STEPS, [1, 0, 0]),
            ("B1 A2 C3", STEPS, [1, 0, 0]),
            ("A1 B16 A17 B18 C19", STEPS, [1, 1, 1]),
            ("A1 A2", twice, [1, 1]),
            ("A1", twice, [1, 0]),
            ("A1 B1", STEPS[:2], [1, 1]),
            ("B1 A1", STEPS[:2], [1, 0]),
            ("A1 B15", STEPS[:2], [1, 1]),
            ("A1 B16", STEPS[:2], [1, 0]),
        ):
            builder = EventBuilder()
            add_step_events(builder, events)
            await store.append(builder.events)
            assert (
                units_per_step(await store.read_funnel(three_step_funnel_query(builder, steps=steps)))
                == reached
            ), events

    async def test_funnel_step_times_are_those_of_the_deepest_attempt(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """Median and mean seconds between steps are measured on each unit's deepest attempt."""
        add_step_events(builder, "A1 B16 A17 B18 C20")
        add_step_events(builder, "A1 B3", visitor="A2")
        await store.append(builder.events)
        table = await store.read_funnel(three_step_funnel_query(builder))
        day = 86_400.0
        assert [(s.count, s.median_seconds, s.mean_seconds) for s in table.steps] == [
            (2, None, None), (2, 1.5 * day, 1.5 * day), (1, 2 * day, 2 * day),
        ]  # fmt: skip

    async def test_strict_funnel_allows_no_other_event_between_steps(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """In a strict funnel any other event between two steps ends the attempt."""
        add_step_events(builder, "A1 B2 C3")
        add_step_events(builder, "A1 X2 B3 C4", visitor="A2")
        add_step_events(builder, "A1 B2 X3 C4", visitor="A3")
        await store.append(builder.events)
        table = await store.read_funnel(three_step_funnel_query(builder, order=FunnelOrder.STRICT))
        assert units_per_step(table) == [3, 2, 1]

    async def test_any_order_funnel_counts_distinct_steps_within_one_window(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """With any order a unit's depth is the number of distinct steps within one window."""
        add_step_events(builder, "C1 B2 A3")
        add_step_events(builder, "B1 B2 C3", visitor="A2")
        add_step_events(builder, "B1 A16 C17", visitor="A3")
        await store.append(builder.events)
        assert units_per_step(
            await store.read_funnel(three_step_funnel_query(builder, order=FunnelOrder.ANY))
        ) == [
            3,
            3,
            1,
        ]

    async def test_excluded_event_removes_a_unit_unless_another_attempt_is_free_of_it(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """An excluded event after step one and before the last step removes the unit, unless another attempt has none."""
        for visitor, days in (
            ("removed", "A1 X2 B3"),
            ("retried", "A1 X2 A3 B4"),
            ("before", "X1 A2 B3"),
            ("after", "A1 B2 X3"),
            ("entrant", "A1 X2"),
        ):
            add_step_events(builder, days, visitor=visitor)
        for visitor, days in (("late", "C1 D2 X3 E4"), ("in_time", "C1 D2 E3 X4"), ("one_step", "C1 X2")):
            add_step_events(builder, days, visitor=visitor)
        await store.append(builder.events)
        excluding = three_step_funnel_query(builder, steps=STEPS[:2], exclude=frozenset({"X"}))
        assert units_per_step(await store.read_funnel(excluding)) == [4, 3]
        steps = tuple(frozenset({name}) for name in "CDE")
        assert units_per_step(await store.read_funnel(replace(excluding, steps=steps))) == [2, 1, 1]

    async def test_later_funnel_steps_count_after_the_range_until_now(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """Steps after the first count when they happen after the range's end and before `now`."""
        add_step_events(builder, "A31")
        builder.add_event("B", at="2026-04-02", visitor="A1")
        builder.add_event("C", at="2026-04-05", visitor="A1")
        await store.append(builder.events)
        table = await store.read_funnel(three_step_funnel_query(builder, now=utc_instant("2026-04-05")))
        assert (units_per_step(table), table.open) == ([1, 1, 0], 1)
        table = await store.read_funnel(three_step_funnel_query(builder, now=utc_instant("2026-04-06")))
        assert (units_per_step(table), table.open) == ([1, 1, 1], 0)

    async def test_open_counts_incomplete_entrants_whose_window_has_not_passed(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """`open` counts units that entered, did not finish, and whose window includes `now`."""
        add_step_events(builder, "A1")
        add_step_events(builder, "A10", visitor="A2")
        add_step_events(builder, "A1 A10", visitor="A3")
        add_step_events(builder, "A10 B11 C12", visitor="A4")
        await store.append(builder.events)
        table = await store.read_funnel(three_step_funnel_query(builder, now=utc_instant("2026-03-20")))
        assert (units_per_step(table), table.open) == ([4, 1, 1], 2)
        last = builder.events[1].timestamp + timedelta(days=14)
        for order in FunnelOrder:
            for now, still_open in ((last, 2), (last + timedelta.resolution, 0)):
                table = await store.read_funnel(three_step_funnel_query(builder, now=now, order=order))
                assert (units_per_step(table), table.open) == ([4, 1, 1], still_open), order

    async def test_funnel_units_are_persons_or_with_by_session_sessions(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """A funnel counts persons; with `by_session` it counts sessions of one visitor."""
        builder.add_event("A", at="2026-03-02", visitor="A1", session="s1", strong_id="U1")
        builder.add_event("A", at="2026-03-03", visitor="A1", session="s2")
        builder.add_event("B", at="2026-03-04", visitor="A2", session="s2", strong_id="U1")
        builder.add_event("B", at="2026-03-04", visitor="A1", session="s2")
        await store.append(builder.events)
        two = three_step_funnel_query(builder, steps=STEPS[:2])
        assert units_per_step(await store.read_funnel(two)) == [1, 1]
        assert units_per_step(
            await store.read_funnel(three_step_funnel_query(builder, steps=STEPS[:2], by_session=True))
        ) == [2, 1]

    async def test_funnel_filter_applies_to_the_first_step_only(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """A filter of the scope applies to the event of step one only."""
        builder.add_event("A", at="2026-03-02", visitor="A1", country="DE")
        builder.add_event("B", at="2026-03-03", visitor="A1", country="FR")
        builder.add_event("A", at="2026-03-02", visitor="A2", country="FR")
        await store.append(builder.events)
        scope = builder.query_scope(SPAN, filters=(Predicate("country", value="DE"),))
        table = await store.read_funnel(replace(three_step_funnel_query(builder), scope=scope))
        assert units_per_step(table) == [1, 1, 0]

    async def test_funnel_without_events_has_zero_counts(self, store: Store, builder: EventBuilder) -> None:
        """In a workspace without events every step and `open` are 0."""
        table = await store.read_funnel(three_step_funnel_query(builder))
        assert (units_per_step(table), table.open) == ([0, 0, 0], 0)

    async def test_cohort_membership_revenue_and_return_follow_the_first_event_ever(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """Persons join the cohort of their first event ever.

        Cells have active, returned, net revenue and the mark of foreign money.
        """
        weeks = buckets_covering(whole_utc_days("2026-03-02", "2026-03-29"), BucketUnit.WEEK, ZoneInfo("UTC"))
        google = campaign_columns("google", "cpc")
        for visitor, days in (("old", "-1 3"), ("A1", "3 4 10 24"), ("A2", "3 24"), ("A3", "10 11")):
            for day in map(int, days.split()):
                at = f"2026-03-{day:02}" if day > 0 else "2026-02-20"
                builder.add_event("page_view", at=at, visitor=visitor, session=at, **google)
        builder.add_event("purchase", at="2026-03-10", visitor="A1", order_id="O", revenue=900)
        builder.add_event("refund", at="2026-03-24", visitor="A1", order_id="O", revenue=-400)
        builder.add_event("purchase", at="2026-03-24", visitor="A2", revenue=50, currency="EUR")
        await store.append(builder.events)
        scope = builder.query_scope(whole_utc_days("2026-03-02", "2026-03-15"))
        acquired = buckets_covering(scope.span, BucketUnit.WEEK, ZoneInfo("UTC"))
        table = await store.read_cohorts(CohortReaderQuery(scope, acquired, weeks))
        assert dict(table.sizes) == {0: 2, 1: 1}
        cells = {
            (c.cohort, c.bucket): (c.active, c.returned, c.revenue, c.foreign_money) for c in table.cells
        }
        active_cells = {key: value for key, value in cells.items() if value[0]}
        assert active_cells == {
            (0, 0): (2, 2, 0, False),
            (0, 1): (1, 2, 900, False),
            (0, 3): (2, 2, -400, True),
            (1, 1): (1, 1, 0, False),
        }
        buying = CohortReaderQuery(
            scope, acquired, weeks, by_conversion=True, event_names=frozenset({"purchase"})
        )
        table = await store.read_cohorts(buying)
        assert dict(table.sizes) == {1: 1}
        assert [(c.bucket, c.active) for c in table.cells if c.active] == [(1, 1)]

    async def test_session_over_several_weeks_is_active_only_in_weeks_with_events(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """A person with one session over weeks is active only in the weeks with an event."""
        weeks = buckets_covering(whole_utc_days("2026-03-02", "2026-03-29"), BucketUnit.WEEK, ZoneInfo("UTC"))
        for visitor, days in (("A1", "2 10 24"), ("A2", "2 24"), ("A3", "2 10 17"), ("A4", "2 31")):
            for day in days.split():
                builder.add_event("page_view", at=f"2026-03-{day:0>2}", visitor=visitor, session=visitor)
        builder.add_event("page_view", at="2026-02-20", visitor="old", session="old")
        builder.add_event("page_view", at="2026-03-11", visitor="old", session="old")
        await store.append(builder.events)
        table = await store.read_cohorts(
            CohortReaderQuery(builder.query_scope(whole_utc_days("2026-03-02", "2026-03-29")), weeks, weeks)
        )
        assert [c.active for c in table.cells] == [4, 2, 1, 2]
        ever = builder.query_scope(whole_utc_days("2026-02-16", "2026-03-29"))
        since = buckets_covering(ever.span, BucketUnit.WEEK, ZoneInfo("UTC"))
        first = await store.read_cohorts(CohortReaderQuery(ever, since, since))
        assert [(c.bucket, c.active) for c in first.cells if c.cohort == 0 and c.active] == [(0, 1), (3, 1)]

    async def test_persons_who_share_one_session_return_on_their_own_events(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """Persons who share a visitor and a session are counted each in the weeks of their own events."""
        weeks = buckets_covering(whole_utc_days("2026-03-02", "2026-03-29"), BucketUnit.WEEK, ZoneInfo("UTC"))
        for day, user_id in (("03", "ann"), ("10", "ben"), ("17", None), ("18", "ann"), ("24", None)):
            name = "$identify" if user_id else "page_view"
            builder.add_event(name, at=f"2026-03-{day}", visitor="A1", session="S", strong_id=user_id)
        await store.append(builder.events)
        table = await store.read_cohorts(
            CohortReaderQuery(builder.query_scope(whole_utc_days("2026-03-02", "2026-03-29")), weeks, weeks)
        )
        active_cells = {(c.cohort, c.bucket) for c in table.cells if c.active}
        assert (dict(table.sizes), active_cells) == ({0: 1, 1: 1}, {(0, 0), (0, 2), (0, 3), (1, 1), (1, 2)})

    async def test_cohort_filters_apply_to_the_first_touch(self, store: Store, builder: EventBuilder) -> None:
        """`first_touch_filters` keep only the persons whose first touch matches."""
        weeks = buckets_covering(whole_utc_days("2026-03-02", "2026-03-15"), BucketUnit.WEEK, ZoneInfo("UTC"))
        for visitor, source in (("A1", "google"), ("A2", "bing")):
            for day, name in ((2, source), (3, "google")):
                at = f"2026-03-0{day}"
                builder.add_event(
                    "page_view", at=at, visitor=visitor, session=at, **campaign_columns(name, "cpc")
                )
        builder.add_event("page_view", at="2026-03-02", visitor="A3")
        await store.append(builder.events)
        for column, value, size in (
            ("utm_source", "google", 1),
            ("channel", "direct", 1),
            ("country", "DE", 0),
        ):
            first = (Predicate(column, value=value),)
            scope = builder.query_scope(whole_utc_days("2026-03-02", "2026-03-15"))
            table = await store.read_cohorts(
                CohortReaderQuery(scope, weeks, weeks, first_touch_filters=first)
            )
            assert sum(table.sizes.values()) == size, column
