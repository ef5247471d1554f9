"""Conformance tests of touches, touch paths and attribution credits."""

from datetime import timedelta

from service_core.analytics.measures import Aggregation, Column, Relation, touch_column
from service_core.analytics.ports import CreditRule, Weighting
from service_core.testing.event_builder import (
    EventBuilder,
    campaign_columns,
    referral_columns,
    reported_touch_columns,
    whole_utc_days,
)
from service_core.testing.event_store.kit import (
    CREDITED,
    CREDITED_MONEY,
    CREDITED_REFUNDS,
    EventStoreKit,
    Store,
    measure_by_columns,
)

SPAN = whole_utc_days("2026-03-01", "2026-03-31")
MONTH = timedelta(days=30)
LAST_TOUCH = CreditRule(Weighting.LAST, MONTH)
LAST_NON_DIRECT = CreditRule(Weighting.LAST, MONTH, ignore_direct=True)
LINEAR_CREDIT = CreditRule(Weighting.LINEAR, MONTH)
SOURCE = touch_column("attribution_source")

GOOGLE = campaign_columns("google", "cpc", "spring")
NEWS = campaign_columns("news", "email", "march", channel="email")
PARTNER = referral_columns("partner.example", "referral", "referral")


async def touch_sources(store: Store, builder: EventBuilder, person: str = "v:A1") -> list[str | None]:
    """Returns the sources of a person's touches, oldest first."""
    return [
        touch.source for touch in await store.list_latest_person_touches(builder.query_scope(SPAN), person)
    ]


def add_visits_in_own_sessions(
    builder: EventBuilder, *visits: tuple[str, dict[str, object]], visitor: str = "A1"
) -> None:
    """Adds page views, each in a session of its own: (time, columns)."""
    for at, columns in visits:
        builder.add_event("page_view", at=at, visitor=visitor, session=at, **columns)


class Attribution(EventStoreKit):
    """Tests of touches, attribution windows, weightings, refunds and touch paths."""

    async def test_touch_is_a_session_start_or_a_source_change_in_the_session(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """The first event of a session makes a touch, and so does each change of the source within it."""
        for hour, columns in enumerate((GOOGLE, GOOGLE, {}, PARTNER, {}, GOOGLE)):
            builder.add_event("page_view", at=f"2026-03-02T{hour:02}:00", visitor="A1", **columns)
        builder.add_event("page_view", at="2026-03-02T09:00", visitor="A1", session="s2")
        builder.add_event("page_view", at="2026-03-02T09:01", visitor="A1", session="s2")
        await store.append(builder.events)
        assert await touch_sources(store, builder) == ["google", "partner.example", "google", "(direct)"]

    async def test_touches_come_from_visits_and_campaign_events_but_not_from_bots(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """Visits and events with campaign values make touches; other events and bots do not."""
        builder.add_event("purchase", at="2026-03-02T01:00", visitor="A1", session="s1", revenue=1)
        builder.add_event("purchase", at="2026-03-02T02:00", visitor="A1", session="s2", revenue=1, **GOOGLE)
        builder.add_event("page_view", at="2026-03-02T03:00", visitor="A1", session="s3", is_bot=True)
        builder.add_event("session_start", at="2026-03-02T04:00", visitor="A1", session="s4")
        await store.append(builder.events)
        assert await touch_sources(store, builder) == ["google", "(direct)"]

    async def test_touch_has_campaign_click_id_referrer_and_landing_page_of_its_event(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """A touch has the source, UTM values, click ids, referrer and landing page of its event."""
        page = {"referrer": "https://t.example/", "landing_page": "https://shop.example/in"}
        click = {"click_id": "c1", "click_id_type": "gclid", "gclid": "c1", "lyr": "x9"}
        builder.add_event("page_view", at="2026-03-02", visitor="A1", **GOOGLE, **page, **click)
        await store.append(builder.events)
        (touch,) = await store.list_latest_person_touches(builder.query_scope(SPAN), "v:A1")
        assert (touch.source, touch.medium, touch.channel) == ("google", "cpc", "paid_search")
        assert (touch.utm_source, touch.utm_medium, touch.campaign) == ("google", "cpc", "spring")
        assert (touch.click_id, touch.click_id_type, touch.lyr) == ("c1", "gclid", "x9")
        assert (touch.referrer, touch.landing_page) == tuple(page.values())

    async def test_revisit_that_repeats_stored_campaign_values_makes_no_touch(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """A session whose campaign values are stored ones of an earlier touch, not of its URL, makes no touch."""
        carried = GOOGLE | {"campaign_in_url": False}
        builder.add_event("page_view", at="2026-03-02T01:00", visitor="A1", session="s1", **GOOGLE)
        builder.add_event("page_view", at="2026-03-02T02:00", visitor="A1", session="s2", **carried)
        builder.add_event("page_view", at="2026-03-02T03:00", visitor="A1", session="s2")
        builder.add_event("page_view", at="2026-03-02T04:00", visitor="A1", session="s3", **GOOGLE)
        await store.append(builder.events)
        times = [
            f"{t.timestamp:%H}"
            for t in await store.list_latest_person_touches(builder.query_scope(SPAN), "v:A1")
        ]
        assert times == ["01", "04"]

    async def test_referrer_wins_over_stored_campaign_values_of_an_earlier_touch(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """A touch with a referrer and stored campaign values takes its source from the referrer and has no campaign."""
        builder.add_event("page_view", at="2026-03-02T01:00", visitor="A1", session="s1", **GOOGLE)
        both = PARTNER | GOOGLE | {"campaign_in_url": False}
        builder.add_event("page_view", at="2026-03-02T02:00", visitor="A1", session="s2", **both)
        await store.append(builder.events)
        _, touch = await store.list_latest_person_touches(builder.query_scope(SPAN), "v:A1")
        assert (touch.source, touch.channel, touch.campaign) == ("partner.example", "referral", None)

    async def test_stored_campaign_values_are_recognized_across_visitors_of_one_person(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """Stored campaign values make no touch when another visitor of the same person had the touch.

        For other persons they do.
        """
        carried = GOOGLE | {"campaign_in_url": False}
        builder.add_event("page_view", at="2026-03-02T01:00", visitor="A1", **GOOGLE)
        builder.add_event("page_view", at="2026-03-02T02:00", visitor="A2", **carried)
        for visitor in ("A1", "A2"):
            builder.add_event("$identify", at="2026-03-02T03:00", visitor=visitor, strong_id="U1")
        builder.add_event("page_view", at="2026-03-02T04:00", visitor="A3", **carried)
        await store.append(builder.events)
        assert await touch_sources(store, builder, "u:U1") == ["google"]
        assert await touch_sources(store, builder, "v:A3") == ["google"]

    async def test_touches_at_both_ends_of_the_attribution_window_get_credit(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """Touches exactly at the window's start and at the conversion get credit.

        One second outside they get none.
        """
        add_visits_in_own_sessions(builder, ("2026-03-02T11:59:59", GOOGLE), ("2026-03-02T12:00", NEWS))
        add_visits_in_own_sessions(builder, ("2026-03-09T12:00", PARTNER), ("2026-03-09T12:00:01", GOOGLE))
        builder.add_event("purchase", at="2026-03-09T12:00", visitor="A1", revenue=1)
        await store.append(builder.events)
        rule = CreditRule(Weighting.LINEAR, timedelta(days=7))
        answer = await measure_by_columns(store, builder.query_scope(SPAN), CREDITED, SOURCE, credit=rule)
        assert answer == {"news": 500_000, "partner.example": 500_000}

    async def test_ignore_direct_credits_the_other_touches_when_there_are_any(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """With `ignore_direct` the direct touches of a path with other touches get no credit."""
        facebook = campaign_columns("facebook", "paid_social", channel="paid_social")
        add_visits_in_own_sessions(
            builder, ("2026-03-02", GOOGLE), ("2026-03-03", {}), ("2026-03-04", facebook), ("2026-03-05", {})
        )
        builder.add_event("signup", at="2026-03-06", visitor="A1")
        await store.append(builder.events)
        scope = builder.query_scope(SPAN)
        even = CreditRule(Weighting.LINEAR, MONTH, ignore_direct=True)
        for rule, expected in (
            (LAST_NON_DIRECT, {"facebook": 1_000_000}),
            (LAST_TOUCH, {"(direct)": 1_000_000}),
            (even, {"google": 500_000, "facebook": 500_000}),
        ):
            assert await measure_by_columns(store, scope, CREDITED, SOURCE, credit=rule) == expected

    async def test_direct_only_path_is_credited_to_direct_and_no_touch_is_unattributed(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """Direct touches get the credit when a path has no others.

        A conversion without touches is unattributed.
        """
        add_visits_in_own_sessions(builder, ("2026-03-02", {}))
        builder.add_event("signup", at="2026-03-03", visitor="A1")
        builder.add_event("signup", at="2026-03-03", visitor="A2")
        await store.append(builder.events)
        answer = await measure_by_columns(
            store,
            builder.query_scope(SPAN),
            CREDITED,
            touch_column("channel"),
            "attributed",
            credit=LAST_NON_DIRECT,
        )
        assert answer == {("direct", True): 1_000_000, (None, False): 1_000_000}

    async def test_each_weighting_splits_credit_and_money_over_four_touches_as_documented(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """First, last, linear, position-based and time-decay weights give the documented credits and amounts."""
        for day, name in ((2, "a"), (9, "b"), (15, "c"), (16, "d")):
            add_visits_in_own_sessions(builder, (f"2026-03-{day:02}", campaign_columns(name, "cpc")))
        builder.add_event("purchase", at="2026-03-16", visitor="A1", revenue=10000)
        await store.append(builder.events)
        for weighting, credit, money in (
            (Weighting.FIRST, {"a": 1_000_000}, {"a": 10000}),
            (Weighting.LAST, {"d": 1_000_000}, {"d": 10000}),
            (
                Weighting.LINEAR,
                dict.fromkeys("abcd", 250_000),
                dict.fromkeys("abcd", 2500),
            ),
            (
                Weighting.POSITION_BASED,
                {"a": 400_000, "b": 100_000, "c": 100_000, "d": 400_000},
                {"a": 4000, "b": 1000, "c": 1000, "d": 4000},
            ),
            (
                Weighting.TIME_DECAY,
                {"a": 94_136, "b": 188_273, "c": 341_046, "d": 376_545},
                {"a": 941, "b": 1883, "c": 3411, "d": 3765},
            ),
        ):
            rule = CreditRule(weighting, MONTH)
            scope = builder.query_scope(SPAN)
            assert await measure_by_columns(store, scope, CREDITED, SOURCE, credit=rule) == credit, weighting
            assert await measure_by_columns(store, scope, CREDITED_MONEY, SOURCE, credit=rule) == money, (
                weighting
            )

    async def test_remainder_of_a_split_goes_to_the_earlier_touch(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """Minor units and credits that do not divide evenly go to the earlier touches, per currency."""
        for day, name in enumerate("abc"):
            add_visits_in_own_sessions(builder, (f"2026-03-0{day + 2}", campaign_columns(name, "cpc")))
        builder.add_event("purchase", at="2026-03-09", visitor="A1", revenue=1000, currency="JPY")
        builder.add_event("purchase", at="2026-03-09", visitor="A1", revenue=10000)
        await store.append(builder.events)
        answer = await measure_by_columns(
            store, builder.query_scope(SPAN), CREDITED_MONEY, SOURCE, "currency", credit=LINEAR_CREDIT
        )
        assert answer == {
            ("a", "JPY"): 334, ("b", "JPY"): 333, ("c", "JPY"): 333,
            ("a", "USD"): 3334, ("b", "USD"): 3333, ("c", "USD"): 3333,
        }  # fmt: skip
        shares = await measure_by_columns(
            store, builder.query_scope(SPAN), CREDITED, SOURCE, credit=LINEAR_CREDIT
        )
        assert shares == {"a": 666_668, "b": 666_666, "c": 666_666}

    async def test_position_based_weighting_splits_ten_over_five_touches(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """Position-based weighting of 10.00 over five touches gives 4.00, 0.67, 0.67, 0.66 and 4.00."""
        for day, name in enumerate("abcde"):
            add_visits_in_own_sessions(builder, (f"2026-03-0{day + 2}", campaign_columns(name, "cpc")))
        builder.add_event("purchase", at="2026-03-09", visitor="A1", revenue=1000)
        await store.append(builder.events)
        rule = CreditRule(Weighting.POSITION_BASED, MONTH)
        answer = await measure_by_columns(
            store, builder.query_scope(SPAN), CREDITED_MONEY, SOURCE, credit=rule
        )
        assert answer == {"a": 400, "b": 67, "c": 67, "d": 66, "e": 400}

    async def test_credit_is_booked_at_the_conversion_or_with_book_at_touch_at_the_touch(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """Credit belongs to the conversion's time; with `book_at_touch` to the time of each touch."""
        add_visits_in_own_sessions(builder, ("2026-02-27", GOOGLE), ("2026-03-01", NEWS))
        builder.add_event("signup", at="2026-03-02", visitor="A1")
        await store.append(builder.events)
        by_touch = CreditRule(Weighting.LINEAR, MONTH, book_at_touch=True)
        scope, before = (
            builder.query_scope(SPAN),
            builder.query_scope(whole_utc_days("2026-02-01", "2026-02-28")),
        )
        assert await measure_by_columns(store, scope, CREDITED, SOURCE, credit=LINEAR_CREDIT) == {
            "google": 500_000,
            "news": 500_000,
        }
        assert await measure_by_columns(store, scope, CREDITED, SOURCE, credit=by_touch) == {"news": 500_000}
        assert await measure_by_columns(store, before, CREDITED, SOURCE, credit=by_touch) == {
            "google": 500_000
        }

    async def test_book_at_touch_books_late_refunds_at_the_touch_of_their_order(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """With `book_at_touch` a refund is booked at its order's touch, however late it comes.

        Without a touch at its own time.
        """
        week = CreditRule(Weighting.LAST, timedelta(days=7), book_at_touch=True)
        add_visits_in_own_sessions(builder, ("2026-03-20", GOOGLE), ("2026-02-01", NEWS))
        for order, day, amount in (("O1", "03-21", 900), ("O2", "02-02", 70), ("O3", "02-20", 5)):
            builder.add_event("purchase", at=f"2026-{day}", visitor="A1", order_id=order, revenue=amount)
        for order, day in (("O1", "05-20"), ("O2", "03-10"), ("O3", "03-11")):
            builder.add_event("refund", at=f"2026-{day}", visitor="A1", order_id=order, revenue=-3)
        await store.append(builder.events)
        refunded = await measure_by_columns(
            store, builder.query_scope(SPAN), CREDITED_REFUNDS, SOURCE, credit=week
        )
        assert refunded == {"google": 3, None: 3}
        by_order = builder.query_scope(SPAN, order_refunds=True)
        assert await measure_by_columns(store, by_order, CREDITED_REFUNDS, SOURCE, credit=week) == {
            "google": 3
        }

    async def test_refund_is_credited_to_the_touches_of_its_order(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """A refund is credited to the touches of its order, whoever reports it.

        Without an order it is unattributed.
        """
        add_visits_in_own_sessions(builder, ("2026-02-20", GOOGLE))
        builder.add_event("purchase", at="2026-02-21", visitor="A1", order_id="O1", revenue=900)
        add_visits_in_own_sessions(builder, ("2026-03-02", NEWS))
        builder.add_event("refund", at="2026-03-03", visitor="support", order_id="O1", revenue=-900)
        builder.add_event("refund", at="2026-03-03", visitor="A1", order_id="O2", revenue=-5)
        await store.append(builder.events)
        scope = builder.query_scope(SPAN)
        refunded = await measure_by_columns(store, scope, CREDITED_REFUNDS, SOURCE, credit=LAST_TOUCH)
        assert refunded == {"google": 900, None: 5}
        assert await measure_by_columns(store, scope, CREDITED, SOURCE, credit=LAST_TOUCH) == {
            "google": 0,
            None: 0,
        }

    async def test_event_names_of_a_credit_rule_limit_the_credited_conversions(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """Only conversions with an event name of the rule get credit; `is_order` counts orders alone."""
        add_visits_in_own_sessions(builder, ("2026-03-02", GOOGLE))
        builder.add_event("signup", at="2026-03-03", visitor="A1")
        builder.add_event("purchase", at="2026-03-04", visitor="A1", revenue=700)
        await store.append(builder.events)
        only = CreditRule(Weighting.LAST, MONTH, event_names=frozenset({"signup"}))
        answer = await measure_by_columns(
            store, builder.query_scope(SPAN), CREDITED, "event_name", credit=only
        )
        assert answer == {"signup": 1_000_000}
        orders = Aggregation(Relation.CREDITS, Column("is_order"))
        assert await measure_by_columns(
            store, builder.query_scope(SPAN), orders, SOURCE, credit=LAST_TOUCH
        ) == {"google": 1}

    async def test_what_happened_before_the_window_decides_whether_a_visit_in_it_is_a_touch(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """A visit that repeats stored campaign values, or goes on in a session from before the window, is no touch."""
        stored = campaign_columns("google", "cpc", "spring", in_url=False)
        add_visits_in_own_sessions(builder, ("2025-06-01", GOOGLE), ("2026-03-20", stored))
        builder.add_event("page_view", at="2026-03-12T23:59", visitor="A2", session="long", **NEWS)
        builder.add_event("page_view", at="2026-03-13T00:01", visitor="A2", session="long", **NEWS)
        add_visits_in_own_sessions(builder, ("2025-06-01", NEWS), ("2026-03-21", stored), visitor="A3")
        for visitor in ("A1", "A2", "A3"):
            builder.add_event("signup", at="2026-03-23", visitor=visitor)
        await store.append(builder.events)
        rule = CreditRule(Weighting.LAST, timedelta(days=10), ignore_direct=True)
        scope = builder.query_scope(whole_utc_days("2026-03-23", "2026-03-23"))
        answer = await measure_by_columns(store, scope, CREDITED, SOURCE, "attributed", credit=rule)
        assert answer == {("google", True): 1_000_000, (None, False): 2_000_000}

    async def test_reported_touches_count_only_for_persons_without_any_earlier_touch(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """A touch of a client's own, however long before the window, leaves reported touches without credit."""
        reported = reported_touch_columns("last", "2026-03-20", "news", "email", "email")
        add_visits_in_own_sessions(builder, ("2025-06-01", GOOGLE), visitor="A1")
        for visitor in ("A1", "A2"):
            builder.add_event(
                "signup", at="2026-03-23", visitor=visitor, source="server", reported_touches=reported
            )
        await store.append(builder.events)
        rule = CreditRule(Weighting.LAST, timedelta(days=10))
        scope = builder.query_scope(whole_utc_days("2026-03-23", "2026-03-23"))
        answer = await measure_by_columns(store, scope, CREDITED, SOURCE, "attributed", credit=rule)
        assert answer == {("news", True): 1_000_000, (None, False): 1_000_000}

    async def test_refund_of_an_old_order_follows_the_report_of_it_that_counts(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """The order of a refund may lie long before the range, and another report of it may supersede the first."""
        add_visits_in_own_sessions(builder, ("2025-06-01", GOOGLE), ("2025-06-03", NEWS))
        builder.add_event("purchase", at="2025-06-02", visitor="A1", order_id="O1", revenue=1000)
        builder.add_event(
            "purchase",
            at="2025-06-04",
            visitor="A1",
            source="payments",
            order_id="O1",
            payment_id="P1",
            revenue=1000,
        )
        builder.add_event("refund", at="2026-03-23", visitor="A1", payment_id="P1", revenue=-400)
        await store.append(builder.events)
        scope = builder.query_scope(SPAN)
        answer = await measure_by_columns(store, scope, CREDITED_REFUNDS, SOURCE, credit=LAST_NON_DIRECT)
        assert answer == {"news": 400}
