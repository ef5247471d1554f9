"""Sessions, engagement, conversions and money: what is counted, and once."""

from typing import Any

from service_core.analytics.measures import (
    Aggregation,
    Column,
    FilterOperator,
    Predicate,
    Relation,
    count_distinct,
    count_rows,
    entry_column,
    property_column,
    sum_column,
)
from service_core.analytics.people.ports import PeoplePageQuery
from service_core.analytics.ports import AggregateQuery, ColumnSort
from service_core.testing.event_builder import EventBuilder, campaign, conversion_set, whole_utc_days
from service_core.testing.event_store.kit import (
    CONVERTED,
    EVENTS,
    PERSONS,
    SESSION_STARTS,
    SESSIONS,
    Kit,
    Store,
    measure,
    measure_by_columns,
)

SPAN = whole_utc_days("2026-03-02", "2026-03-03")
BOUNCED = sum_column("bounced", Relation.SESSIONS)
ENGAGED = sum_column("engaged", Relation.SESSIONS)
CHARGES = count_rows(Relation.PAYMENTS, Predicate("kind", value="charge"))
REVENUE = sum_column("amount", Relation.PAYMENTS, Predicate("kind", value="charge"))
REFUNDS = sum_column("amount", Relation.PAYMENTS, Predicate("kind", value="refund"))
FIRST_ORDERS = sum_column("first_order", Relation.PAYMENTS)


def trailing_active_persons(days: int) -> Aggregation:
    """Active persons of the last days."""
    return Aggregation(Relation.EVENTS, Column("person"), distinct=True, trailing_days=days)


class SessionsAndPayments(Kit):
    """Semantics 6 and 10."""

    async def test_a_session_starts_once_and_counts_wherever_it_goes_on(
        self, store: Store, story: EventBuilder
    ) -> None:
        story.add_event("page_view", at="2026-03-01T23:59", visitor="A1", **campaign("google", "cpc"))
        story.add_event("page_view", at="2026-03-02T00:01", visitor="A1", **campaign("bing", "cpc"))
        story.add_event("page_view", at="2026-03-02T00:02", visitor="A2")
        await store.append(story.events)
        scan = story.scan(SPAN)
        assert await measure(store, scan, SESSIONS, SESSION_STARTS) == (2, 1)
        assert await measure_by_columns(store, scan, SESSIONS, entry_column("attribution_source")) == {
            "google": 1,
            "(direct)": 1,
        }

    async def test_one_session_id_of_two_visitors_is_two_sessions(
        self, store: Store, story: EventBuilder
    ) -> None:
        for visitor in ("A1", "A2"):
            story.add_event("page_view", at="2026-03-02", visitor=visitor, session="same")
        await store.append(story.events)
        assert await measure(store, story.scan(SPAN), SESSIONS, SESSION_STARTS) == (2, 2)

    async def test_the_first_event_of_a_session_is_found_when_it_comes_late(
        self, store: Store, story: EventBuilder
    ) -> None:
        story.add_event("page_view", at="2026-03-02T10:00", visitor="A1", country="DE")
        story.add_event("page_view", at="2026-03-02T09:00", visitor="A1", country="FR")
        await store.append(story.events[:1])
        await store.append(story.events[1:])
        assert await measure_by_columns(store, story.scan(SPAN), EVENTS, entry_column("country")) == {"FR": 2}

    async def test_bots_are_apart_until_they_are_asked_for(self, store: Store, story: EventBuilder) -> None:
        story.add_event("page_view", at="2026-03-02T09:00", visitor="A1", country="FR", is_bot=True)
        story.add_event("page_view", at="2026-03-02T10:00", visitor="A1", country="DE")
        story.add_event("purchase", at="2026-03-02T11:00", visitor="A2", revenue=100, is_bot=True)
        await store.append(story.events)
        leaves = (EVENTS, SESSIONS, PERSONS, CONVERTED, CHARGES)
        assert await measure(store, story.scan(SPAN), *leaves) == (1, 1, 1, 0, 0)
        with_bots = story.scan(SPAN, include_bots=True)
        assert await measure(store, with_bots, *leaves) == (3, 2, 2, 0, 0)
        assert await measure_by_columns(store, story.scan(SPAN), SESSIONS, entry_column("country")) == {
            "DE": 1
        }
        assert await measure_by_columns(store, with_bots, SESSIONS, entry_column("country")) == {
            "FR": 1,
            None: 1,
        }

    async def test_bounced_and_engaged_are_not_opposites(self, store: Store, story: EventBuilder) -> None:
        def session(visitor: str, *said: tuple[str, int, dict[str, Any]]) -> None:
            for name, second, columns in said:
                story.add_event(name, at=f"2026-03-02T10:00:{second:02}", visitor=visitor, **columns)

        session("bounce", ("page_view", 0, {}))
        session("system", ("page_view", 0, {}), ("$identify", 5, {}), ("scroll", 6, {"interactive": False}))
        session("long", ("page_view", 0, {}), ("scroll", 10, {"interactive": False}))
        session("clicked", ("page_view", 0, {}), ("click", 9, {}))
        session("two", ("page_view", 0, {}), ("$pageview", 1, {}))
        session("converted", ("page_view", 0, {}), ("signup", 1, {}))
        session("no_view", ("click", 0, {}), ("click", 30, {}))
        await store.append(story.events)
        bounced = await measure_by_columns(store, story.scan(SPAN), BOUNCED, "visitor_id")
        engaged = await measure_by_columns(store, story.scan(SPAN), ENGAGED, "visitor_id")
        assert {visitor for visitor, met in bounced.items() if met} == {"bounce", "system", "long"}
        assert {visitor for visitor, met in engaged.items() if met} == {"long", "two", "converted"}

    async def test_the_facts_of_a_session_cover_all_of_it(self, store: Store, story: EventBuilder) -> None:
        story.add_event("page_view", at="2026-03-03T23:59", visitor="A1")
        story.add_event("add_to_cart", at="2026-03-04T00:01", visitor="A1")
        story.add_event("order_paid", at="2026-03-04T00:03:00", visitor="A1", revenue=1)
        await store.append(story.events)
        names = ("pageviews", "events", "duration", "has_cart", "has_purchase")
        leaves = [sum_column(name, Relation.SESSIONS) for name in names]
        assert await measure(store, story.scan(SPAN), *leaves) == (1, 3, 240.0, 1, 1)
        assert await measure(store, story.scan(whole_utc_days("2026-03-04", "2026-03-04")), *leaves) == (
            0,
            0,
            0,
            0,
            0,
        )

    async def test_sessions_with_a_cart_are_counted_with_bots_too(
        self, store: Store, story: EventBuilder
    ) -> None:
        story.add_event("add_to_cart", at="2026-03-03T10:00", visitor="A1")
        story.add_event("purchase", at="2026-03-03T10:01", visitor="A1", revenue=1)
        story.add_event("add_to_cart", at="2026-03-03T10:00", visitor="B1", is_bot=True)
        await store.append(story.events)
        carts = [
            count_rows(Relation.SESSIONS, Predicate(name, FilterOperator.EQ, True))
            for name in ("has_cart", "has_purchase")
        ]
        assert await measure(store, story.scan(SPAN), *carts) == (1, 1)
        assert await measure(store, story.scan(SPAN, include_bots=True), *carts) == (2, 1)

    async def test_active_persons_look_back_whole_local_days(self, store: Store, story: EventBuilder) -> None:
        zone = "America/New_York"  # March 8 has 23 hours there: it begins at 05:00 UTC, ends at 04:00
        for i, at in enumerate(
            ("2026-03-01T04:59", "2026-03-02T05:00", "2026-03-08T05:00", "2026-03-09T04:00")
        ):
            story.add_event("x", at=at, visitor=f"A{i}")
        await store.append(story.events)
        span = whole_utc_days("2026-03-08", "2026-03-08")
        leaves = (trailing_active_persons(1), trailing_active_persons(7), trailing_active_persons(30))
        assert await measure(store, story.scan(span, zone=zone), *leaves) == (1, 2, 3)

    async def test_a_visitor_is_new_by_its_first_event_ever(self, store: Store, story: EventBuilder) -> None:
        story.add_event("x", at="2026-03-01T23:59", visitor="A1")
        for visitor in ("A1", "A2"):
            story.add_event("x", at="2026-03-02", visitor=visitor, session="s2")
        await store.append(story.events)
        visitors = count_distinct("visitor_id", Relation.EVENTS)
        assert await measure_by_columns(store, story.scan(SPAN), visitors, "visitor_is_new") == {
            True: 1,
            False: 1,
        }

    async def test_what_a_bot_did_makes_no_visitor_known_until_it_is_asked_for(
        self, store: Store, story: EventBuilder
    ) -> None:
        story.add_event("page_view", at="2026-03-01", visitor="A1", is_bot=True)
        story.add_event("page_view", at="2026-03-02", visitor="A1", session="s2")
        await store.append(story.events)
        new = Aggregation(
            Relation.EVENTS,
            Column("visitor_id"),
            distinct=True,
            where=(Predicate("visitor_is_new", value=True),),
        )
        assert await measure(store, story.scan(SPAN), new) == 1
        assert await measure(store, story.scan(SPAN, include_bots=True), new) == 0

    async def test_a_person_is_identified_by_any_of_its_events(
        self, store: Store, story: EventBuilder
    ) -> None:
        story.add_event("x", at="2026-03-02", visitor="A1")
        story.add_event("x", at="2026-03-02", visitor="A2")
        story.add_event("$identify", at="2026-05-01", visitor="A1", strong_id="U1")
        await store.append(story.events)
        assert await measure_by_columns(store, story.scan(SPAN), PERSONS, "identified") == {True: 1, False: 1}

    async def test_a_conversion_of_one_order_counts_once_in_seven_days(
        self, store: Store, story: EventBuilder
    ) -> None:
        story.add_event("purchase", at="2026-02-24T12:00", visitor="A1", order_id="O1", revenue=100)
        story.add_event("order_paid", at="2026-03-02T12:00", visitor="A1", order_id="O1", revenue=100)
        story.add_event("purchase", at="2026-03-03T12:00", visitor="A1", order_id="O2", revenue=70)
        story.add_event("subscribe", at="2026-03-03T12:01", visitor="A1", order_id="O2", revenue=70)
        story.add_event("purchase", at="2026-03-03T12:02", visitor="A1", revenue=5)
        story.add_event("purchase", at="2026-03-03T12:02", visitor="A1", revenue=5)
        story.add_event("purchase", at="2026-03-10T12:02", visitor="A1", order_id="O2", revenue=9)
        await store.append(story.events)
        scan = story.scan(SPAN)
        assert await measure(store, scan, CONVERTED, CHARGES, REVENUE) == (4, 3, 80)
        later = story.scan(whole_utc_days("2026-03-04", "2026-03-31"))
        assert await measure(store, later, CONVERTED, CHARGES, REVENUE) == (1, 1, 9)

    async def test_what_converts_is_the_set_and_any_revenue(self, store: Store, story: EventBuilder) -> None:
        names = ("signup", "lead", "webinar", "click", "$deep_link", "add_to_cart")
        for name in names:
            story.add_event(name, at="2026-03-02", visitor="A1")
            story.add_event(name, at="2026-03-02", visitor="A1", revenue=100)
            story.add_event(name, at="2026-03-02", visitor="A1", revenue=100, is_test=True)
        story.add_event("click", at="2026-03-02", visitor="A1", revenue=-100)
        await store.append(story.events)
        found = await measure_by_columns(store, story.scan(SPAN), CONVERTED, "event_name")
        assert found == {"signup": 2, "lead": 2, "webinar": 1, "click": 1}
        chosen = story.scan(SPAN, conversions=conversion_set(["$deep_link"]))
        assert await measure_by_columns(store, chosen, CONVERTED, "event_name") == {"$deep_link": 2}

    async def test_money_is_charges_and_refunds_of_real_orders(
        self, store: Store, story: EventBuilder
    ) -> None:
        for name, amount in (("purchase", 0), ("signup", 0), ("add_to_cart", 900), ("lead", 50)):
            story.add_event(name, at="2026-03-02", visitor="A1", revenue=amount)
        for name, amount in (("purchase", -30), ("refund", 20)):
            story.add_event(name, at="2026-03-02", visitor="A1", revenue=amount)
        story.add_event("purchase", at="2026-03-02", visitor="A1", revenue=999, is_test=True)
        story.add_event("charge", at="2026-03-02", visitor="A1", revenue=7, source="till")
        await store.append(story.events)
        scan = story.scan(SPAN)
        assert await measure(store, scan, CHARGES, REVENUE, REFUNDS) == (3, 57, 50)
        assert await measure_by_columns(store, scan, REVENUE, "provider") == {"tracked": 50, "till": 7}

    async def test_a_refund_counts_on_its_day_or_on_that_of_its_order(
        self, store: Store, story: EventBuilder
    ) -> None:
        story.add_event("purchase", at="2026-03-02", visitor="A1", order_id="O1", revenue=500)
        story.add_event("refund", at="2026-03-20", visitor="A1", order_id="O1", revenue=-500)
        story.add_event("refund", at="2026-03-02", visitor="A1", order_id="O9", revenue=-1)
        await store.append(story.events)
        assert await measure(store, story.scan(SPAN), REVENUE, REFUNDS) == (500, 1)
        assert await measure(store, story.scan(SPAN, order_refunds=True), REVENUE, REFUNDS) == (500, 501)

    async def test_a_refund_is_that_of_the_latest_charge_before_it(
        self, store: Store, story: EventBuilder
    ) -> None:
        for name, day, amount in (
            ("purchase", "02-01", 900), ("purchase", "02-20", 500), ("refund", "03-02", -50),
            ("purchase", "03-20", 300), ("refund", "03-25", -7), ("refund", "01-20", -4),
        ):  # fmt: skip
            story.add_event(name, at=f"2026-{day}", visitor="A1", order_id="O1", revenue=amount)
        await store.append(story.events)
        for month, refunded in (("01", 4), ("02", 50), ("03", 7)):
            scan = story.scan(whole_utc_days(f"2026-{month}-01", f"2026-{month}-28"), order_refunds=True)
            assert await measure(store, scan, REFUNDS) == refunded, month

    async def test_the_first_order_of_a_person_is_first_over_all_time(
        self, store: Store, story: EventBuilder
    ) -> None:
        story.add_event("purchase", at="2026-03-02T01:00", visitor="A1", revenue=100)
        story.add_event("purchase", at="2026-03-02T02:00", visitor="A2", strong_id="U1", revenue=100)
        story.add_event("purchase", at="2026-03-02T03:00", visitor="A3", revenue=100)
        story.add_event("purchase", at="2026-01-01T00:00", visitor="A4", strong_id="U1", revenue=100)
        await store.append(story.events)
        assert await measure(store, story.scan(SPAN), FIRST_ORDERS) == 2
        newness = await measure_by_columns(store, story.scan(SPAN), CHARGES, "person_is_new")
        assert newness == {True: 2, False: 1}

    async def test_an_absent_value_sorts_as_its_label(self, store: Store, story: EventBuilder) -> None:
        for visitor, country in (("A1", "DE"), ("A2", None), ("A3", "!")):
            story.add_event("page_view", at="2026-03-02", visitor=visitor, country=country)
        await store.append(story.events)
        for absent, found in (("(not set)", ["!", None, "DE"]), (None, ["!", "DE", None])):
            plan = AggregateQuery(
                story.scan(SPAN),
                (EVENTS,),
                dimensions=({Relation.EVENTS: entry_column("country")},),
                order=(ColumnSort("m0"), ColumnSort("d0", descending=False, null_label=absent)),
            )
            assert [row[0] for row in (await store.aggregate(plan)).rows] == found

    async def test_case_is_ignored_letter_by_letter_in_every_script(
        self, store: Store, story: EventBuilder
    ) -> None:
        for name in ("İzmir", "izmir", "ΟΔΟΣ", "Οδοσ", "οδος", "Straße", "ÉCLAIR"):
            story.add_event("page_view", at="2026-03-02", visitor=name, event_data={"city": name})
        await store.append(story.events)
        for op, text, met in (
            (FilterOperator.CONTAINS, "İZM", {"İzmir", "izmir"}),
            (FilterOperator.STARTS_WITH, "izmi", {"İzmir", "izmir"}),
            (FilterOperator.ENDS_WITH, "ΔΟΣ", {"ΟΔΟΣ", "Οδοσ"}),
            (FilterOperator.CONTAINS, "οδοσ", {"ΟΔΟΣ", "Οδοσ"}),
            (FilterOperator.STARTS_WITH, "ΟΔΟς", {"οδος"}),
            (FilterOperator.CONTAINS, "SSE", set()),
            (FilterOperator.ENDS_WITH, "éclair", {"ÉCLAIR"}),
        ):
            for column in ("visitor_id", property_column("city")):
                scan = story.scan(SPAN, filters=(Predicate(column, op, text),))
                plan = AggregateQuery(scan, (EVENTS,), dimensions=({Relation.EVENTS: Column("visitor_id")},))
                assert {row[0] for row in (await store.aggregate(plan)).rows} == met, (op, text)
            if op is FilterOperator.STARTS_WITH:
                page = PeoplePageQuery(story.scan(SPAN), limit=9, offset=0, sort="events", search=text)
                found, _ = await store.list_people(page)
                assert {person.visitor_id for person in found} == met

    async def test_a_filter_narrows_rows_and_nothing_else(self, store: Store, story: EventBuilder) -> None:
        story.add_event("page_view", at="2026-03-01", visitor="A1", page_path="/in", country="FR")
        story.add_event("page_view", at="2026-03-02", visitor="A1", page_path="/Out", country="DE")
        story.add_event(
            "page_view", at="2026-03-02", visitor="A2", event_data={"plan": "pro", "n": {"of": 3}}
        )
        await store.append(story.events)
        for column, op, value, met in (
            ("page_path", FilterOperator.EQ, "/out", 0),
            ("page_path", FilterOperator.CONTAINS, "OUT", 1),
            ("page_path", FilterOperator.NOT_CONTAINS, "out", 1),
            ("page_path", FilterOperator.STARTS_WITH, "/o", 1),
            ("page_path", FilterOperator.ENDS_WITH, "_%", 0),
            ("page_path", FilterOperator.IS_NOT_SET, None, 1),
            ("page_path", FilterOperator.NEQ, "/Out", 1),
            (entry_column("country"), FilterOperator.IN, ("FR", "US"), 1),
            (entry_column("country"), FilterOperator.NOT_IN, ("FR", "US"), 1),
            ("page_path", FilterOperator.IN, ("/Out", None), 2),
            ("page_path", FilterOperator.NOT_IN, ("/Out", None), 0),
            (entry_column("page_path").or_else(Column("visitor_id")), FilterOperator.EQ, "A2", 1),
            ("visitor_is_new", FilterOperator.EQ, True, 1),
            (property_column("plan"), FilterOperator.EQ, "pro", 1),
            (property_column("n.of"), FilterOperator.GT, 2, 1),
            (property_column("n.of"), FilterOperator.BETWEEN, (3, 4), 1),
            (property_column("n.of"), FilterOperator.LT, 3, 0),
        ):
            scan = story.scan(SPAN, filters=(Predicate(column, op, value),))
            assert await measure(store, scan, EVENTS) == met, (column, op, value)
