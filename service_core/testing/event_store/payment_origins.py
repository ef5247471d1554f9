"""Conformance tests of the session, the properties and the first touch by which payments are split."""

from dataclasses import replace
from random import Random
from typing import Any, Final

import pytest
from hypothesis import given

from service_core.analytics.event_rules.order_deduplication import TRACKED_SOURCES
from service_core.analytics.line_items.product_parts import PRODUCT
from service_core.analytics.measures import (
    Aggregation,
    Column,
    FilterOperator,
    Predicate,
    Relation,
    count_rows,
    entry_column,
    property_label_column,
    sum_column,
    touch_column,
)
from service_core.analytics.ports import AggregateQuery
from service_core.kernel.time_ranges import TimeRange
from service_core.testing.event_builder import EventBuilder, campaign_columns, utc_instant
from service_core.testing.event_store.differential import (
    append_dataset_in_random_batches,
    assert_same_answer_as_reference,
    on_random_datasets,
)
from service_core.testing.event_store.kit import EVENTS, EventStoreKit, Store, measure_by_columns
from service_core.testing.event_store.sessions_and_payments import REFUNDS, REVENUE
from service_core.testing.random_datasets import RandomDataset, random_datasets
from service_core.testing.random_queries import random_query_scope

SPAN: Final = TimeRange(utc_instant("2026-03-01"), utc_instant("2026-04-01"))
CHANNEL: Final = entry_column("channel")
PLAN: Final = property_label_column("plan")
FIRST_CHANNEL: Final = touch_column("channel")
_ITEMS: Final[tuple[Any, ...]] = (
    {"sku": "mug", "price": 3.5, "quantity": 2},
    {"item_id": "tea", "price": "9.99"},
    {"id": 7, "quantity": "many", "price": 0},
    {"variant_id": "blue", "quantity": 3},
    {"sku": "mug", "price": 1e8, "qty": 123456789},
    "bad",
)
_SPLITS: Final = (
    CHANNEL,
    entry_column("utm_campaign"),
    entry_column("landing_page"),
    entry_column("country"),
    PLAN,
    property_label_column("ok"),
    FIRST_CHANNEL,
    PRODUCT,
    PRODUCT,
    touch_column("attribution_source"),
    touch_column("utm_campaign"),
)
_SUMS: Final[tuple[Aggregation, ...]] = (
    count_rows(Relation.PAYMENTS, Predicate("is_order", value=True), Predicate("is_main_part", value=True)),
    *(
        sum_column(name, Relation.PAYMENTS)
        for name in ("amount", "gross", "discount", "tax", "shipping", "fee")
    ),
)
_SEARCH: Final = campaign_columns("google", "cpc", "spring")
_MAIL: Final = campaign_columns("news", "email", "weekly", channel="email")


class PaymentOrigins(EventStoreKit):
    """Tests of splits of payments."""

    async def test_payment_has_the_session_of_the_event_that_reports_it(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """A payment of a device has its session, one of a server without a session has none."""
        builder.add_event("page_view", at="2026-03-02T10:00", visitor="A1", session="s1", **_SEARCH)
        builder.add_event("purchase", at="2026-03-02T10:05", visitor="A1", session="s1", revenue=500)
        builder.add_event("page_view", at="2026-03-03T10:00", visitor="A1", session="s2", **_MAIL)
        builder.add_event("purchase", at="2026-03-03T10:05", visitor="A1", session="s2", revenue=70)
        builder.add_event(
            "purchase",
            at="2026-03-04",
            visitor="A1",
            session="h1",
            revenue=9,
            source="api",
            from_device=False,
        )
        await store.append(builder.events)
        found = await measure_by_columns(store, builder.query_scope(SPAN), REVENUE, CHANNEL)
        assert found == {"paid_search": 500, "email": 70, None: 9}

    @pytest.mark.parametrize("source", ["shop", "api"])
    async def test_report_of_a_provider_or_server_has_the_session_of_the_page_that_reports_the_order(
        self, store: Store, builder: EventBuilder, source: str
    ) -> None:
        """Whoever reports first, the session is that of the page; 7 days later it is another order."""
        sent_elsewhere: dict[str, Any] = {
            "source": source,
            "from_device": False,
            "visitor": "A1",
            "session": "h1",
        }
        builder.add_event("purchase", at="2026-03-02T09:00", revenue=500, order_id="O1", **sent_elsewhere)
        builder.add_event("page_view", at="2026-03-02T10:00", visitor="A1", session="s1", **_SEARCH)
        page: dict[str, Any] = {
            "visitor": "A1",
            "session": "s1",
            "order_id": "O1",
            "event_data": {"plan": "pro"},
        }
        builder.add_event("purchase", at="2026-03-02T10:05", **page)
        builder.add_event("purchase", at="2026-03-12", revenue=30, order_id="O1", **sent_elsewhere)
        await store.append(builder.events)
        scope = builder.query_scope(SPAN)
        assert await measure_by_columns(store, scope, REVENUE, CHANNEL) == {"paid_search": 500, None: 30}
        assert await measure_by_columns(store, scope, REVENUE, PLAN) == {"pro": 500, None: 30}

    async def test_refund_has_the_session_of_its_order(self, store: Store, builder: EventBuilder) -> None:
        """A refund arose where its order did, also when the order is before the range."""
        builder.add_event("page_view", at="2026-02-02T10:00", visitor="A1", session="s1", **_SEARCH)
        order = {"visitor": "A1", "order_id": "O1"}
        builder.add_event("purchase", at="2026-02-02T10:05", session="s1", revenue=500, **order)
        builder.add_event(
            "refund", at="2026-03-02", session="h1", revenue=-200, source="api", from_device=False, **order
        )
        builder.add_event("refund", at="2026-03-02", visitor="A2", session="h2", revenue=-7, source="shop")
        await store.append(builder.events)
        found = await measure_by_columns(store, builder.query_scope(SPAN), REFUNDS, CHANNEL)
        assert found == {"paid_search": 200, None: 7}

    async def test_payment_has_the_first_touch_ever_of_its_person(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """The first touch may be before the range; a person without a touch has none."""
        builder.add_event("page_view", at="2026-01-02", visitor="A1", session="s1", **_MAIL)
        builder.add_event("page_view", at="2026-03-02T10:00", visitor="A1", session="s2", **_SEARCH)
        builder.add_event("purchase", at="2026-03-02T10:05", visitor="A1", session="s2", revenue=500)
        builder.add_event("purchase", at="2026-03-02", visitor="A2", session="s3", revenue=70, source="shop")
        await store.append(builder.events)
        found = await measure_by_columns(store, builder.query_scope(SPAN), REVENUE, FIRST_CHANNEL)
        assert found == {"email": 500, None: 70}

    async def test_property_label_is_a_scalar_as_text_of_at_most_255_characters(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """Numbers and booleans are text, lists and objects absent; a filter compares the cut text."""
        values = ("pro", 5, "5", True, ["a"], {"of": 1}, None, "é" * 255 + "ab", "é" * 255 + "cd")
        for value in values:
            builder.add_event("click", at="2026-03-02", visitor="A1", event_data={"plan": value})
        await store.append(builder.events)
        scope = builder.query_scope(SPAN)
        found = await measure_by_columns(store, scope, EVENTS, PLAN)
        assert found == {"pro": 1, "5": 2, "true": 1, None: 3, "é" * 255: 2}
        cut = EVENTS.with_conditions(Predicate(PLAN, FilterOperator.EQ, "é" * 255))
        assert await measure_by_columns(store, scope, cut, PLAN) == {"é" * 255: 2}

    async def test_order_is_split_by_the_ids_of_its_items_to_the_minor_unit(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """Amounts follow price times quantity, the order counts at its largest item, a refund at what it returns."""
        items = [
            {"sku": "mug", "price": 1, "quantity": 2},
            {"sku": "tea", "price": 1},
            {"sku": "mug", "price": 4},
        ]
        order = {"visitor": "A1", "order_id": "O1"}
        builder.add_event(
            "purchase", at="2026-03-02", session="s1", revenue=1000, event_data={"items": items}, **order
        )
        builder.add_event(
            "refund", at="2026-03-03", session="s1", revenue=-200, event_data={"items": items[1:2]}, **order
        )
        builder.add_event("purchase", at="2026-03-04", visitor="A2", session="s2", revenue=70)
        provided = {"visitor": "A3", "order_id": "O3"}
        builder.add_event(
            "purchase", at="2026-03-05", session="s3", event_data={"items": items[1:]}, **provided
        )
        builder.add_event("purchase", at="2026-03-05", session="h3", revenue=101, source="shop", **provided)
        await store.append(builder.events)
        scope = builder.query_scope(SPAN)
        by_product = await measure_by_columns(store, scope, REVENUE, PRODUCT)
        assert by_product == {"mug": 857 + 81, "tea": 143 + 20, None: 70}
        assert await measure_by_columns(store, scope, REFUNDS, PRODUCT) == {"tea": 200}
        assert await measure_by_columns(store, scope, _SUMS[0], PRODUCT) == {"mug": 2, None: 1}
        mugs = REVENUE.with_conditions(Predicate(PRODUCT, value="mug"))
        assert (await store.aggregate(AggregateQuery(scope, (REVENUE, mugs)))).rows == [(1171, 938)]

    async def test_equal_items_share_an_amount_by_largest_remainder(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """Of equal parts the first by product is rounded up; a refund is split as its order is."""
        order = {"visitor": "A1", "order_id": "O1", "session": "s1"}
        items = [{"sku": sku} for sku in ("c", "b", "a")]
        builder.add_event("purchase", at="2026-03-02", revenue=10_000, event_data={"items": items}, **order)
        builder.add_event("refund", at="2026-03-03", revenue=-500, **order)
        await store.append(builder.events)
        scope = builder.query_scope(SPAN)
        assert await measure_by_columns(store, scope, REVENUE, PRODUCT) == {"a": 3334, "b": 3333, "c": 3333}
        assert await measure_by_columns(store, scope, REFUNDS, PRODUCT) == {"a": 167, "b": 167, "c": 166}

    @on_random_datasets
    @given(random_datasets())
    async def test_parts_of_payments_add_up_and_equal_the_reference_store(
        self, store: Store, oracle: Store, drawn: tuple[RandomDataset, Random]
    ) -> None:
        """The sums by each split equal the totals, and those of the reference store."""
        dataset, random = drawn
        events = dataset.builder.events
        for position, event in enumerate(events):
            is_api = event.source in TRACKED_SOURCES - {"browser"}
            items = {"items": random.sample(_ITEMS, random.randint(0, 4))} if random.random() < 0.6 else {}
            events[position] = replace(
                event,
                from_device=event.from_device and not (is_api and random.random() < 0.5),
                event_data={**event.event_data, **items},
            )
        await append_dataset_in_random_batches(dataset, random, store, oracle)
        columns: tuple[Column, ...] = (*random.sample(_SPLITS, 2),)
        scope = random_query_scope(random, dataset)
        total = (await store.aggregate(AggregateQuery(scope, _SUMS))).rows[0]
        for split in ((columns[0],), columns):
            plan = AggregateQuery(scope, _SUMS, tuple({str(Relation.PAYMENTS): column} for column in split))
            await assert_same_answer_as_reference(store, oracle, "aggregate", plan)
            rows = (await store.aggregate(plan)).rows
            assert tuple(sum(row[len(split) + i] for row in rows) for i in range(len(_SUMS))) == tuple(total)
