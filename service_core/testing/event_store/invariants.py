"""What holds in every world on every store, without an oracle."""

import dataclasses
from collections.abc import Sequence
from datetime import timedelta
from random import Random
from typing import Any
from zoneinfo import ZoneInfo

from hypothesis import given

from service_core.analytics.cohorts.ports import CohortReaderQuery
from service_core.analytics.funnels.ports import FunnelReaderQuery
from service_core.analytics.measures import (
    Aggregation,
    Column,
    FilterOperator,
    Predicate,
    Relation,
    count_rows,
    entry_column,
    sum_column,
    touch_column,
)
from service_core.analytics.people.ports import PeoplePageQuery
from service_core.analytics.ports import (
    AggregateQuery,
    ColumnSort,
    CreditRule,
    EventPageQuery,
    TouchPathQuery,
    Weighting,
)
from service_core.ingestion.event_names import PAGE_VIEWS
from service_core.kernel.bucket_series import buckets_covering
from service_core.kernel.time_ranges import BucketUnit
from service_core.testing.event_builder import EventBuilder, campaign, whole_utc_days
from service_core.testing.event_store.differential import load_dataset, on_random_datasets
from service_core.testing.event_store.kit import (
    CONVERTED,
    CREDITED,
    CREDITED_MONEY,
    CREDITED_ORDERS,
    CREDITED_REFUNDS,
    EVENTS,
    PERSONS,
    SESSION_STARTS,
    SESSIONS,
    VISITORS,
    Kit,
    Store,
    measure,
)
from service_core.testing.random_datasets import RandomDataset, random_datasets
from service_core.testing.random_queries import random_funnel, random_scan

_VIEWED = Predicate("event_name", FilterOperator.IN, tuple(sorted(PAGE_VIEWS)))
_NOT_VIEWED = Predicate("event_name", FilterOperator.NOT_IN, tuple(sorted(PAGE_VIEWS)))
REVENUE = sum_column("amount", Relation.PAYMENTS, Predicate("kind", value="charge"))
ORDERS = count_rows(Relation.PAYMENTS, Predicate("kind", value="charge"))
REFUNDS = sum_column("amount", Relation.PAYMENTS, Predicate("kind", value="refund"))
ADDITIVE = (EVENTS, SESSION_STARTS, CONVERTED, REVENUE, REFUNDS, sum_column("engaged", Relation.SESSIONS))
DAY = ({str(Relation.EVENTS): Column("country")},)


class Invariants(Kit):
    """Semantics 23, those that a store alone can break."""

    @given(drawn=random_datasets())
    @on_random_datasets
    async def test_visitors_sessions_and_events_never_fall(
        self, store: Store, drawn: tuple[RandomDataset, Random]
    ) -> None:
        world, random = drawn
        await load_dataset(world, random, store)
        looked_at = random_scan(random, world)
        leaves = (
            VISITORS,
            SESSIONS,
            EVENTS,
            EVENTS.with_conditions(_VIEWED),
            EVENTS.with_conditions(_NOT_VIEWED),
        )
        for buckets in (None, buckets_covering(looked_at.span, BucketUnit.DAY, ZoneInfo(world.timezone))):
            grid = await store.aggregate(AggregateQuery(looked_at, leaves, buckets=buckets))
            for row in grid.rows:
                visitors, sessions, events, views, others = row[-len(leaves) :]
                assert visitors <= sessions <= events == views + others

    @given(drawn=random_datasets())
    @on_random_datasets
    async def test_parts_of_what_is_additive_add_up_in_every_zone(
        self, store: Store, drawn: tuple[RandomDataset, Random]
    ) -> None:
        world, random = drawn
        await load_dataset(world, random, store)
        looked_at = random_scan(random, world)
        whole = await measure(store, looked_at, *ADDITIVE)
        for zone in (world.timezone, "UTC", "Asia/Kathmandu"):
            for unit in (BucketUnit.HOUR, BucketUnit.DAY, BucketUnit.WEEK):
                buckets = buckets_covering(looked_at.span, unit, ZoneInfo(zone))
                grid = await store.aggregate(AggregateQuery(looked_at, ADDITIVE, buckets=buckets))
                assert grid.totals == whole, (zone, unit)
                assert tuple(map(sum, zip(*(row[1:] for row in grid.rows), strict=True))) in {whole, ()}

    @given(drawn=random_datasets())
    @on_random_datasets
    async def test_credits_add_up_to_conversions_and_money_exactly(
        self, store: Store, drawn: tuple[RandomDataset, Random]
    ) -> None:
        world, random = drawn
        await load_dataset(world, random, store)
        looked_at = random_scan(random, world)
        counted, orders, *money = await measure(store, looked_at, CONVERTED, ORDERS, REVENUE, REFUNDS)
        credited = (CREDITED, CREDITED_ORDERS, CREDITED_MONEY, CREDITED_REFUNDS)
        for weighting in Weighting:
            rule = CreditRule(weighting, timedelta(days=5), ignore_direct=random.random() < 0.5)
            shared = await measure(store, looked_at, *credited, credit=rule)
            assert shared == (counted * 1_000_000, orders * 1_000_000, *money), weighting

    @given(drawn=random_datasets())
    @on_random_datasets
    async def test_funnel_counts_never_rise(self, store: Store, drawn: tuple[RandomDataset, Random]) -> None:
        world, random = drawn
        await load_dataset(world, random, store)
        for _ in range(4):
            plan: FunnelReaderQuery = random_funnel(random, world)
            table = await store.read_funnel(plan)
            reached = [step.count for step in table.steps]
            assert reached == sorted(reached, reverse=True)
            assert 0 <= table.open <= reached[0] - reached[-1]

    @given(drawn=random_datasets())
    @on_random_datasets
    async def test_cohorts_hold_every_new_person_once(
        self, store: Store, drawn: tuple[RandomDataset, Random]
    ) -> None:
        world, random = drawn
        await load_dataset(world, random, store)
        zone = ZoneInfo(world.timezone)
        looked_at = world.story.scan(world.span, zone=world.timezone)
        acquired = buckets_covering(world.span, random.choice((BucketUnit.DAY, BucketUnit.WEEK)), zone)
        table = await store.read_cohorts(CohortReaderQuery(looked_at, acquired, acquired))
        persons, _ = await store.list_people(PeoplePageQuery(looked_at, 1000, 0, "first_seen"))
        assert sum(table.sizes.values()) == sum(world.span.start <= p.first_seen for p in persons)
        cells = {(cell.cohort, cell.bucket): cell for cell in table.cells}
        for cohort, size in table.sizes.items():
            row = [cells[key] for key in sorted(cells) if key[0] == cohort]
            assert row[0].active == row[0].returned == size
            returned = [cell.returned for cell in row]
            assert returned == sorted(returned, reverse=True)

    @given(drawn=random_datasets())
    @on_random_datasets
    async def test_the_way_events_arrive_changes_no_answer(
        self, store: Store, drawn: tuple[RandomDataset, Random]
    ) -> None:
        world, random = drawn
        await load_dataset(world, random, store)
        before = await self.everything(store, world, world.story)
        await store.append(world.story.events)
        assert await self.everything(store, world, world.story) == before
        other, times = EventBuilder(), set()
        for event in random.sample(world.story.events, len(world.story.events)):
            seq = other.add_event(event.event_name, at=event.timestamp, visitor=event.visitor_id).seq
            moved = dataclasses.replace(event, workspace_id=other.workspace_id, seq=seq)
            other.events[-1] = moved
            times.add(moved.timestamp)
        await store.append(other.events)
        if len(times) == len(other.events):
            assert await self.everything(store, world, other) == before

    async def everything(self, store: Store, world: RandomDataset, story: EventBuilder) -> Sequence[Any]:
        """A little of every kind of answer."""
        looked_at = story.scan(world.span, zone=world.timezone)
        credit = CreditRule(Weighting.LINEAR, timedelta(days=5))
        grid = await store.aggregate(
            AggregateQuery(
                looked_at,
                (*ADDITIVE, VISITORS, PERSONS, CREDITED, CREDITED_MONEY),
                (
                    {
                        str(Relation.EVENTS): entry_column("channel"),
                        str(Relation.CREDITS): touch_column("channel"),
                    },
                ),
                credit=credit,
            )
        )
        acquired = buckets_covering(world.span, BucketUnit.DAY, ZoneInfo(world.timezone))
        cohorts = await store.read_cohorts(CohortReaderQuery(looked_at, acquired, acquired))
        steps = (PAGE_VIEWS, frozenset({"click", "purchase"}))
        walked = await store.read_funnel(
            FunnelReaderQuery(looked_at, steps, timedelta(days=3), world.span.end)
        )
        paths = await store.list_touch_paths(
            TouchPathQuery(looked_at, timedelta(days=5), (touch_column("channel"),))
        )
        learned = {path.keys: (path.converted, path.unconverted) for path in paths}
        names = await store.list_event_names(looked_at)
        return grid.rows, names, dict(cohorts.sizes), cohorts.cells, walked, learned

    @given(drawn=random_datasets())
    @on_random_datasets
    async def test_a_limit_changes_no_row_that_remains(
        self, store: Store, drawn: tuple[RandomDataset, Random]
    ) -> None:
        world, random = drawn
        await load_dataset(world, random, store)
        plan = AggregateQuery(random_scan(random, world), (VISITORS, EVENTS), DAY, order=(ColumnSort("m0"),))
        whole = await store.aggregate(plan)
        for limit in (1, 2):
            part = await store.aggregate(dataclasses.replace(plan, limit=limit, offset=1))
            assert (part.rows, part.total_rows, part.totals) == (
                whole.rows[1 : 1 + limit], whole.total_rows, whole.totals,
            )  # fmt: skip

    @given(drawn=random_datasets())
    @on_random_datasets
    async def test_pages_laid_end_to_end_are_one_large_page(
        self, store: Store, drawn: tuple[RandomDataset, Random]
    ) -> None:
        world, random = drawn
        await load_dataset(world, random, store)
        looked_at = random_scan(random, world)
        whole = await store.list_events(EventPageQuery(looked_at, 1000))
        walked = []
        for offset in range(0, len(whole.events), 7):
            walked += (await store.list_events(EventPageQuery(looked_at, 7, offset))).events
        assert walked == whole.events
        assert whole.total == len(walked)

    @given(drawn=random_datasets())
    @on_random_datasets
    async def test_a_measure_alone_equals_itself_in_company(
        self, store: Store, drawn: tuple[RandomDataset, Random]
    ) -> None:
        world, random = drawn
        await load_dataset(world, random, store)
        looked_at = random_scan(random, world)
        leaves: tuple[Aggregation, ...] = (VISITORS, SESSIONS, PERSONS, *ADDITIVE)
        together = await measure(store, looked_at, *leaves)
        assert together == tuple([await measure(store, looked_at, leaf) for leaf in leaves])

    async def test_a_full_refund_nets_to_nothing(self, store: Store, story: EventBuilder) -> None:
        story.add_event("page_view", at="2026-03-02", visitor="A1", **campaign("google", "cpc"))
        story.add_event("purchase", at="2026-03-03", visitor="A1", order_id="O1", revenue=33333)
        story.add_event("refund", at="2026-03-04", visitor="A1", order_id="O1", revenue=-33333)
        await store.append(story.events)
        looked_at = story.scan(whole_utc_days("2026-03-01", "2026-03-31"))
        revenue, refunds = await measure(store, looked_at, REVENUE, REFUNDS)
        assert revenue - refunds == 0

    async def test_a_misspelt_value_gives_no_rows(self, store: Store, story: EventBuilder) -> None:
        story.add_event("page_view", at="2026-03-02", visitor="A1", country="DE")
        await store.append(story.events)
        looked_at = story.scan(whole_utc_days("2026-03-01", "2026-03-31"))
        misspelt = count_rows(Relation.EVENTS, Predicate("country", value="de"))
        grid = await store.aggregate(AggregateQuery(looked_at, (misspelt,), DAY))
        assert (grid.rows, grid.total_rows, grid.totals) == ([], 0, (0,))
        assert await measure(store, looked_at, misspelt) == 0
