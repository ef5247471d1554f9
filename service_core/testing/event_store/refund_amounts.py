"""Conformance tests of refunds that include tax and shipping: a full refund nets to zero in every measure."""

from datetime import timedelta
from typing import Any, Final

from service_core.analytics.measures import Predicate, Relation, sum_column
from service_core.analytics.ports import CreditRule, Weighting
from service_core.testing.event_builder import EventBuilder, campaign_columns, whole_utc_days
from service_core.testing.event_store.kit import (
    CREDITED_MONEY,
    CREDITED_REFUNDS,
    EventStoreKit,
    Store,
    measure_by_columns,
    measure_value_or_row,
)

MARCH: Final = whole_utc_days("2026-03-01", "2026-03-31")
LAST: Final = CreditRule(Weighting.LAST, timedelta(days=30))
REVENUE: Final = sum_column("amount", Relation.PAYMENTS, Predicate("kind", value="charge"))
REFUNDS: Final = sum_column("amount", Relation.PAYMENTS, Predicate("kind", value="refund"))


def add_payment(
    builder: EventBuilder, revenue: int, order: str, *, day: int = 2, source: str = "till", **columns: Any
) -> None:
    """Adds a charge, or with a negative amount a refund, of an order in March."""
    name, at = "purchase" if revenue >= 0 else "refund", f"2026-03-{day:02}"
    builder.add_event(name, at=at, visitor="A1", source=source, order_id=order, revenue=revenue, **columns)


class RefundAmounts(EventStoreKit):
    """Tests of the amounts of refunds of charges whose tax or shipping is known."""

    async def test_full_refund_of_a_taxed_charge_nets_to_zero_in_payments_and_credits(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """The refund of what was paid leaves out tax and shipping, in the range, outside of it and by the order's day."""
        builder.add_event("page_view", at="2026-03-01", visitor="A1", **campaign_columns("google", "cpc"))
        add_payment(builder, 5_000, "O1", tax=300, shipping=200)
        add_payment(builder, -5_500, "O1", day=20)
        add_payment(builder, 9_000, "O2", payment_id="P2", tax=0)
        add_payment(builder, -9_000, "other", day=20, payment_id="P2")
        await store.append(builder.events)
        for order_refunds in (False, True):
            scope = builder.query_scope(MARCH, order_refunds=order_refunds)
            assert await measure_value_or_row(store, scope, REVENUE, REFUNDS) == (14_000, 14_000)
            credited = (CREDITED_MONEY, CREDITED_REFUNDS)
            assert await measure_value_or_row(store, scope, *credited, credit=LAST) == (14_000, 14_000)
        only_refunds = builder.query_scope(whole_utc_days("2026-03-20", "2026-03-20"))
        assert await measure_value_or_row(store, only_refunds, REVENUE, REFUNDS) == (0, 14_000)

    async def test_partial_refunds_leave_out_their_share_of_the_tax_and_add_up_to_the_charge(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """A part of the money back is the same part of the revenue; the sum of the parts is rounded, not each of them."""
        add_payment(builder, 1_000, "O1", tax=190)
        for day, part in ((3, 397), (4, 397), (5, 396)):
            add_payment(builder, -part, "O1", day=day)
        add_payment(builder, 5, "O2", tax=5)
        for day in (6, 7, 8):
            add_payment(builder, -1, "O2", day=day)
        await store.append(builder.events)
        refunds_by_day = [
            await measure_value_or_row(
                store, builder.query_scope(whole_utc_days(f"2026-03-{day:02}", f"2026-03-{day:02}")), REFUNDS
            )
            for day in range(3, 9)
        ]
        # 0.5, 1 and 1.5 of the second order are 0, 1 and 2, half to even.
        assert refunds_by_day == [334, 333, 333, 0, 1, 1]
        assert await measure_value_or_row(store, builder.query_scope(MARCH), REFUNDS) == 1_002

    async def test_refunds_that_are_tracked_or_tell_their_tax_are_taken_as_sent(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """Refunds of a storefront, of the tracking API or with a tax of their own have no tax left to take out."""
        for order, source in (("O1", "shop"), ("O2", "till"), ("O3", "till"), ("O4", "till"), ("O5", "web")):
            add_payment(builder, 5_000, order, source=source, tax=500)
        add_payment(builder, -5_000, "O1", source="shop")
        add_payment(builder, -5_000, "O2", source="web")
        add_payment(builder, -5_000, "O3", tax=500)
        add_payment(builder, -5_500, "O4", day=12)
        add_payment(builder, -5_000, "O5")
        add_payment(builder, -700, "of no charge")
        await store.append(builder.events)
        assert await measure_by_columns(store, builder.query_scope(MARCH), REFUNDS, "order_id") == {
            "O1": 5_000, "O2": 5_000, "O3": 5_000, "O4": 5_000, "O5": 5_000, "of no charge": 700,
        }  # fmt: skip

    async def test_most_complete_message_of_a_payment_decides_what_its_refund_leaves_out(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """A payment without tax and a session with it are one charge; its refund follows the session, a repeat counts once."""
        add_payment(builder, 5_500, "pi_1", payment_id="pi_1")
        add_payment(builder, 5_000, "pi_1", payment_id="pi_1", day=3, tax=300, shipping=200)
        add_payment(builder, -2_750, "pi_1", payment_id="pi_1", day=1)
        add_payment(builder, -2_750, "pi_1", payment_id="pi_1", day=9)
        add_payment(builder, -5_500, "pi_1", source="web", day=9)
        await store.append(builder.events)
        scope = builder.query_scope(MARCH)
        assert await measure_value_or_row(store, scope, REVENUE, REFUNDS) == (5_000, 5_000)
