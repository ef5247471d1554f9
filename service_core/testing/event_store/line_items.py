"""Conformance tests of line items: the items that orders list and refunds return."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from random import Random
from typing import Any, Final
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given

from service_core.analytics.line_items.line_item_lists import MILLION
from service_core.analytics.line_items.ports import LineItemQuery, LineItemReader, LineItemSum
from service_core.kernel.bucket_series import buckets_covering
from service_core.kernel.time_ranges import BucketUnit
from service_core.testing.event_builder import EventBuilder, utc_instant, whole_utc_days
from service_core.testing.event_store.differential import assert_same_answer_as_reference, on_random_datasets
from service_core.testing.event_store.kit import EventStoreKit, Store
from service_core.testing.random_datasets import RandomDataset, random_datasets

MARCH: Final = whole_utc_days("2026-03-01", "2026-03-31")
SHIRT: Final = {"sku": "SHIRT", "variant_id": 11, "quantity": 2, "price": "19.99"}
CAP: Final = {"sku": "CAP", "quantity": 1, "price": 5}


def item_list_properties(*items: Any, list_name: str = "items") -> dict[str, Any]:
    """Returns the `event_data` column of an event that lists items under a property name."""
    return {"event_data": {list_name: list(items)}}


async def item_quantities_by_attribute(
    store: LineItemReader, plan: LineItemQuery, *attributes: str
) -> dict[Any, float]:
    """Returns the number of items by SKU, or by other attributes of the sums; several attributes give tuples."""
    quantities: dict[Any, float] = {}
    for line_item_sum in await store.sum_line_items(plan):
        values = tuple(getattr(line_item_sum, attribute) for attribute in attributes or ("sku",))
        key = values if len(values) > 1 else values[0]
        quantities[key] = quantities.get(key, 0) + line_item_sum.quantity / MILLION
    return quantities


def sorted_sums(sums: Sequence[LineItemSum]) -> list[LineItemSum]:
    """Returns the sums in a defined order."""
    return sorted(sums, key=repr)


def _add_random_sale_or_refund(builder: EventBuilder, random: Random) -> None:
    """Adds one random sale, refund or signup in March, with or without listed items."""
    lines = [SHIRT, CAP, {"sku": "SHIRT", "quantity": "1.5"}, {"variant_id": 7}, {"quantity": "?"}, None, {}]
    at = datetime(2026, 3, random.randint(1, 30), random.choice((0, 12)), tzinfo=UTC)
    data = random.choice(
        ({}, {"product_id": "pro"}, item_list_properties(*random.choices(lines, k=3))["event_data"])
    )
    builder.add_event(
        random.choice(("purchase", "order_paid", "refund", "signup")),
        at=at,
        visitor="A1",
        source=random.choice(("web", "till", "shop", "wallet")),
        revenue=random.choice((None, 0, 100, 2_000, -500)),
        order_id=random.choice(("O1", "O2", "O3", None)),
        payment_id=random.choice(("O1", "P1", None, None)),
        is_test=random.random() < 0.1,
        event_data=data,
    )


class LineItems(EventStoreKit):
    """Tests of `sum_line_items`."""

    @pytest.mark.parametrize(
        ("line", "known"),
        [
            ({"sku": "A", "item_id": "B", "quantity": 3, "price": "1.25"}, ("A", None, 3.0, 3.75)),
            ({"sku": "", "item_id": "B", "quantity": "3"}, ("B", None, 3.0, None)),
            ({"id": 7, "quantity": 1, "item_price": 0.1}, ("7", None, 1.0, 0.1)),
            ({"content_id": "C", "variant_id": 9_007_199_254_740_993}, ("C", "9007199254740993", 1.0, None)),
            ({"product_id": "P", "qty": 0.25, "price": 3}, ("P", None, 0.25, 0.75)),
            ({"sku": "A", "quantity": -2, "price": "-4.5"}, ("A", None, 2.0, 9.0)),
            ({"sku": "A", "quantity": "two", "price": 4}, (None, None, 1.0, 4.0)),
            ({"sku": ["A"], "price": None, "quantity": None}, (None, None, 1.0, None)),
            ("A", (None, None, 1.0, None)),
            (None, (None, None, 1.0, None)),
        ],
    )
    async def test_line_item_is_read_from_the_known_property_names(
        self, store: Store, builder: EventBuilder, line: Any, known: tuple[Any, ...]
    ) -> None:
        """Item id, variant, quantity and price are read from the known property names.

        Unreadable values count as absent.
        """
        builder.add_event(
            "purchase", at="2026-03-02", visitor="A1", revenue=100, **item_list_properties(line)
        )
        await store.append(builder.events)
        (answer,) = await store.sum_line_items(LineItemQuery(builder.query_scope(MARCH)))
        amount = None if answer.lines_without_price else answer.amount / MILLION
        assert (answer.sku, answer.variant_id, answer.quantity / MILLION, amount) == known

    @pytest.mark.parametrize("name", ["items", "line_items", "contents", "products"])
    async def test_line_items_are_read_from_the_first_non_empty_list_name(
        self, store: Store, builder: EventBuilder, name: str
    ) -> None:
        """Items are read under each known list name; empty lists and other values are skipped."""
        data = {"items": [], "line_items": "none", "contents": {}, "products": 1, name: [SHIRT, CAP]}
        builder.add_event("purchase", at="2026-03-02", visitor="A1", revenue=100, event_data=data)
        await store.append(builder.events)
        assert await item_quantities_by_attribute(store, LineItemQuery(builder.query_scope(MARCH))) == {
            "SHIRT": 2,
            "CAP": 1,
        }

    async def test_charge_without_a_list_is_one_item_of_its_own_properties(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """A charge without a list is one item with its properties.

        Other events, charges without money and bots have none.
        """
        pro: Mapping[str, Any] = {"product_id": "pro", "price": 3}
        builder.add_event("purchase", at="2026-03-02", visitor="A1", revenue=900, event_data=pro)
        builder.add_event("purchase", at="2026-03-03", visitor="A1", revenue=500)
        builder.add_event("refund", at="2026-03-04", visitor="A1", revenue=-900, event_data=pro)
        builder.add_event(
            "add_to_cart", at="2026-03-04", visitor="A1", revenue=900, **item_list_properties(SHIRT)
        )
        builder.add_event("purchase", at="2026-03-04", visitor="A1", **item_list_properties(SHIRT))
        builder.add_event(
            "purchase", at="2026-03-04", visitor="A1", revenue=1, is_bot=True, **item_list_properties(SHIRT)
        )
        await store.append(builder.events)
        assert sorted_sums(
            await store.sum_line_items(LineItemQuery(builder.query_scope(MARCH)))
        ) == sorted_sums(
            [
                LineItemSum(None, 0, "pro", None, "tracked", "USD", False, MILLION, 900, 0),
                LineItemSum(None, 0, None, None, "tracked", "USD", False, MILLION, 500, 0),
            ]
        )

    async def test_items_of_an_order_come_once_from_the_preferred_report_that_lists_any(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """An order's items count once, from the preferred report that lists items within seven days, under the counted report's provider."""

        def add_report(source: str, order: str, *lines: Any, at: str = "2026-03-02T10:00") -> None:
            listed = item_list_properties(*lines) if lines else {}
            builder.add_event(
                "purchase", at=at, visitor="A1", source=source, revenue=1, order_id=order, **listed
            )

        add_report("web", "O1", SHIRT)
        add_report("till", "O1")
        add_report("web", "O2", CAP)
        add_report("shop", "O2", {"sku": "MUG"}, at="2026-03-02T10:05")
        add_report("till", "O3", at="2026-03-03T10:00")
        add_report("web", "O3", {"sku": "EARLY"}, at="2026-03-03T09:00")
        add_report("api", "O3", {"sku": "LATE"}, at="2026-03-03T11:00")
        add_report("till", "O4", at="2026-03-20T10:00")
        add_report("web", "O4", {"sku": "OTHER"}, at="2026-03-01T10:00")
        builder.add_event(
            "purchase",
            at="2026-03-04",
            visitor="A1",
            revenue=1,
            order_id="pi_5",
            **item_list_properties({"sku": "PIN"}),
        )
        paid: Mapping[str, Any] = {"source": "till", "order_id": "in_5", "payment_id": "pi_5"}
        builder.add_event("purchase", at="2026-03-04", visitor="A1", revenue=1, **paid)
        await store.append(builder.events)
        plan = LineItemQuery(builder.query_scope(MARCH))
        assert await item_quantities_by_attribute(store, plan, "sku", "provider") == {
            ("SHIRT", "till"): 2,
            ("PIN", "till"): 1,
            ("MUG", "shop"): 1,
            ("EARLY", "till"): 1,
            (None, "till"): 1,
            ("OTHER", "tracked"): 1,
        }
        later = LineItemQuery(builder.query_scope(whole_utc_days("2026-03-03", "2026-03-03")))
        assert await item_quantities_by_attribute(store, later) == {"EARLY": 1}

    async def test_returned_items_are_booked_in_the_period_of_their_sale(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """Returned items count in the period of their sale, else of the return.

        With `order_refunds` only in the range of the sale.
        """
        order: Mapping[str, Any] = {"visitor": "A1", "order_id": "O1", "source": "shop"}
        builder.add_event(
            "order_paid", at="2026-03-02", revenue=4_000, **order, **item_list_properties(SHIRT)
        )
        builder.add_event(
            "refund",
            at="2026-03-20",
            revenue=-2_000,
            **order,
            **item_list_properties({**SHIRT, "quantity": 1}),
        )
        builder.add_event(
            "refund",
            at="2026-03-21",
            visitor="A1",
            source="web",
            order_id="O1",
            **item_list_properties(SHIRT),
        )
        builder.add_event("refund", at="2026-03-22", revenue=-1, **order)
        builder.add_event("refund", at="2026-03-23", visitor="A2", **item_list_properties(CAP))
        await store.append(builder.events)
        edges = (utc_instant("2026-03-10"), utc_instant("2026-03-15"))
        plan = LineItemQuery(builder.query_scope(MARCH), edges)
        assert await item_quantities_by_attribute(store, plan, "sku", "period") == {
            ("SHIRT", 0): 1,
            ("CAP", 2): -1,
        }
        late = whole_utc_days("2026-03-15", "2026-03-31")
        assert await item_quantities_by_attribute(
            store, LineItemQuery(builder.query_scope(late), edges), "sku", "period"
        ) == {
            ("SHIRT", 0): -1,
            ("CAP", 2): -1,
        }
        by_order = LineItemQuery(
            builder.query_scope(whole_utc_days("2026-03-01", "2026-03-05"), order_refunds=True), edges
        )
        assert await item_quantities_by_attribute(store, by_order, "sku", "period") == {("SHIRT", 0): 1}
        returns_only = LineItemQuery(
            builder.query_scope(whole_utc_days("2026-03-20", "2026-03-21"), order_refunds=True), edges
        )
        assert await item_quantities_by_attribute(store, returns_only) == {}

    async def test_returns_without_an_amount_count_from_the_preferred_source_only(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """Returns without an amount count when the preferred source of the order reports them.

        Tests and other sources do not.
        """
        for source, lines in (("web", [SHIRT]), ("shop", [CAP]), ("shop", [CAP])):
            builder.add_event(
                "refund",
                at="2026-03-05",
                visitor="A1",
                source=source,
                order_id="O1",
                **item_list_properties(*lines),
            )
        builder.add_event(
            "refund", at="2026-03-05", visitor="A1", is_test=True, **item_list_properties(SHIRT)
        )
        await store.append(builder.events)
        assert await item_quantities_by_attribute(
            store, LineItemQuery(builder.query_scope(MARCH)), "sku", "provider"
        ) == {("CAP", "shop"): -2}

    @given(drawn=random_datasets())
    @on_random_datasets
    async def test_line_items_of_random_orders_equal_the_reference_store(
        self, store: Store, oracle: Store, drawn: tuple[RandomDataset, Random]
    ) -> None:
        """Item sums of random sales and refunds equal those of the reference store."""
        builder, random = EventBuilder(), drawn[1]
        for _ in range(60):
            _add_random_sale_or_refund(builder, random)
        await store.append(builder.events)
        await oracle.append(builder.events)
        for order_refunds in (False, True):
            first, last = sorted(random.sample(range(1, 31), 2))
            span = whole_utc_days(f"2026-03-{first:02}", f"2026-03-{last:02}")
            edges = tuple(utc_instant(f"2026-03-{day:02}") for day in sorted(random.sample(range(1, 31), 3)))
            plan = LineItemQuery(builder.query_scope(span, order_refunds=order_refunds), edges)
            await assert_same_answer_as_reference(
                store, oracle, "sum_line_items", plan, normalize=sorted_sums
            )

    async def test_line_items_are_summed_per_local_day_bucket_across_a_clock_change(
        self, store: Store, builder: EventBuilder, oracle: Store
    ) -> None:
        """Items are summed per local day, also on a day of 23 hours, as in the reference store."""
        zone = ZoneInfo("America/New_York")  # March 8 has 23 hours there
        for number, at in enumerate(
            ("2026-03-07T06:00", "2026-03-08T04:59", "2026-03-08T05:00", "2026-03-09")
        ):
            order: Mapping[str, Any] = {"visitor": "A1", "order_id": f"O{number}", "currency": "EUR"}
            builder.add_event(
                "purchase", at=at, revenue=100, **order, **item_list_properties(SHIRT, SHIRT, CAP)
            )
            builder.add_event(
                "refund", at="2026-03-09T12:00", revenue=-1, **order, **item_list_properties({"sku": "CAP"})
            )
        await store.append(builder.events)
        await oracle.append(builder.events)
        span = whole_utc_days("2026-03-07", "2026-03-09")
        plan = LineItemQuery(
            builder.query_scope(span),
            (datetime(2026, 3, 8, 5, tzinfo=UTC),),
            buckets_covering(span, BucketUnit.DAY, zone),
        )
        assert sorted_sums(await store.sum_line_items(plan)) == sorted_sums(await oracle.sum_line_items(plan))
        assert await item_quantities_by_attribute(store, plan, "bucket") == {
            datetime(2026, 3, 7, 5, tzinfo=UTC): 10,
            datetime(2026, 3, 8, 5, tzinfo=UTC): 10,
            datetime(2026, 3, 9, 4, tzinfo=UTC): -4,
        }
