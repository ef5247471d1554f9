"""Funnels and cohorts."""

from dataclasses import replace
from datetime import timedelta
from typing import Any
from zoneinfo import ZoneInfo

from service_core.analytics.cohorts.ports import CohortReaderQuery
from service_core.analytics.funnels.ports import FunnelOrder, FunnelReaderQuery, FunnelResult
from service_core.analytics.measures import Predicate
from service_core.kernel.bucket_series import buckets_covering
from service_core.kernel.time_ranges import BucketUnit
from service_core.testing.event_builder import EventBuilder, campaign, utc_instant, whole_utc_days
from service_core.testing.event_store.kit import Kit, Store

SPAN = whole_utc_days("2026-03-01", "2026-03-31")
STEPS = tuple(frozenset({name}) for name in "ABC")


def add_steps(story: EventBuilder, steps: str, *, visitor: str = "A1") -> None:
    """``A1 B16``: event A on the 1st, event B on the 16th."""
    for word in steps.split():
        story.add_event(word[0], at=f"2026-03-{int(word[1:]):02}", visitor=visitor)


def funnel_plan(story: EventBuilder, **fields: Any) -> FunnelReaderQuery:
    """A funnel A, B, C within 14 days."""
    plain: dict[str, Any] = {"steps": STEPS, "window": timedelta(days=14), "now": utc_instant("2026-06-01")}
    return FunnelReaderQuery(story.scan(SPAN), **plain | fields)


def units_per_step(table: FunnelResult) -> list[int]:
    """Units per step."""
    return [step.count for step in table.steps]


class FunnelsAndCohorts(Kit):
    """Semantics 15 and 16."""

    async def test_the_golden_walks(self, store: Store) -> None:
        twice = (frozenset({"A"}), frozenset({"A"}))
        for said, steps, reached in (
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
            story = EventBuilder()
            add_steps(story, said)
            await store.append(story.events)
            assert units_per_step(await store.read_funnel(funnel_plan(story, steps=steps))) == reached, said

    async def test_times_are_those_of_the_deepest_attempt(self, store: Store, story: EventBuilder) -> None:
        add_steps(story, "A1 B16 A17 B18 C20")
        add_steps(story, "A1 B3", visitor="A2")
        await store.append(story.events)
        table = await store.read_funnel(funnel_plan(story))
        day = 86_400.0
        assert [(s.count, s.median_seconds, s.mean_seconds) for s in table.steps] == [
            (2, None, None), (2, 1.5 * day, 1.5 * day), (1, 2 * day, 2 * day),
        ]  # fmt: skip

    async def test_strict_lets_nothing_stand_between(self, store: Store, story: EventBuilder) -> None:
        add_steps(story, "A1 B2 C3")
        add_steps(story, "A1 X2 B3 C4", visitor="A2")
        add_steps(story, "A1 B2 X3 C4", visitor="A3")
        await store.append(story.events)
        table = await store.read_funnel(funnel_plan(story, order=FunnelOrder.STRICT))
        assert units_per_step(table) == [3, 2, 1]

    async def test_any_counts_different_steps_in_one_window(self, store: Store, story: EventBuilder) -> None:
        add_steps(story, "C1 B2 A3")
        add_steps(story, "B1 B2 C3", visitor="A2")
        add_steps(story, "B1 A16 C17", visitor="A3")
        await store.append(story.events)
        assert units_per_step(await store.read_funnel(funnel_plan(story, order=FunnelOrder.ANY))) == [3, 3, 1]

    async def test_an_excluded_event_removes_the_unit_when_no_attempt_is_free_of_it(
        self, store: Store, story: EventBuilder
    ) -> None:
        for visitor, said in (
            ("removed", "A1 X2 B3"),
            ("retried", "A1 X2 A3 B4"),
            ("before", "X1 A2 B3"),
            ("after", "A1 B2 X3"),
            ("entrant", "A1 X2"),
        ):
            add_steps(story, said, visitor=visitor)
        for visitor, said in (("late", "C1 D2 X3 E4"), ("in_time", "C1 D2 E3 X4"), ("one_step", "C1 X2")):
            add_steps(story, said, visitor=visitor)
        await store.append(story.events)
        excluding = funnel_plan(story, steps=STEPS[:2], exclude=frozenset({"X"}))
        assert units_per_step(await store.read_funnel(excluding)) == [4, 3]
        steps = tuple(frozenset({name}) for name in "CDE")
        assert units_per_step(await store.read_funnel(replace(excluding, steps=steps))) == [2, 1, 1]

    async def test_later_steps_may_follow_the_span_until_now(self, store: Store, story: EventBuilder) -> None:
        add_steps(story, "A31")
        story.add_event("B", at="2026-04-02", visitor="A1")
        story.add_event("C", at="2026-04-05", visitor="A1")
        await store.append(story.events)
        table = await store.read_funnel(funnel_plan(story, now=utc_instant("2026-04-05")))
        assert (units_per_step(table), table.open) == ([1, 1, 0], 1)
        table = await store.read_funnel(funnel_plan(story, now=utc_instant("2026-04-06")))
        assert (units_per_step(table), table.open) == ([1, 1, 1], 0)

    async def test_open_are_entrants_whose_window_has_not_passed(
        self, store: Store, story: EventBuilder
    ) -> None:
        add_steps(story, "A1")
        add_steps(story, "A10", visitor="A2")
        add_steps(story, "A1 A10", visitor="A3")
        add_steps(story, "A10 B11 C12", visitor="A4")
        await store.append(story.events)
        table = await store.read_funnel(funnel_plan(story, now=utc_instant("2026-03-20")))
        assert (units_per_step(table), table.open) == ([4, 1, 1], 2)
        last = story.events[1].timestamp + timedelta(days=14)
        for order in FunnelOrder:
            for now, still_open in ((last, 2), (last + timedelta.resolution, 0)):
                table = await store.read_funnel(funnel_plan(story, now=now, order=order))
                assert (units_per_step(table), table.open) == ([4, 1, 1], still_open), order

    async def test_a_unit_is_a_person_or_a_session(self, store: Store, story: EventBuilder) -> None:
        story.add_event("A", at="2026-03-02", visitor="A1", session="s1", strong_id="U1")
        story.add_event("A", at="2026-03-03", visitor="A1", session="s2")
        story.add_event("B", at="2026-03-04", visitor="A2", session="s2", strong_id="U1")
        story.add_event("B", at="2026-03-04", visitor="A1", session="s2")
        await store.append(story.events)
        two = funnel_plan(story, steps=STEPS[:2])
        assert units_per_step(await store.read_funnel(two)) == [1, 1]
        assert units_per_step(
            await store.read_funnel(funnel_plan(story, steps=STEPS[:2], by_session=True))
        ) == [2, 1]

    async def test_a_filter_looks_at_the_event_of_step_one(self, store: Store, story: EventBuilder) -> None:
        story.add_event("A", at="2026-03-02", visitor="A1", country="DE")
        story.add_event("B", at="2026-03-03", visitor="A1", country="FR")
        story.add_event("A", at="2026-03-02", visitor="A2", country="FR")
        await store.append(story.events)
        scan = story.scan(SPAN, filters=(Predicate("country", value="DE"),))
        table = await store.read_funnel(replace(funnel_plan(story), scope=scan))
        assert units_per_step(table) == [1, 1, 0]

    async def test_nobody_enters_an_empty_funnel(self, store: Store, story: EventBuilder) -> None:
        table = await store.read_funnel(funnel_plan(story))
        assert (units_per_step(table), table.open) == ([0, 0, 0], 0)

    async def test_cohorts_are_made_by_the_first_event_ever(self, store: Store, story: EventBuilder) -> None:
        weeks = buckets_covering(whole_utc_days("2026-03-02", "2026-03-29"), BucketUnit.WEEK, ZoneInfo("UTC"))
        came = campaign("google", "cpc")
        for visitor, said in (("old", "-1 3"), ("A1", "3 4 10 24"), ("A2", "3 24"), ("A3", "10 11")):
            for day in map(int, said.split()):
                at = f"2026-03-{day:02}" if day > 0 else "2026-02-20"
                story.add_event("page_view", at=at, visitor=visitor, session=at, **came)
        story.add_event("purchase", at="2026-03-10", visitor="A1", order_id="O", revenue=900)
        story.add_event("refund", at="2026-03-24", visitor="A1", order_id="O", revenue=-400)
        story.add_event("purchase", at="2026-03-24", visitor="A2", revenue=50, currency="EUR")
        await store.append(story.events)
        scan = story.scan(whole_utc_days("2026-03-02", "2026-03-15"))
        acquired = buckets_covering(scan.span, BucketUnit.WEEK, ZoneInfo("UTC"))
        table = await store.read_cohorts(CohortReaderQuery(scan, acquired, weeks))
        assert dict(table.sizes) == {0: 2, 1: 1}
        cells = {
            (c.cohort, c.bucket): (c.active, c.returned, c.revenue, c.foreign_money) for c in table.cells
        }
        shown = {key: value for key, value in cells.items() if value[0]}
        assert shown == {
            (0, 0): (2, 2, 0, False),
            (0, 1): (1, 2, 900, False),
            (0, 3): (2, 2, -400, True),
            (1, 1): (1, 1, 0, False),
        }
        buying = CohortReaderQuery(
            scan, acquired, weeks, by_conversion=True, event_names=frozenset({"purchase"})
        )
        table = await store.read_cohorts(buying)
        assert dict(table.sizes) == {1: 1}
        assert [(c.bucket, c.active) for c in table.cells if c.active] == [(1, 1)]

    async def test_who_stays_for_weeks_is_there_in_those_with_an_event(
        self, store: Store, story: EventBuilder
    ) -> None:
        weeks = buckets_covering(whole_utc_days("2026-03-02", "2026-03-29"), BucketUnit.WEEK, ZoneInfo("UTC"))
        for visitor, said in (("A1", "2 10 24"), ("A2", "2 24"), ("A3", "2 10 17"), ("A4", "2 31")):
            for day in said.split():
                story.add_event("page_view", at=f"2026-03-{day:0>2}", visitor=visitor, session=visitor)
        story.add_event("page_view", at="2026-02-20", visitor="old", session="old")
        story.add_event("page_view", at="2026-03-11", visitor="old", session="old")
        await store.append(story.events)
        table = await store.read_cohorts(
            CohortReaderQuery(story.scan(whole_utc_days("2026-03-02", "2026-03-29")), weeks, weeks)
        )
        assert [c.active for c in table.cells] == [4, 2, 1, 2]
        ever = story.scan(whole_utc_days("2026-02-16", "2026-03-29"))
        since = buckets_covering(ever.span, BucketUnit.WEEK, ZoneInfo("UTC"))
        first = await store.read_cohorts(CohortReaderQuery(ever, since, since))
        assert [(c.bucket, c.active) for c in first.cells if c.cohort == 0 and c.active] == [(0, 1), (3, 1)]

    async def test_what_several_did_on_one_device_makes_each_return(
        self, store: Store, story: EventBuilder
    ) -> None:
        weeks = buckets_covering(whole_utc_days("2026-03-02", "2026-03-29"), BucketUnit.WEEK, ZoneInfo("UTC"))
        for day, who in (("03", "ann"), ("10", "ben"), ("17", None), ("18", "ann"), ("24", None)):
            name = "$identify" if who else "page_view"
            story.add_event(name, at=f"2026-03-{day}", visitor="A1", session="S", strong_id=who)
        await store.append(story.events)
        table = await store.read_cohorts(
            CohortReaderQuery(story.scan(whole_utc_days("2026-03-02", "2026-03-29")), weeks, weeks)
        )
        shown = {(c.cohort, c.bucket) for c in table.cells if c.active}
        assert (dict(table.sizes), shown) == ({0: 1, 1: 1}, {(0, 0), (0, 2), (0, 3), (1, 1), (1, 2)})

    async def test_a_cohort_may_be_those_who_first_came_from_somewhere(
        self, store: Store, story: EventBuilder
    ) -> None:
        weeks = buckets_covering(whole_utc_days("2026-03-02", "2026-03-15"), BucketUnit.WEEK, ZoneInfo("UTC"))
        for visitor, source in (("A1", "google"), ("A2", "bing")):
            for day, name in ((2, source), (3, "google")):
                at = f"2026-03-0{day}"
                story.add_event("page_view", at=at, visitor=visitor, session=at, **campaign(name, "cpc"))
        story.add_event("page_view", at="2026-03-02", visitor="A3")
        await store.append(story.events)
        for column, value, size in (
            ("utm_source", "google", 1),
            ("channel", "direct", 1),
            ("country", "DE", 0),
        ):
            first = (Predicate(column, value=value),)
            scan = story.scan(whole_utc_days("2026-03-02", "2026-03-15"))
            table = await store.read_cohorts(CohortReaderQuery(scan, weeks, weeks, first_touch_filters=first))
            assert sum(table.sizes.values()) == size, column
