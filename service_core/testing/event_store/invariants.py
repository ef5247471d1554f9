"""Conformance tests of invariants that hold on every random dataset, without a reference store."""

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
from service_core.testing.event_builder import EventBuilder, campaign_columns, whole_utc_days
from service_core.testing.event_store.differential import append_dataset_in_random_batches, on_random_datasets
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
    EventStoreKit,
    Store,
    measure_value_or_row,
)
from service_core.testing.random_datasets import RandomDataset, random_datasets
from service_core.testing.random_queries import random_funnel_query, random_query_scope

_VIEWED = Predicate("event_name", FilterOperator.IN, tuple(sorted(PAGE_VIEWS)))
_NOT_VIEWED = Predicate("event_name", FilterOperator.NOT_IN, tuple(sorted(PAGE_VIEWS)))
REVENUE = sum_column("amount", Relation.PAYMENTS, Predicate("kind", value="charge"))
ORDERS = count_rows(Relation.PAYMENTS, Predicate("is_order", value=True))
REFUNDS = sum_column("amount", Relation.PAYMENTS, Predicate("kind", value="refund"))
ADDITIVE = (EVENTS, SESSION_STARTS, CONVERTED, REVENUE, REFUNDS, sum_column("engaged", Relation.SESSIONS))
BY_COUNTRY = ({str(Relation.EVENTS): Column("country")},)


class Invariants(EventStoreKit):
    """Tests of invariants that a store alone can break."""

    @given(drawn=random_datasets())
    @on_random_datasets
    async def test_visitors_never_exceed_sessions_and_sessions_never_exceed_events(
        self, store: Store, drawn: tuple[RandomDataset, Random]
    ) -> None:
        """In total and per day visitors <= sessions <= events, and page views plus other events are all events."""
        dataset, random = drawn
        await append_dataset_in_random_batches(dataset, random, store)
        scope = random_query_scope(random, dataset)
        aggregations = (
            VISITORS,
            SESSIONS,
            EVENTS,
            EVENTS.with_conditions(_VIEWED),
            EVENTS.with_conditions(_NOT_VIEWED),
        )
        for buckets in (None, buckets_covering(scope.span, BucketUnit.DAY, ZoneInfo(dataset.timezone))):
            result = await store.aggregate(AggregateQuery(scope, aggregations, buckets=buckets))
            for row in result.rows:
                visitors, sessions, events, views, others = row[-len(aggregations) :]
                assert visitors <= sessions <= events == views + others

    @given(drawn=random_datasets())
    @on_random_datasets
    async def test_additive_measures_sum_to_their_totals_over_buckets_in_every_time_zone(
        self, store: Store, drawn: tuple[RandomDataset, Random]
    ) -> None:
        """Additive measures summed over hours, days or weeks of any time zone equal their totals."""
        dataset, random = drawn
        await append_dataset_in_random_batches(dataset, random, store)
        scope = random_query_scope(random, dataset)
        whole = await measure_value_or_row(store, scope, *ADDITIVE)
        for zone in (dataset.timezone, "UTC", "Asia/Kathmandu"):
            for unit in (BucketUnit.HOUR, BucketUnit.DAY, BucketUnit.WEEK):
                buckets = buckets_covering(scope.span, unit, ZoneInfo(zone))
                result = await store.aggregate(AggregateQuery(scope, ADDITIVE, buckets=buckets))
                assert result.totals == whole, (zone, unit)
                assert tuple(map(sum, zip(*(row[1:] for row in result.rows), strict=True))) in {whole, ()}

    @given(drawn=random_datasets())
    @on_random_datasets
    async def test_credits_of_every_weighting_sum_to_conversions_orders_and_money(
        self, store: Store, drawn: tuple[RandomDataset, Random]
    ) -> None:
        """Under each weighting credits sum exactly to the conversions, orders, revenue and refunds."""
        dataset, random = drawn
        await append_dataset_in_random_batches(dataset, random, store)
        scope = random_query_scope(random, dataset)
        counted, orders, *money = await measure_value_or_row(
            store, scope, CONVERTED, ORDERS, REVENUE, REFUNDS
        )
        credited = (CREDITED, CREDITED_ORDERS, CREDITED_MONEY, CREDITED_REFUNDS)
        for weighting in Weighting:
            rule = CreditRule(weighting, timedelta(days=5), ignore_direct=random.random() < 0.5)
            shared = await measure_value_or_row(store, scope, *credited, credit=rule)
            assert shared == (counted * 1_000_000, orders * 1_000_000, *money), weighting

    @given(drawn=random_datasets())
    @on_random_datasets
    async def test_funnel_counts_never_increase_from_step_to_step(
        self, store: Store, drawn: tuple[RandomDataset, Random]
    ) -> None:
        """Counts never increase along a funnel, and `open` is at most the entrants who did not finish."""
        dataset, random = drawn
        await append_dataset_in_random_batches(dataset, random, store)
        for _ in range(4):
            plan: FunnelReaderQuery = random_funnel_query(random, dataset)
            table = await store.read_funnel(plan)
            reached = [step.count for step in table.steps]
            assert reached == sorted(reached, reverse=True)
            assert 0 <= table.open <= reached[0] - reached[-1]

    @given(drawn=random_datasets())
    @on_random_datasets
    async def test_cohort_sizes_sum_to_new_persons_and_returned_never_increases(
        self, store: Store, drawn: tuple[RandomDataset, Random]
    ) -> None:
        """Cohort sizes sum to the persons first seen in the range, the first cell is the size, `returned` never increases."""
        dataset, random = drawn
        await append_dataset_in_random_batches(dataset, random, store)
        zone = ZoneInfo(dataset.timezone)
        scope = dataset.builder.query_scope(dataset.span, zone=dataset.timezone)
        acquired = buckets_covering(dataset.span, random.choice((BucketUnit.DAY, BucketUnit.WEEK)), zone)
        table = await store.read_cohorts(CohortReaderQuery(scope, acquired, acquired))
        persons, _ = await store.list_people_and_total(PeoplePageQuery(scope, 1000, 0, "first_seen"))
        assert sum(table.sizes.values()) == sum(dataset.span.start <= p.first_seen for p in persons)
        cells = {(cell.cohort, cell.bucket): cell for cell in table.cells}
        for cohort, size in table.sizes.items():
            row = [cells[key] for key in sorted(cells) if key[0] == cohort]
            assert row[0].active == row[0].returned == size
            returned = [cell.returned for cell in row]
            assert returned == sorted(returned, reverse=True)

    @given(drawn=random_datasets())
    @on_random_datasets
    async def test_duplicate_appends_and_order_of_arrival_change_no_answer(
        self, store: Store, drawn: tuple[RandomDataset, Random]
    ) -> None:
        """Appending all events again, or in another order to a new workspace, changes no answer."""
        dataset, random = drawn
        await append_dataset_in_random_batches(dataset, random, store)
        before = await self.read_one_answer_of_each_kind(store, dataset, dataset.builder)
        await store.append(dataset.builder.events)
        assert await self.read_one_answer_of_each_kind(store, dataset, dataset.builder) == before
        other, times = EventBuilder(), set()
        for event in random.sample(dataset.builder.events, len(dataset.builder.events)):
            seq = other.add_event(event.event_name, at=event.timestamp, visitor=event.visitor_id).seq
            moved = dataclasses.replace(event, workspace_id=other.workspace_id, seq=seq)
            other.events[-1] = moved
            times.add(moved.timestamp)
        await store.append(other.events)
        if len(times) == len(other.events):
            assert await self.read_one_answer_of_each_kind(store, dataset, other) == before

    async def read_one_answer_of_each_kind(
        self, store: Store, dataset: RandomDataset, builder: EventBuilder
    ) -> Sequence[Any]:
        """Returns one aggregate, cohorts, a funnel, touch paths and event names of the dataset's range."""
        scope = builder.query_scope(dataset.span, zone=dataset.timezone)
        credit = CreditRule(Weighting.LINEAR, timedelta(days=5))
        result = await store.aggregate(
            AggregateQuery(
                scope,
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
        acquired = buckets_covering(dataset.span, BucketUnit.DAY, ZoneInfo(dataset.timezone))
        cohorts = await store.read_cohorts(CohortReaderQuery(scope, acquired, acquired))
        steps = (PAGE_VIEWS, frozenset({"click", "purchase"}))
        funnel = await store.read_funnel(FunnelReaderQuery(scope, steps, timedelta(days=3), dataset.span.end))
        paths = await store.list_distinct_touch_paths_with_counts(
            TouchPathQuery(scope, timedelta(days=5), (touch_column("channel"),))
        )
        counts_by_path = {
            path.keys: (path.converted, path.unconverted, path.amount, path.refunded, path.orders)
            for path in paths
        }
        names = await store.list_event_names(scope)
        return result.rows, names, dict(cohorts.sizes), cohorts.cells, funnel, counts_by_path

    @given(drawn=random_datasets())
    @on_random_datasets
    async def test_limit_and_offset_only_cut_rows_of_an_aggregate(
        self, store: Store, drawn: tuple[RandomDataset, Random]
    ) -> None:
        """Limit and offset select rows of the unlimited answer; total rows and totals stay the same."""
        dataset, random = drawn
        await append_dataset_in_random_batches(dataset, random, store)
        plan = AggregateQuery(
            random_query_scope(random, dataset), (VISITORS, EVENTS), BY_COUNTRY, order=(ColumnSort("m0"),)
        )
        whole = await store.aggregate(plan)
        for limit in (1, 2):
            part = await store.aggregate(dataclasses.replace(plan, limit=limit, offset=1))
            assert (part.rows, part.total_rows, part.totals) == (
                whole.rows[1 : 1 + limit], whole.total_rows, whole.totals,
            )  # fmt: skip

    @given(drawn=random_datasets())
    @on_random_datasets
    async def test_concatenated_event_pages_equal_one_large_page(
        self, store: Store, drawn: tuple[RandomDataset, Random]
    ) -> None:
        """Event pages of seven, joined, equal one page of all events; its total is their number."""
        dataset, random = drawn
        await append_dataset_in_random_batches(dataset, random, store)
        scope = random_query_scope(random, dataset)
        whole = await store.list_events(EventPageQuery(scope, 1000))
        listed = []
        for offset in range(0, len(whole.events), 7):
            listed += (await store.list_events(EventPageQuery(scope, 7, offset))).events
        assert listed == whole.events
        assert whole.total == len(listed)

    @given(drawn=random_datasets())
    @on_random_datasets
    async def test_measure_has_the_same_value_alone_and_with_others(
        self, store: Store, drawn: tuple[RandomDataset, Random]
    ) -> None:
        """Each measure has the same value queried alone and together with others."""
        dataset, random = drawn
        await append_dataset_in_random_batches(dataset, random, store)
        scope = random_query_scope(random, dataset)
        aggregations: tuple[Aggregation, ...] = (VISITORS, SESSIONS, PERSONS, *ADDITIVE)
        together = await measure_value_or_row(store, scope, *aggregations)
        assert together == tuple(
            [await measure_value_or_row(store, scope, aggregation) for aggregation in aggregations]
        )

    async def test_revenue_minus_a_full_refund_is_zero(self, store: Store, builder: EventBuilder) -> None:
        """The revenue of an order minus its full refund is 0."""
        builder.add_event("page_view", at="2026-03-02", visitor="A1", **campaign_columns("google", "cpc"))
        builder.add_event("purchase", at="2026-03-03", visitor="A1", order_id="O1", revenue=33333)
        builder.add_event("refund", at="2026-03-04", visitor="A1", order_id="O1", revenue=-33333)
        await store.append(builder.events)
        scope = builder.query_scope(whole_utc_days("2026-03-01", "2026-03-31"))
        revenue, refunds = await measure_value_or_row(store, scope, REVENUE, REFUNDS)
        assert revenue - refunds == 0

    async def test_value_in_another_case_matches_nothing_and_totals_are_zero(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """A measure condition with another letter case gives no rows and totals of 0."""
        builder.add_event("page_view", at="2026-03-02", visitor="A1", country="DE")
        await store.append(builder.events)
        scope = builder.query_scope(whole_utc_days("2026-03-01", "2026-03-31"))
        misspelt = count_rows(Relation.EVENTS, Predicate("country", value="de"))
        result = await store.aggregate(AggregateQuery(scope, (misspelt,), BY_COUNTRY))
        assert (result.rows, result.total_rows, result.totals) == ([], 0, (0,))
        assert await measure_value_or_row(store, scope, misspelt) == 0
