"""Conformance tests of which amounts are money, and which charges are orders."""

from datetime import timedelta

from service_core.analytics.event_rules.event_synonyms import DEFAULT_CONVERSION_SET
from service_core.analytics.ports import CreditRule, Weighting
from service_core.testing.event_builder import EventBuilder, conversion_set
from service_core.testing.event_store.kit import (
    CONVERTED,
    CREDITED_MONEY,
    CREDITED_ORDERS,
    EventStoreKit,
    Store,
    measure_by_columns,
    measure_value_or_row,
)
from service_core.testing.event_store.sessions_and_payments import (
    ENGAGED,
    FIRST_ORDERS,
    ORDERS,
    REFUNDS,
    REVENUE,
    SPAN,
)

LAST = CreditRule(Weighting.LAST, timedelta(days=30))


class PaidAmounts(EventStoreKit):
    """Tests of amounts under names of paid, custom and vendors' standard events."""

    async def test_amount_is_money_only_where_something_was_paid(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """The amount of a vendor's standard event is no money; that of a custom name is, but no order.

        A workspace may list names as revenue events, and may count no custom names.
        """
        here = {"visitor": "A1", "session": "s1"}
        builder.add_event("view_item", at="2026-03-02T10:00", revenue=50000, order_id="O1", **here)
        builder.add_event("lead", at="2026-03-02T10:01", revenue=3000, **here)
        await store.append(builder.events)
        of_golden = (REVENUE, ORDERS, CONVERTED, CREDITED_MONEY, CREDITED_ORDERS)
        golden = await measure_value_or_row(store, builder.query_scope(SPAN), *of_golden, credit=LAST)
        assert golden == (0, 0, 1, 0, 0)
        first = len(builder.events)
        builder.add_event("donation", at="2026-03-02T10:02", revenue=700, **here)
        builder.add_event("donation", at="2026-03-02T10:03", revenue=-100, **here)
        builder.add_event("trial_converted", at="2026-03-02T10:04", revenue=20, **here)
        builder.add_event("page_view", at="2026-03-02T11:00", visitor="A2", session="s2")
        builder.add_event("Product Viewed", at="2026-03-02T11:00:01", visitor="A2", session="s2", revenue=9)
        builder.add_event("page_view", at="2026-03-02T12:00", visitor="A3", session="s3")
        builder.add_event("raffle", at="2026-03-02T12:00:01", visitor="A3", session="s3", revenue=9)
        await store.append(builder.events[first:])
        counts = (REVENUE, REFUNDS, ORDERS, FIRST_ORDERS, CONVERTED, ENGAGED, CREDITED_ORDERS)
        for conversions, expected in (
            (DEFAULT_CONVERSION_SET, (729, 100, 1, 1, 4, 1, 10**6)),
            (conversion_set(["lead"]), (20, 0, 1, 1, 1, 0, 10**6)),
            (
                conversion_set(["lead", "Product Viewed"], revenue_names=["Product Viewed"]),
                (29, 0, 2, 2, 2, 1, 2 * 10**6),
            ),
        ):
            scope = builder.query_scope(SPAN, conversions=conversions)
            assert await measure_value_or_row(store, scope, *counts, credit=LAST) == expected

    async def test_bot_events_before_the_range_keep_a_payer_new_unless_include_bots(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """The payment of a person with only bot events before the range is that of a new person."""
        builder.add_event("page_view", at="2026-03-01", visitor="A1", is_bot=True)
        builder.add_event("purchase", at="2026-03-02", visitor="A1", session="s2", order_id="O1", revenue=500)
        builder.add_event("page_view", at="2026-03-01", visitor="A2", session="s3")
        builder.add_event("purchase", at="2026-03-02", visitor="A2", session="s4", order_id="O2", revenue=70)
        await store.append(builder.events)
        for include_bots, expected in ((False, {True: 500, False: 70}), (True, {False: 570})):
            scope = builder.query_scope(SPAN, include_bots=include_bots)
            assert await measure_by_columns(store, scope, REVENUE, "person_is_new") == expected
