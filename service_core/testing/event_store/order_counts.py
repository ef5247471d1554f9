"""Conformance tests of the number of orders of a person, and of the time to the second."""

from datetime import UTC, datetime
from typing import Any, Final

from service_core.analytics.measures import FilterOperator, Predicate, Relation, count_distinct, sum_column
from service_core.ingestion.event_names import RENEWAL_PROPERTY
from service_core.testing.event_builder import EventBuilder, whole_utc_days
from service_core.testing.event_store.kit import (
    EventStoreKit,
    Store,
    measure_by_columns,
    measure_value_or_row,
)

CHARGES: Final = sum_column("is_order", Relation.PAYMENTS)
FIRST_ORDERS: Final = sum_column("first_order", Relation.PAYMENTS)
REPEAT_CUSTOMERS: Final = count_distinct(
    "person", Relation.PAYMENTS, Predicate("orders_so_far", FilterOperator.GTE, 2)
)


class OrderCounts(EventStoreKit):
    """Tests of columns that count the orders of a person."""

    async def test_orders_of_a_person_are_counted_over_all_time_without_renewals(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """A renewal counts as first order only; the time to the second order is that of the next order that is none."""
        for day, name, visitor in (
            ("02-27", "purchase", "A1"), ("03-02", "purchase", "A1"), ("03-03", "subscription_renewed", "A1"),
            ("03-02", "subscription_started", "A2"), ("03-12", "subscription_renewed", "A2"), ("04-01", "purchase", "A2"),
            ("03-04", "subscription_renewed", "A3"), ("03-05", "purchase", "A3"), ("03-06", "purchase", "A4"),
        ):  # fmt: skip
            builder.add_event(name, at=f"2026-{day}", visitor=visitor, revenue=100)
        await store.append(builder.events)
        scope = builder.query_scope(whole_utc_days("2026-03-01", "2026-03-31"))
        by_count = await measure_by_columns(store, scope, CHARGES, "orders_so_far")
        assert by_count == {1: 4, 2: 3}
        assert await measure_value_or_row(store, scope, REPEAT_CUSTOMERS) == 2  # A1 and A3
        for days, customers in ((30, 2), (29, 1), (0, 0)):
            again = Predicate("microseconds_to_second_order", FilterOperator.LTE, days * 86_400_000_000)
            assert (
                await measure_value_or_row(store, scope, FIRST_ORDERS.with_conditions(again)) == customers
            ), days
        elapsed = Predicate("timestamp", FilterOperator.LTE, datetime(2026, 3, 4, tzinfo=UTC))
        assert await measure_value_or_row(store, scope, FIRST_ORDERS.with_conditions(elapsed)) == 2

    async def test_purchase_called_a_renewal_is_no_repeat_purchase(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """A provider reports a renewal as a purchase; one of the reports of the order names it, as text, too. Bots and tests name none."""
        for day, visitor, order, is_renewal in (
            ("03-02", "A1", "in_1", False), ("03-20", "A1", "in_2", True), ("03-21", "A1", "in_2", False),
            ("03-03", "A2", "in_3", True), ("03-09", "A2", "in_4", False),
            ("03-25", "A1", "in_5", "true"), ("03-26", "A2", "in_6", 1),
        ):  # fmt: skip
            properties = {RENEWAL_PROPERTY: is_renewal} if is_renewal else {}
            builder.add_event(
                "purchase",
                at=f"2026-{day}",
                visitor=visitor,
                revenue=100,
                order_id=order,
                event_data=properties,
            )
        for flag in ("is_bot", "is_test"):
            renewal: dict[str, Any] = {"event_data": {RENEWAL_PROPERTY: True}, flag: True}
            builder.add_event("purchase", at="2026-03-09", visitor="B", revenue=1, order_id="in_4", **renewal)
        await store.append(builder.events)
        scope = builder.query_scope(whole_utc_days("2026-03-01", "2026-03-31"))
        assert await measure_by_columns(store, scope, CHARGES, "orders_so_far") == {1: 4, 2: 1, 3: 1}
        assert await measure_value_or_row(store, scope, REPEAT_CUSTOMERS) == 1  # A2
