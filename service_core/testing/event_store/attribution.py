"""Touches, and how conversions are credited to them."""

from datetime import timedelta

from service_core.analytics.measures import Aggregation, Column, Relation, touch_column
from service_core.analytics.ports import CreditRule, TouchPathQuery, Weighting
from service_core.testing.event_builder import (
    EventBuilder,
    campaign,
    referral,
    reported_touch,
    whole_utc_days,
)
from service_core.testing.event_store.kit import (
    CREDITED,
    CREDITED_MONEY,
    CREDITED_REFUNDS,
    Kit,
    Store,
    measure_by_columns,
)

SPAN = whole_utc_days("2026-03-01", "2026-03-31")
MONTH = timedelta(days=30)
LAST = CreditRule(Weighting.LAST, MONTH)
LAST_NON_DIRECT = CreditRule(Weighting.LAST, MONTH, ignore_direct=True)
EVEN = CreditRule(Weighting.LINEAR, MONTH)
SOURCE = touch_column("attribution_source")

GOOGLE = campaign("google", "cpc", "spring")
NEWS = campaign("news", "email", "march", channel="email")
PARTNER = referral("partner.example", "referral", "referral")


async def touch_sources(store: Store, story: EventBuilder, person: str = "v:A1") -> list[str | None]:
    """Sources of a person's touches."""
    return [touch.source for touch in await store.list_person_touches(story.scan(SPAN), person)]


class Attribution(Kit):
    """Semantics 8 and 9."""

    async def test_a_touch_is_the_first_of_a_session_or_a_change_in_it(
        self, store: Store, story: EventBuilder
    ) -> None:
        for hour, columns in enumerate((GOOGLE, GOOGLE, {}, PARTNER, {}, GOOGLE)):
            story.add_event("page_view", at=f"2026-03-02T{hour:02}:00", visitor="A1", **columns)
        story.add_event("page_view", at="2026-03-02T09:00", visitor="A1", session="s2")
        story.add_event("page_view", at="2026-03-02T09:01", visitor="A1", session="s2")
        await store.append(story.events)
        assert await touch_sources(store, story) == ["google", "partner.example", "google", "(direct)"]

    async def test_only_visits_and_campaign_events_make_touches(
        self, store: Store, story: EventBuilder
    ) -> None:
        story.add_event("purchase", at="2026-03-02T01:00", visitor="A1", session="s1", revenue=1)
        story.add_event("purchase", at="2026-03-02T02:00", visitor="A1", session="s2", revenue=1, **GOOGLE)
        story.add_event("page_view", at="2026-03-02T03:00", visitor="A1", session="s3", is_bot=True)
        story.add_event("session_start", at="2026-03-02T04:00", visitor="A1", session="s4")
        await store.append(story.events)
        assert await touch_sources(store, story) == ["google", "(direct)"]

    async def test_a_touch_shows_what_the_visit_carried(self, store: Store, story: EventBuilder) -> None:
        page = {"referrer": "https://t.example/", "landing_page": "https://shop.example/in"}
        click = {"click_id": "c1", "click_id_type": "gclid", "gclid": "c1", "lyr": "x9"}
        story.add_event("page_view", at="2026-03-02", visitor="A1", **GOOGLE, **page, **click)
        await store.append(story.events)
        (touch,) = await store.list_person_touches(story.scan(SPAN), "v:A1")
        assert (touch.source, touch.medium, touch.channel) == ("google", "cpc", "paid_search")
        assert (touch.utm_source, touch.utm_medium, touch.campaign) == ("google", "cpc", "spring")
        assert (touch.click_id, touch.click_id_type, touch.lyr) == ("c1", "gclid", "x9")
        assert (touch.referrer, touch.landing_page) == tuple(page.values())

    async def test_a_direct_revisit_with_stored_values_makes_no_touch(
        self, store: Store, story: EventBuilder
    ) -> None:
        carried = GOOGLE | {"campaign_in_url": False}
        story.add_event("page_view", at="2026-03-02T01:00", visitor="A1", session="s1", **GOOGLE)
        story.add_event("page_view", at="2026-03-02T02:00", visitor="A1", session="s2", **carried)
        story.add_event("page_view", at="2026-03-02T03:00", visitor="A1", session="s2")
        story.add_event("page_view", at="2026-03-02T04:00", visitor="A1", session="s3", **GOOGLE)
        await store.append(story.events)
        times = [f"{t.timestamp:%H}" for t in await store.list_person_touches(story.scan(SPAN), "v:A1")]
        assert times == ["01", "04"]

    async def test_carried_values_beside_a_referrer_leave_the_referrer_alone(
        self, store: Store, story: EventBuilder
    ) -> None:
        story.add_event("page_view", at="2026-03-02T01:00", visitor="A1", session="s1", **GOOGLE)
        both = PARTNER | GOOGLE | {"campaign_in_url": False}
        story.add_event("page_view", at="2026-03-02T02:00", visitor="A1", session="s2", **both)
        await store.append(story.events)
        _, touch = await store.list_person_touches(story.scan(SPAN), "v:A1")
        assert (touch.source, touch.channel, touch.campaign) == ("partner.example", "referral", None)

    async def test_values_are_carried_by_the_person_across_devices(
        self, store: Store, story: EventBuilder
    ) -> None:
        carried = GOOGLE | {"campaign_in_url": False}
        story.add_event("page_view", at="2026-03-02T01:00", visitor="A1", **GOOGLE)
        story.add_event("page_view", at="2026-03-02T02:00", visitor="A2", **carried)
        for visitor in ("A1", "A2"):
            story.add_event("$identify", at="2026-03-02T03:00", visitor=visitor, strong_id="U1")
        story.add_event("page_view", at="2026-03-02T04:00", visitor="A3", **carried)
        await store.append(story.events)
        assert await touch_sources(store, story, "u:U1") == ["google"]
        assert await touch_sources(store, story, "v:A3") == ["google"]

    def add_visits(
        self, story: EventBuilder, *visits: tuple[str, dict[str, object]], visitor: str = "A1"
    ) -> None:
        """Page views in sessions of their own."""
        for at, columns in visits:
            story.add_event("page_view", at=at, visitor=visitor, session=at, **columns)

    async def test_a_touch_counts_inside_the_window_with_both_ends(
        self, store: Store, story: EventBuilder
    ) -> None:
        self.add_visits(story, ("2026-03-02T11:59:59", GOOGLE), ("2026-03-02T12:00", NEWS))
        self.add_visits(story, ("2026-03-09T12:00", PARTNER), ("2026-03-09T12:00:01", GOOGLE))
        story.add_event("purchase", at="2026-03-09T12:00", visitor="A1", revenue=1)
        await store.append(story.events)
        rule = CreditRule(Weighting.LINEAR, timedelta(days=7))
        found = await measure_by_columns(store, story.scan(SPAN), CREDITED, SOURCE, credit=rule)
        assert found == {"news": 500_000, "partner.example": 500_000}

    async def test_direct_counts_only_where_nothing_else_does(
        self, store: Store, story: EventBuilder
    ) -> None:
        facebook = campaign("facebook", "paid_social", channel="paid_social")
        self.add_visits(
            story, ("2026-03-02", GOOGLE), ("2026-03-03", {}), ("2026-03-04", facebook), ("2026-03-05", {})
        )
        story.add_event("signup", at="2026-03-06", visitor="A1")
        await store.append(story.events)
        scan = story.scan(SPAN)
        even = CreditRule(Weighting.LINEAR, MONTH, ignore_direct=True)
        for rule, expected in (
            (LAST_NON_DIRECT, {"facebook": 1_000_000}),
            (LAST, {"(direct)": 1_000_000}),
            (even, {"google": 500_000, "facebook": 500_000}),
        ):
            assert await measure_by_columns(store, scan, CREDITED, SOURCE, credit=rule) == expected

    async def test_a_path_of_direct_touches_is_direct_and_none_is_unattributed(
        self, store: Store, story: EventBuilder
    ) -> None:
        self.add_visits(story, ("2026-03-02", {}))
        story.add_event("signup", at="2026-03-03", visitor="A1")
        story.add_event("signup", at="2026-03-03", visitor="A2")
        await store.append(story.events)
        found = await measure_by_columns(
            store, story.scan(SPAN), CREDITED, touch_column("channel"), "attributed", credit=LAST_NON_DIRECT
        )
        assert found == {("direct", True): 1_000_000, (None, False): 1_000_000}

    async def test_the_golden_shares_of_every_weighting(self, store: Store, story: EventBuilder) -> None:
        for day, name in ((2, "a"), (9, "b"), (15, "c"), (16, "d")):
            self.add_visits(story, (f"2026-03-{day:02}", campaign(name, "cpc")))
        story.add_event("purchase", at="2026-03-16", visitor="A1", revenue=10000)
        await store.append(story.events)
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
            scan = story.scan(SPAN)
            assert await measure_by_columns(store, scan, CREDITED, SOURCE, credit=rule) == credit, weighting
            assert await measure_by_columns(store, scan, CREDITED_MONEY, SOURCE, credit=rule) == money, (
                weighting
            )

    async def test_what_does_not_divide_goes_to_the_earlier_touch(
        self, store: Store, story: EventBuilder
    ) -> None:
        for day, name in enumerate("abc"):
            self.add_visits(story, (f"2026-03-0{day + 2}", campaign(name, "cpc")))
        story.add_event("purchase", at="2026-03-09", visitor="A1", revenue=1000, currency="JPY")
        story.add_event("purchase", at="2026-03-09", visitor="A1", revenue=10000)
        await store.append(story.events)
        found = await measure_by_columns(
            store, story.scan(SPAN), CREDITED_MONEY, SOURCE, "currency", credit=EVEN
        )
        assert found == {
            ("a", "JPY"): 334, ("b", "JPY"): 333, ("c", "JPY"): 333,
            ("a", "USD"): 3334, ("b", "USD"): 3333, ("c", "USD"): 3333,
        }  # fmt: skip
        shares = await measure_by_columns(store, story.scan(SPAN), CREDITED, SOURCE, credit=EVEN)
        assert shares == {"a": 666_668, "b": 666_666, "c": 666_666}

    async def test_ends_and_middle_split_ten_over_five(self, store: Store, story: EventBuilder) -> None:
        for day, name in enumerate("abcde"):
            self.add_visits(story, (f"2026-03-0{day + 2}", campaign(name, "cpc")))
        story.add_event("purchase", at="2026-03-09", visitor="A1", revenue=1000)
        await store.append(story.events)
        rule = CreditRule(Weighting.POSITION_BASED, MONTH)
        found = await measure_by_columns(store, story.scan(SPAN), CREDITED_MONEY, SOURCE, credit=rule)
        assert found == {"a": 400, "b": 67, "c": 67, "d": 66, "e": 400}

    async def test_credit_is_booked_on_the_conversion_or_on_the_touch(
        self, store: Store, story: EventBuilder
    ) -> None:
        self.add_visits(story, ("2026-02-27", GOOGLE), ("2026-03-01", NEWS))
        story.add_event("signup", at="2026-03-02", visitor="A1")
        await store.append(story.events)
        by_touch = CreditRule(Weighting.LINEAR, MONTH, book_at_touch=True)
        scan, before = story.scan(SPAN), story.scan(whole_utc_days("2026-02-01", "2026-02-28"))
        assert await measure_by_columns(store, scan, CREDITED, SOURCE, credit=EVEN) == {
            "google": 500_000,
            "news": 500_000,
        }
        assert await measure_by_columns(store, scan, CREDITED, SOURCE, credit=by_touch) == {"news": 500_000}
        assert await measure_by_columns(store, before, CREDITED, SOURCE, credit=by_touch) == {
            "google": 500_000
        }

    async def test_a_refund_is_booked_by_touch_however_late_it_comes(
        self, store: Store, story: EventBuilder
    ) -> None:
        week = CreditRule(Weighting.LAST, timedelta(days=7), book_at_touch=True)
        self.add_visits(story, ("2026-03-20", GOOGLE), ("2026-02-01", NEWS))
        for order, day, amount in (("O1", "03-21", 900), ("O2", "02-02", 70), ("O3", "02-20", 5)):
            story.add_event("purchase", at=f"2026-{day}", visitor="A1", order_id=order, revenue=amount)
        for order, day in (("O1", "05-20"), ("O2", "03-10"), ("O3", "03-11")):
            story.add_event("refund", at=f"2026-{day}", visitor="A1", order_id=order, revenue=-3)
        await store.append(story.events)
        refunded = await measure_by_columns(store, story.scan(SPAN), CREDITED_REFUNDS, SOURCE, credit=week)
        assert refunded == {"google": 3, None: 3}
        by_order = story.scan(SPAN, order_refunds=True)
        assert await measure_by_columns(store, by_order, CREDITED_REFUNDS, SOURCE, credit=week) == {
            "google": 3
        }

    async def test_a_refund_follows_the_path_of_its_order(self, store: Store, story: EventBuilder) -> None:
        self.add_visits(story, ("2026-02-20", GOOGLE))
        story.add_event("purchase", at="2026-02-21", visitor="A1", order_id="O1", revenue=900)
        self.add_visits(story, ("2026-03-02", NEWS))
        story.add_event("refund", at="2026-03-03", visitor="support", order_id="O1", revenue=-900)
        story.add_event("refund", at="2026-03-03", visitor="A1", order_id="O2", revenue=-5)
        await store.append(story.events)
        scan = story.scan(SPAN)
        refunded = await measure_by_columns(store, scan, CREDITED_REFUNDS, SOURCE, credit=LAST)
        assert refunded == {"google": 900, None: 5}
        assert await measure_by_columns(store, scan, CREDITED, SOURCE, credit=LAST) == {"google": 0, None: 0}

    async def test_an_event_name_narrows_what_is_shared(self, store: Store, story: EventBuilder) -> None:
        self.add_visits(story, ("2026-03-02", GOOGLE))
        story.add_event("signup", at="2026-03-03", visitor="A1")
        story.add_event("purchase", at="2026-03-04", visitor="A1", revenue=700)
        await store.append(story.events)
        only = CreditRule(Weighting.LAST, MONTH, event_names=frozenset({"signup"}))
        found = await measure_by_columns(store, story.scan(SPAN), CREDITED, "event_name", credit=only)
        assert found == {"signup": 1_000_000}
        orders = Aggregation(Relation.CREDITS, Column("is_order"))
        assert await measure_by_columns(store, story.scan(SPAN), orders, SOURCE, credit=LAST) == {"google": 1}

    async def test_touches_that_were_told_count_where_a_person_has_none_of_its_own(
        self, store: Store, story: EventBuilder
    ) -> None:
        first = reported_touch("first", "2026-03-01", "bing", "cpc", "paid_search")
        last = reported_touch("last", "2026-03-05", "news", "email", "email")
        story.add_event("purchase", at="2026-03-09", visitor="A1", revenue=1001, told=first | last)
        await store.append(story.events)
        scan = story.scan(SPAN)
        for rule, credit, money in (
            (EVEN, {"bing": 500_000, "news": 500_000}, {"bing": 501, "news": 500}),
            (LAST, {"news": 1_000_000}, {"news": 1001}),
            (CreditRule(Weighting.LAST, timedelta(days=3)), {None: 1_000_000}, {None: 1001}),
            (CreditRule(Weighting.FIRST, timedelta(days=4)), {"news": 1_000_000}, {"news": 1001}),
        ):
            assert await measure_by_columns(store, scan, CREDITED, SOURCE, credit=rule) == credit, rule
            assert await measure_by_columns(store, scan, CREDITED_MONEY, SOURCE, credit=rule) == money, rule
        assert await store.list_person_touches(scan, "v:A1") == []
        (path,) = await store.list_touch_paths(TouchPathQuery(scan, MONTH, (touch_column("channel"),)))
        assert (path.keys, path.converted, path.unconverted) == ((("paid_search",), ("email",)), 1, 0)

    async def test_a_touch_of_ones_own_before_a_conversion_beats_what_is_told(
        self, store: Store, story: EventBuilder
    ) -> None:
        said = reported_touch("first", "2026-03-01", "bing", "cpc", "paid_search")
        story.add_event("signup", at="2026-03-02", visitor="A1", told=said)
        self.add_visits(story, ("2026-03-02T01:00", {}))
        story.add_event("signup", at="2026-03-02T01:00", visitor="A1", told=said)
        self.add_visits(story, ("2026-01-01", GOOGLE), visitor="old")
        story.add_event("signup", at="2026-03-02", visitor="old", told=said)
        await store.append(story.events)
        found = await measure_by_columns(store, story.scan(SPAN), CREDITED, SOURCE, credit=LAST)
        assert found == {"bing": 1_000_000, "(direct)": 1_000_000, None: 1_000_000}

    async def test_the_latest_event_up_to_the_conversion_tells_for_the_person(
        self, store: Store, story: EventBuilder
    ) -> None:
        for day, source in ((2, "bing"), (4, "news"), (8, "later")):
            said = reported_touch("last", "2026-03-01", source, "cpc", "paid_search")
            story.add_event("scroll", at=f"2026-03-0{day}", visitor=f"A{day}", strong_id="U1", told=said)
        said = reported_touch("last", "2026-03-01", "bot", "cpc", "paid_search")
        story.add_event("scroll", at="2026-03-05", visitor="A5", strong_id="U1", told=said, is_bot=True)
        story.add_event("purchase", at="2026-03-06", visitor="A6", strong_id="U1", order_id="O1", revenue=90)
        story.add_event("refund", at="2026-03-09", visitor="A9", order_id="O1", revenue=-90)
        await store.append(story.events)
        scan = story.scan(SPAN)
        assert await measure_by_columns(store, scan, CREDITED, SOURCE, credit=LAST) == {"news": 1_000_000}
        assert await measure_by_columns(store, scan, CREDITED_REFUNDS, SOURCE, credit=LAST) == {"news": 90}

    async def test_what_is_told_makes_no_path_without_a_conversion(
        self, store: Store, story: EventBuilder
    ) -> None:
        said = reported_touch("first", "2026-03-01", "bing", "cpc", "paid_search")
        story.add_event("scroll", at="2026-03-02", visitor="A1", told=said)
        await store.append(story.events)
        assert (
            await store.list_touch_paths(TouchPathQuery(story.scan(SPAN), MONTH, (touch_column("channel"),)))
            == []
        )

    async def test_paths_count_conversions_and_the_persons_without_one(
        self, store: Store, story: EventBuilder
    ) -> None:
        a, b = campaign("A", "cpc"), campaign("B", "cpc")
        walks = {"p1": (a, a), "p2": (a,), "p3": (b,), "p4": (a, b), "p5": (a,)}
        for visitor, walk in walks.items():
            for day, columns in enumerate(walk):
                self.add_visits(story, (f"2026-03-0{day + 2}", columns), visitor=visitor)
            if visitor != "p5":
                story.add_event("signup", at="2026-03-09", visitor=visitor)
        self.add_visits(story, ("2026-03-12", b), visitor="p1")
        story.add_event("signup", at="2026-03-09", visitor="untouched")
        await store.append(story.events)
        found = await store.list_touch_paths(
            TouchPathQuery(
                story.scan(SPAN),
                MONTH,
                (touch_column("utm_source").or_else(touch_column("attribution_source")),),
            )
        )
        assert {tuple(k for (k,) in p.keys): (p.converted, p.unconverted) for p in found} == {
            ("A",): (2, 1),
            ("B",): (1, 0),
            ("A", "B"): (1, 0),
        }

    async def test_a_path_without_a_conversion_begins_a_window_before_the_span(
        self, store: Store, story: EventBuilder
    ) -> None:
        """A touch counts from the window before the span on, and a conversion before the span is none in it."""
        a, b = campaign("A", "cpc"), campaign("B", "cpc")
        self.add_visits(story, ("2026-02-21T23:59:59", b), ("2026-02-22", a), visitor="p1")
        self.add_visits(story, ("2026-02-23", a), ("2026-03-31T23:59:59", b), ("2026-04-01", a), visitor="p2")
        story.add_event("signup", at="2026-02-24", visitor="p2")
        await store.append(story.events)
        plan = TouchPathQuery(
            story.scan(SPAN),
            timedelta(days=7),
            (touch_column("utm_source").or_else(touch_column("attribution_source")),),
        )
        found = {
            tuple(k for (k,) in p.keys): (p.converted, p.unconverted)
            for p in await store.list_touch_paths(plan)
        }
        assert found == {("A",): (0, 1), ("A", "B"): (0, 1)}
