"""Conformance tests of touches that clients report, and of touch paths with and without a conversion."""

from dataclasses import replace
from datetime import timedelta

from service_core.analytics.measures import touch_column
from service_core.analytics.ports import CreditRule, QueryScope, TouchPathQuery, Weighting
from service_core.testing.event_builder import EventBuilder, campaign_columns, reported_touch_columns
from service_core.testing.event_store.attribution import (
    GOOGLE,
    LAST_TOUCH,
    LINEAR_CREDIT,
    MONTH,
    SOURCE,
    SPAN,
    add_visits_in_own_sessions,
)
from service_core.testing.event_store.currencies import make_exchange_rates
from service_core.testing.event_store.kit import (
    CREDITED,
    CREDITED_MONEY,
    CREDITED_REFUNDS,
    EventStoreKit,
    Store,
    measure_by_columns,
)


async def money_by_path_of_sources(
    store: Store, scope: QueryScope, **columns: frozenset[str]
) -> dict[tuple[str | None, ...], tuple[int, int, int, int]]:
    """Returns conversions, charged and refunded money, and orders of each path that has any, by its sources."""
    query = TouchPathQuery(scope, MONTH, (SOURCE,), **columns)
    return {
        tuple(key for (key,) in path.keys): (path.converted, path.amount, path.refunded, path.orders)
        for path in await store.list_distinct_touch_paths_with_counts(query)
        if path.converted or path.amount or path.refunded
    }


class TouchPaths(EventStoreKit):
    """Reported touches and counted touch paths."""

    async def test_client_reported_touches_get_credit_when_a_person_has_no_touch(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """First and last touches that the client reports get credit inside the window when the person has no own touch."""
        first = reported_touch_columns("first", "2026-03-01", "bing", "cpc", "paid_search")
        last = reported_touch_columns("last", "2026-03-05", "news", "email", "email")
        builder.add_event(
            "purchase", at="2026-03-09", visitor="A1", revenue=1001, reported_touches=first | last
        )
        await store.append(builder.events)
        scope = builder.query_scope(SPAN)
        for rule, credit, money in (
            (LINEAR_CREDIT, {"bing": 500_000, "news": 500_000}, {"bing": 501, "news": 500}),
            (LAST_TOUCH, {"news": 1_000_000}, {"news": 1001}),
            (CreditRule(Weighting.LAST, timedelta(days=3)), {None: 1_000_000}, {None: 1001}),
            (CreditRule(Weighting.FIRST, timedelta(days=4)), {"news": 1_000_000}, {"news": 1001}),
        ):
            assert await measure_by_columns(store, scope, CREDITED, SOURCE, credit=rule) == credit, rule
            assert await measure_by_columns(store, scope, CREDITED_MONEY, SOURCE, credit=rule) == money, rule
        assert await store.list_latest_person_touches(scope, "v:A1") == []
        (path,) = await store.list_distinct_touch_paths_with_counts(
            TouchPathQuery(scope, MONTH, (touch_column("channel"),))
        )
        assert (path.keys, path.converted, path.unconverted) == ((("paid_search",), ("email",)), 1, 0)

    async def test_tracked_touch_before_the_conversion_replaces_client_reported_touches(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """Client-reported touches get no credit as soon as the person has any tracked touch, even outside the window."""
        reported = reported_touch_columns("first", "2026-03-01", "bing", "cpc", "paid_search")
        builder.add_event("signup", at="2026-03-02", visitor="A1", reported_touches=reported)
        add_visits_in_own_sessions(builder, ("2026-03-02T01:00", {}))
        builder.add_event("signup", at="2026-03-02T01:00", visitor="A1", reported_touches=reported)
        add_visits_in_own_sessions(builder, ("2026-01-01", GOOGLE), visitor="old")
        builder.add_event("signup", at="2026-03-02", visitor="old", reported_touches=reported)
        await store.append(builder.events)
        answer = await measure_by_columns(
            store, builder.query_scope(SPAN), CREDITED, SOURCE, credit=LAST_TOUCH
        )
        assert answer == {"bing": 1_000_000, "(direct)": 1_000_000, None: 1_000_000}

    async def test_latest_human_event_before_a_conversion_supplies_the_reported_touches(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """Reported touches come from the person's latest event up to the conversion, bots left out.

        Refunds follow their order.
        """
        for day, source in ((2, "bing"), (4, "news"), (8, "later")):
            reported = reported_touch_columns("last", "2026-03-01", source, "cpc", "paid_search")
            builder.add_event(
                "scroll", at=f"2026-03-0{day}", visitor=f"A{day}", strong_id="U1", reported_touches=reported
            )
        reported = reported_touch_columns("last", "2026-03-01", "bot", "cpc", "paid_search")
        builder.add_event(
            "scroll", at="2026-03-05", visitor="A5", strong_id="U1", reported_touches=reported, is_bot=True
        )
        builder.add_event(
            "purchase", at="2026-03-06", visitor="A6", strong_id="U1", order_id="O1", revenue=90
        )
        builder.add_event("refund", at="2026-03-09", visitor="A9", order_id="O1", revenue=-90)
        await store.append(builder.events)
        scope = builder.query_scope(SPAN)
        assert await measure_by_columns(store, scope, CREDITED, SOURCE, credit=LAST_TOUCH) == {
            "news": 1_000_000
        }
        assert await measure_by_columns(store, scope, CREDITED_REFUNDS, SOURCE, credit=LAST_TOUCH) == {
            "news": 90
        }

    async def test_reported_touches_make_no_path_without_a_conversion(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """Client-reported touches of a person without a conversion make no touch path."""
        reported = reported_touch_columns("first", "2026-03-01", "bing", "cpc", "paid_search")
        builder.add_event("scroll", at="2026-03-02", visitor="A1", reported_touches=reported)
        await store.append(builder.events)
        assert (
            await store.list_distinct_touch_paths_with_counts(
                TouchPathQuery(builder.query_scope(SPAN), MONTH, (touch_column("channel"),))
            )
            == []
        )

    async def test_touch_paths_count_conversions_and_persons_without_one(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """Each path has its conversions and its persons without any conversion.

        Consecutive equal keys count as one.
        """
        a, b = campaign_columns("A", "cpc"), campaign_columns("B", "cpc")
        touches_by_visitor = {"p1": (a, a), "p2": (a,), "p3": (b,), "p4": (a, b), "p5": (a,)}
        for visitor, touches in touches_by_visitor.items():
            for day, columns in enumerate(touches):
                add_visits_in_own_sessions(builder, (f"2026-03-0{day + 2}", columns), visitor=visitor)
            if visitor != "p5":
                builder.add_event("signup", at="2026-03-09", visitor=visitor)
        add_visits_in_own_sessions(builder, ("2026-03-12", b), visitor="p1")
        builder.add_event("signup", at="2026-03-09", visitor="untouched")
        await store.append(builder.events)
        answer = await store.list_distinct_touch_paths_with_counts(
            TouchPathQuery(
                builder.query_scope(SPAN),
                MONTH,
                (touch_column("utm_source").or_else(touch_column("attribution_source")),),
            )
        )
        assert {tuple(k for (k,) in p.keys): (p.converted, p.unconverted) for p in answer} == {
            ("A",): (2, 1),
            ("B",): (1, 0),
            ("A", "B"): (1, 0),
        }

    async def test_unconverted_path_starts_one_window_before_the_range(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """The path of a person without a conversion holds touches from one window before the range to its end."""
        a, b = campaign_columns("A", "cpc"), campaign_columns("B", "cpc")
        add_visits_in_own_sessions(builder, ("2026-02-21T23:59:59", b), ("2026-02-22", a), visitor="p1")
        add_visits_in_own_sessions(
            builder, ("2026-02-23", a), ("2026-03-31T23:59:59", b), ("2026-04-01", a), visitor="p2"
        )
        builder.add_event("signup", at="2026-02-24", visitor="p2")
        await store.append(builder.events)
        plan = TouchPathQuery(
            builder.query_scope(SPAN),
            timedelta(days=7),
            (touch_column("utm_source").or_else(touch_column("attribution_source")),),
        )
        answer = {
            tuple(k for (k,) in p.keys): (p.converted, p.unconverted)
            for p in await store.list_distinct_touch_paths_with_counts(plan)
        }
        assert answer == {("A",): (0, 1), ("A", "B"): (0, 1)}

    async def test_touch_paths_sum_the_money_of_their_conversions_and_refunds(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """Each path has the money of its own charges and of the refunds of its orders, repeats of an order once."""
        a, b = campaign_columns("A", "cpc"), campaign_columns("B", "cpc")
        for visitor, touches in {"p1": (a,), "p2": (b,), "p3": (a, b), "p4": (a,), "p5": ()}.items():
            for day, columns in enumerate(touches):
                add_visits_in_own_sessions(builder, (f"2026-03-0{day + 2}", columns), visitor=visitor)
        orders = (("p1", 100_000), ("p2", 100), ("p3", 3_001), ("p5", 7))
        for visitor, revenue in orders:
            for hour in ("00", "01"):  # the second one repeats the order
                at = f"2026-03-09T{hour}:00"
                builder.add_event("purchase", at=at, visitor=visitor, order_id=visitor, revenue=revenue)
        builder.add_event("signup", at="2026-03-09", visitor="p4")
        builder.add_event("refund", at="2026-04-02", visitor="elsewhere", order_id="p1", revenue=-400)
        builder.add_event("refund", at="2026-03-12", visitor="elsewhere", order_id="p3", revenue=-1_000)
        builder.add_event("refund", at="2026-03-12", visitor="p2", order_id="unknown", revenue=-50)
        await store.append(builder.events)
        scope = builder.query_scope(SPAN)
        expected = {("A",): (2, 100_000, 0, 1), ("B",): (1, 100, 0, 1), ("A", "B"): (1, 3_001, 1_000, 1)}
        assert await money_by_path_of_sources(store, scope) == expected
        by_order = {**expected, ("A",): (2, 100_000, 400, 1)}
        assert await money_by_path_of_sources(store, replace(scope, order_refunds=True)) == by_order
        assert await money_by_path_of_sources(store, scope, event_names=frozenset({"purchase"})) == (
            expected | {("A",): (1, 100_000, 0, 1)}
        )

    async def test_touch_paths_convert_money_and_leave_out_what_has_no_rate(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """Money of paths is in the currency of the scope; an amount without a rate is left out, its conversion is not."""
        add_visits_in_own_sessions(builder, ("2026-03-02", campaign_columns("A", "cpc")))
        for order, (revenue, currency) in enumerate(((1_000, "USD"), (1_000, "EUR"), (1_000, "JPY"))):
            builder.add_event(
                "purchase",
                at="2026-03-06",
                visitor="A1",
                order_id=f"o{order}",
                revenue=revenue,
                currency=currency,
            )
        await store.append(builder.events)
        scope = builder.query_scope(SPAN)
        assert await money_by_path_of_sources(store, scope) == {("A",): (3, 1_000, 0, 3)}
        rates = make_exchange_rates({"2026-03-06": {"USD": "1.5"}})
        assert await money_by_path_of_sources(store, replace(scope, rates=rates)) == {
            ("A",): (3, 2_500, 0, 3)
        }
