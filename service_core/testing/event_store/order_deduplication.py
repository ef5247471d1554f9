"""Conformance tests of order deduplication: an order of several sources counts once, from the preferred one."""

from datetime import timedelta
from itertools import permutations
from typing import Any, Final

import pytest

from service_core.access.analytics_settings import FeeRate
from service_core.analytics.measures import (
    FilterOperator,
    Predicate,
    Relation,
    count_distinct,
    count_rows,
    sum_column,
    touch_column,
)
from service_core.analytics.people.ports import PeoplePageQuery
from service_core.analytics.ports import CreditRule, Weighting
from service_core.testing.event_builder import EventBuilder, campaign_columns, whole_utc_days
from service_core.testing.event_store.kit import (
    CONVERTED,
    CREDITED,
    CREDITED_MONEY,
    CREDITED_ORDERS,
    CREDITED_REFUNDS,
    EventStoreKit,
    Store,
    measure_by_columns,
    measure_value_or_row,
)

MARCH: Final = whole_utc_days("2026-03-01", "2026-03-31")
LAST: Final = CreditRule(Weighting.LAST, timedelta(days=30))
CHARGE: Final = Predicate("kind", value="charge")
CHARGES: Final = count_rows(Relation.PAYMENTS, CHARGE)
REVENUE: Final = sum_column("amount", Relation.PAYMENTS, CHARGE)
REFUNDS: Final = sum_column("amount", Relation.PAYMENTS, Predicate("kind", value="refund"))
CUSTOMERS: Final = count_distinct("person", Relation.PAYMENTS, CHARGE)
REPORTED_EVENT_AND_AMOUNT: Final = {
    "shop": ("order_paid", 9_500),
    "till": ("purchase", 10_800),
    "web": ("purchase", 10_000),
}
"""Source -> event name and amount of one order: the shop without tax and shipping, the others with both."""


class OrderDeduplication(EventStoreKit):
    """Tests of order, payment and refund deduplication."""

    @pytest.mark.parametrize("order", list(permutations(REPORTED_EVENT_AND_AMOUNT)))
    async def test_order_reported_by_shop_payment_provider_and_browser_counts_once_as_the_shops(
        self, store: Store, builder: EventBuilder, order: tuple[str, ...]
    ) -> None:
        """An order of three sources counts once in each measure with the shop's amount, in whatever order they report."""
        builder.add_event("page_view", at="2026-03-02", visitor="A1", **campaign_columns("google", "cpc"))
        for minute, source in enumerate(order):
            name, amount = REPORTED_EVENT_AND_AMOUNT[source]
            at = f"2026-03-02T10:0{minute}"
            builder.add_event(name, at=at, visitor="A1", source=source, revenue=amount, order_id="O1")
            await store.append(builder.events[-1:])
        await store.append(builder.events[:1])
        scope = builder.query_scope(MARCH)
        assert await measure_value_or_row(store, scope, CHARGES, REVENUE, CUSTOMERS, CONVERTED) == (
            1,
            9_500,
            1,
            1,
        )
        assert await measure_by_columns(store, scope, REVENUE, "provider") == {"shop": 9_500}
        assert await measure_by_columns(store, scope, CONVERTED, "source") == {"shop": 1}
        credited = (CREDITED, CREDITED_ORDERS, CREDITED_MONEY)
        assert await measure_value_or_row(store, scope, *credited, credit=LAST) == (
            1_000_000,
            1_000_000,
            9_500,
        )

    async def test_full_refunds_equal_revenue_whichever_sources_report(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """Revenue equals refunds when charges and full refunds of an order come from any two sources."""
        sources = ("shop", "till", "wallet", "web")
        for number, (charged, refunded) in enumerate(permutations(sources, 2)):
            order = {"visitor": f"A{number}", "order_id": f"O{number}"}
            for source in (charged, refunded):
                builder.add_event("order_paid", at="2026-03-02", source=source, revenue=700, **order)
            for source in (refunded, charged)[: 1 + number % 2]:
                builder.add_event("refund", at="2026-03-20", source=source, revenue=-700, **order)
        await store.append(builder.events)
        for on_order in (False, True):
            scope = builder.query_scope(MARCH, order_refunds=on_order)
            assert await measure_value_or_row(store, scope, CHARGES, REVENUE, REFUNDS) == (12, 8_400, 8_400)
            credited = (CREDITED_MONEY, CREDITED_REFUNDS)
            assert await measure_value_or_row(store, scope, *credited, credit=LAST) == (8_400, 8_400)

    async def test_partial_refunds_of_one_order_all_count_from_the_preferred_source_only(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """All partial refunds of the preferred source count; those of other sources do not."""
        for source, amounts in (("web", (-60,)), ("shop", (-20, -30)), ("till", (-20, -30))):
            for amount in amounts:
                builder.add_event(
                    "refund", at="2026-03-03", visitor="A1", source=source, revenue=amount, order_id="O1"
                )
        await store.append(builder.events)
        assert await measure_by_columns(store, builder.query_scope(MARCH), REFUNDS, "provider") == {
            "shop": 50
        }

    async def test_reports_seven_days_apart_are_two_orders_and_a_later_preferred_report_wins(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """An order id counts again seven days later.

        A preferred report after the range replaces one inside it.
        """
        order = {"visitor": "A1", "order_id": "O1"}
        builder.add_event("purchase", at="2026-03-02", source="web", revenue=1, **order)
        builder.add_event("purchase", at="2026-03-09", source="till", revenue=20, **order)
        builder.add_event("purchase", at="2026-03-12", source="web", revenue=300, **order)
        builder.add_event("order_paid", at="2026-03-18", source="shop", revenue=4_000, **order)
        await store.append(builder.events)
        assert await measure_by_columns(store, builder.query_scope(MARCH), REVENUE, "provider") == {
            "tracked": 1,
            "till": 20,
            "shop": 4_000,
        }
        early = builder.query_scope(whole_utc_days("2026-03-10", "2026-03-13"))
        assert await measure_value_or_row(store, early, CHARGES, CONVERTED) == (0, 0)
        assert await measure_value_or_row(store, early, CREDITED, CREDITED_MONEY, credit=LAST) == (0, 0)

    @pytest.mark.parametrize("refunded_by", [(), ("shop",), ("shop", "till")])
    async def test_charges_that_only_a_tracked_event_joins_count_once(
        self, store: Store, builder: EventBuilder, refunded_by: tuple[str, ...]
    ) -> None:
        """A shop knows the order, a payment provider the payment, and only the page names both: one charge, one refund."""
        ids = {"shop": {"order_id": "O1"}, "till": {"payment_id": "P1"}}
        builder.add_event("page_view", at="2026-03-02", visitor="A1", **campaign_columns("google", "cpc"))
        builder.add_event(
            "order_paid", at="2026-03-03", visitor="S1", source="shop", revenue=95, **ids["shop"]
        )
        builder.add_event(
            "purchase", at="2026-03-03", visitor="T1", source="till", revenue=100, **ids["till"]
        )
        builder.add_event(
            "purchase",
            at="2026-03-03",
            visitor="A1",
            source="browser",
            revenue=99,
            order_id="O1",
            payment_id="P1",
        )
        builder.add_event(
            "purchase", at="2026-03-04", visitor="T1", source="till", revenue=7, payment_id="P2"
        )
        for source in refunded_by:
            builder.add_event(
                "refund", at="2026-03-25", visitor="R", source=source, revenue=-95, **ids[source]
            )
        await store.append(builder.events)
        scope = builder.query_scope(MARCH)
        values = await measure_value_or_row(store, scope, CHARGES, REVENUE, REFUNDS, CONVERTED)
        assert values == (2, 102, 95 if refunded_by else 0, 2)
        assert await measure_by_columns(store, scope, REVENUE, "provider") == {"shop": 95, "till": 7}
        people, _ = await store.list_people_and_total(PeoplePageQuery(scope, 9, 0, "events"))
        assert sum(person.revenue for person in people) == 102

    async def test_payments_of_two_providers_for_one_order_count_once(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """One order that two payment providers report twice each counts once, from one provider."""
        for source, amount in (("till", 10), ("wallet", 20), ("till", 10), ("wallet", 20)):
            builder.add_event(
                "purchase", at="2026-03-03", visitor="A1", source=source, revenue=amount, order_id="O1"
            )
        await store.append(builder.events)
        assert await measure_by_columns(store, builder.query_scope(MARCH), REVENUE, "provider") == {
            "wallet": 20
        }

    async def test_charge_components_sum_known_values_and_count_missing_ones(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """Gross, discount, tax, shipping and fee sum what providers reported.

        Unreported parts are not set.
        """
        day: dict[str, Any] = {"at": "2026-03-03", "visitor": "A1"}
        whole: dict[str, Any] = {"discount": 1_000, "tax": 855, "shipping": 495, "fee": 320}
        builder.add_event("order_paid", source="shop", revenue=9_000, order_id="1", **whole, **day)
        builder.add_event("purchase", source="till", revenue=2_000, order_id="2", discount=0, tax=0, **day)
        builder.add_event("purchase", source="web", revenue=700, order_id="3", **day)
        builder.add_event("refund", source="shop", revenue=-100, order_id="1", **day)
        await store.append(builder.events)
        scope = builder.query_scope(MARCH)
        for component, amount, missing_count in (
            ("gross", 10_000 + 2_000 + 700, 0),
            ("discount", 1_000, 0),
            ("tax", 855, 0),
            ("shipping", 495, 1),
            ("fee", 320, 1),
        ):
            charges_without_it = count_rows(
                Relation.PAYMENTS, CHARGE, Predicate(component, FilterOperator.IS_NOT_SET)
            )
            assert await measure_value_or_row(
                store, scope, sum_column(component, Relation.PAYMENTS), charges_without_it
            ) == (amount, missing_count), component
        fees = await measure_by_columns(
            store, scope, sum_column("fee", Relation.PAYMENTS, CHARGE), "provider"
        )
        assert fees == {"shop": 320, "till": 0, "tracked": 0}

    async def test_fees_are_those_reported_later_or_by_the_rate_of_the_workspace(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """A fee report completes the charge of its order or payment; a rate counts where nobody reports a fee."""
        day: dict[str, Any] = {"at": "2026-03-03", "visitor": "A1", "source": "till"}
        fee: dict[str, Any] = {"revenue": 0, "at": "2026-03-04", "visitor": "A1", "source": "till"}
        builder.add_event("purchase", revenue=1_000, order_id="in_1", payment_id="pi_1", **day)
        builder.add_event("payment_fee", payment_id="pi_1", order_id="in_1", fee=59, **fee)
        builder.add_event("payment_fee", payment_id="pi_1", fee=-9, **fee)
        builder.add_event("payment_fee", payment_id="pi_1", fee=70, **fee | {"currency": "EUR"})
        builder.add_event("payment_fee", payment_id="pi_1", fee=80, is_test=True, **fee)
        builder.add_event("payment_fee", payment_id="pi_1", fee=90, **fee | {"at": "2026-03-10"})
        builder.add_event("purchase", revenue=2_000, order_id="2", fee=7, **day)
        builder.add_event("payment_fee", order_id="2", fee=99, **fee)
        builder.add_event("purchase", revenue=0, order_id="3", **day)
        builder.add_event("purchase", revenue=4_900, order_id="4", tax=100, **day)
        builder.add_event("purchase", revenue=900, order_id="5", **day | {"source": "wallet"})
        builder.add_event("purchase", revenue=700, order_id="6", **day | {"source": "web"})
        await store.append(builder.events)
        unknown = count_rows(Relation.PAYMENTS, CHARGE, Predicate("fee", FilterOperator.IS_NOT_SET))
        fees, scope = sum_column("fee", Relation.PAYMENTS), builder.query_scope(MARCH)
        assert await measure_value_or_row(store, scope, fees, unknown, CHARGES) == (50 + 7 + 0, 2, 6)
        rates = (
            FeeRate("till", 29_100, 30, "EUR"),
            FeeRate("till", 29_100, 30, "USD"),
            FeeRate("tracked", 5_000),
        )
        with_rates = builder.query_scope(MARCH, fee_rates=rates)
        by_provider = await measure_by_columns(store, with_rates, fees, "provider")
        assert by_provider == {"till": 50 + 7 + 0 + (146 + 30), "wallet": 0, "tracked": 4}
        assert await measure_value_or_row(store, with_rates, unknown) == 1

    @pytest.mark.parametrize("order", list(permutations(range(3))))
    async def test_most_complete_message_of_a_payment_counts_in_any_order_of_arrival(
        self, store: Store, builder: EventBuilder, order: tuple[int, ...]
    ) -> None:
        """Of three messages of one payment the one with most ids and components counts, in any order of arrival."""
        messages: tuple[dict[str, Any], ...] = (
            {"revenue": 10_800, "order_id": "pi_1", "payment_id": "pi_1"},
            {"revenue": 10_000, "order_id": "in_1", "payment_id": "pi_1", "tax": 800, "discount": 0},
            {"revenue": 10_000, "order_id": "in_1", "tax": 800},
        )
        for minute, index in enumerate(order):
            at = f"2026-03-03T10:0{minute}"
            builder.add_event("purchase", at=at, visitor="A1", source="till", **messages[index])
        await store.append(builder.events)
        gross = sum_column("gross", Relation.PAYMENTS)
        assert await measure_value_or_row(store, builder.query_scope(MARCH), CHARGES, REVENUE, gross) == (
            1,
            10_000,
            10_000,
        )

    @pytest.mark.parametrize("tracked_first", [True, False])
    @pytest.mark.parametrize(
        ("site", "paid"),
        [
            ({"order_id": "1001", "payment_id": "pi_1"}, {"order_id": "in_1", "payment_id": "pi_1"}),
            ({"order_id": "pi_1"}, {"order_id": "in_1", "payment_id": "pi_1"}),
            ({"payment_id": "in_1"}, {"order_id": "in_1"}),
            ({"order_id": "1001", "payment_id": "evt_1"}, {"order_id": "in_1", "message_id": "evt_1"}),
        ],
    )
    async def test_order_reports_match_by_order_payment_or_message_id(
        self,
        store: Store,
        builder: EventBuilder,
        site: dict[str, Any],
        paid: dict[str, Any],
        tracked_first: bool,
    ) -> None:
        """A tracked and a provider's report are one order when any of their order, payment and message ids agree."""
        reports = [("web", 10_800, site), ("till", 10_000, paid)]
        for minute, (source, amount, ids) in enumerate(reports if tracked_first else reports[::-1]):
            at = f"2026-03-03T10:0{minute}"
            builder.add_event("purchase", at=at, visitor="A1", source=source, revenue=amount, **ids)
            await store.append(builder.events[-1:])
        scope = builder.query_scope(MARCH)
        assert await measure_value_or_row(store, scope, CHARGES, REVENUE, CONVERTED) == (1, 10_000, 1)
        credited = (CREDITED, CREDITED_ORDERS, CREDITED_MONEY)
        assert await measure_value_or_row(store, scope, *credited, credit=LAST) == (
            1_000_000,
            1_000_000,
            10_000,
        )

    async def test_repeated_payment_ids_count_once_and_different_order_ids_stay_apart(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """Two tracked charges with one payment id are one order.

        Charges with different order ids are not merged.
        """
        for ids in ({"payment_id": "pi_1"}, {"payment_id": "pi_1"}, {"order_id": "1"}, {"order_id": "2"}):
            builder.add_event("purchase", at="2026-03-03", visitor="A1", source="api", revenue=500, **ids)
        await store.append(builder.events)
        assert await measure_value_or_row(store, builder.query_scope(MARCH), CHARGES, CONVERTED) == (3, 3)

    async def test_refund_finds_its_order_by_payment_id(self, store: Store, builder: EventBuilder) -> None:
        """A refund whose payment id is that of a charge belongs to its order and is credited to its touch."""
        builder.add_event("page_view", at="2026-03-01", visitor="A1", **campaign_columns("google", "cpc"))
        paid = {"source": "till", "payment_id": "pi_1"}
        builder.add_event("purchase", at="2026-03-02", visitor="A1", revenue=900, order_id="1001", **paid)
        builder.add_event("refund", at="2026-03-20", visitor="B1", revenue=-900, order_id="pi_1", **paid)
        await store.append(builder.events)
        early = builder.query_scope(whole_utc_days("2026-03-01", "2026-03-10"), order_refunds=True)
        assert await measure_value_or_row(store, early, REVENUE, REFUNDS) == (900, 900)
        credited = await measure_by_columns(
            store, early, CREDITED_REFUNDS, touch_column("utm_source"), credit=LAST
        )
        assert credited == {"google": 900}
