"""Conformance tests of orders whose ids only other events link: they are charged once, and their refunds find them."""

from typing import Any, Final

import pytest

from service_core.analytics.measures import touch_column
from service_core.testing.event_builder import EventBuilder, campaign_columns, whole_utc_days
from service_core.testing.event_store.kit import (
    CREDITED_REFUNDS,
    EventStoreKit,
    Store,
    measure_by_columns,
    measure_value_or_row,
)
from service_core.testing.event_store.order_deduplication import CHARGES, LAST, MARCH, REFUNDS, REVENUE

_BEFORE_REFUND: Final = whole_utc_days("2026-03-01", "2026-03-10")
_TAXED: Final[dict[str, Any]] = {"tax": 300, "shipping": 200}


def add_charges(builder: EventBuilder, *reports: tuple[str, int, dict[str, Any]]) -> None:
    """Adds reports of a charge on 2 March, each by a visitor of its own: source, amount and ids."""
    for number, (source, amount, ids) in enumerate(reports):
        at, visitor = f"2026-03-02T10:0{number}", f"A{number}"
        builder.add_event("purchase", at=at, visitor=visitor, source=source, revenue=amount, **ids)


class LinkedOrderIds(EventStoreKit):
    """Tests of ids of one order that no single report names."""

    @pytest.mark.parametrize("middle", ["web", "bank"])
    async def test_payments_linked_over_two_events_are_one_order(
        self, store: Store, builder: EventBuilder, middle: str
    ) -> None:
        """Two providers know a payment each, and two events link both payments with the order: the order counts once."""
        add_charges(
            builder,
            ("till", 100, {"payment_id": "P1", "tax": 1, "fee": 1}),
            ("wallet", 100, {"payment_id": "P2", "tax": 1}),
            (middle, 99, {"order_id": "O1", "payment_id": "P1"}),
            (middle, 99, {"order_id": "O1", "payment_id": "P2"}),
            ("till", 7, {"payment_id": "P3"}),
        )
        await store.append(builder.events)
        scope = builder.query_scope(MARCH)
        assert await measure_value_or_row(store, scope, CHARGES, REVENUE) == (2, 107)

    @pytest.mark.parametrize("is_bot", [False, True])
    async def test_events_of_bots_link_no_ids(
        self, store: Store, builder: EventBuilder, is_bot: bool
    ) -> None:
        """A bot that names two ids cannot make one of two orders disappear."""
        add_charges(
            builder,
            ("shop", 95, {"order_id": "O1"}),
            ("till", 100, {"payment_id": "P1"}),
            ("web", 1, {"order_id": "O1", "payment_id": "P1", "is_bot": is_bot}),
        )
        await store.append(builder.events)
        expected = (2, 195) if is_bot else (1, 95)
        assert await measure_value_or_row(store, builder.query_scope(MARCH), CHARGES, REVENUE) == expected

    @pytest.mark.parametrize("superseded", ["web", "till"])
    async def test_refund_finds_its_order_by_an_id_that_only_a_superseded_report_names(
        self, store: Store, builder: EventBuilder, superseded: str
    ) -> None:
        """The shop's charge counts and the refund names the payment: it is booked and credited with the shop's order."""
        campaign = campaign_columns("google", "cpc")
        builder.add_event("page_view", at="2026-03-01", visitor="A0", session="s1", **campaign)
        add_charges(
            builder,
            ("shop", 5_000, {"order_id": "O1", **_TAXED}),
            (superseded, 5_500, {"order_id": "O1", "payment_id": "P1"}),
        )
        builder.add_event(
            "refund", at="2026-03-25", visitor="R", source="till", revenue=-5_500, payment_id="P1"
        )
        await store.append(builder.events)
        scope = builder.query_scope(_BEFORE_REFUND, order_refunds=True)
        assert await measure_value_or_row(store, scope, REVENUE, REFUNDS) == (5_000, 5_000)
        for span in (_BEFORE_REFUND, MARCH):
            scope = builder.query_scope(span, order_refunds=span is _BEFORE_REFUND)
            credited = await measure_by_columns(
                store, scope, CREDITED_REFUNDS, touch_column("utm_source"), credit=LAST
            )
            assert credited == {"google": 5_000}

    async def test_refund_prefers_the_charge_that_has_its_id_to_a_later_linked_one(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """Payments of one subscription share its id; the refund of one belongs to that payment, not to the latest."""
        paid = {"visitor": "A1", "source": "till", "order_id": "S1"}
        for day, payment in (("02", "P1"), ("20", "P2")):
            builder.add_event("purchase", at=f"2026-03-{day}", revenue=700, payment_id=payment, **paid)
        refund = {"visitor": "A1", "source": "till", "payment_id": "P1"}
        builder.add_event("refund", at="2026-03-25", revenue=-700, **refund)
        await store.append(builder.events)
        scope = builder.query_scope(_BEFORE_REFUND, order_refunds=True)
        assert await measure_value_or_row(store, scope, REVENUE, REFUNDS) == (700, 700)
