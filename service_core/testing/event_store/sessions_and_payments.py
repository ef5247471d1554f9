"""Conformance tests of sessions, engagement, conversions, payments, sorting and filters."""

from typing import Any
from zoneinfo import ZoneInfo

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
from service_core.kernel.bucket_series import buckets_covering
from service_core.kernel.time_ranges import BucketUnit
from service_core.testing.event_builder import EventBuilder, campaign_columns, conversion_set, whole_utc_days
from service_core.testing.event_store.kit import (
    CONVERTED,
    EVENTS,
    PERSONS,
    SESSION_STARTS,
    SESSIONS,
    EventStoreKit,
    Store,
    measure_by_columns,
    measure_value_or_row,
)

SPAN = whole_utc_days("2026-03-02", "2026-03-03")
BOUNCED = sum_column("bounced", Relation.SESSIONS)
ENGAGED = sum_column("engaged", Relation.SESSIONS)
CHARGES = count_rows(Relation.PAYMENTS, Predicate("kind", value="charge"))
REVENUE = sum_column("amount", Relation.PAYMENTS, Predicate("kind", value="charge"))
ORDERS = count_rows(Relation.PAYMENTS, Predicate("is_order", value=True))
REFUNDS = sum_column("amount", Relation.PAYMENTS, Predicate("kind", value="refund"))
FIRST_ORDERS = sum_column("first_order", Relation.PAYMENTS)


def trailing_active_persons(days: int) -> Aggregation:
    """Returns the aggregation of persons active in the last days up to the range's end."""
    return Aggregation(Relation.EVENTS, Column("person"), distinct=True, trailing_days=days)


class SessionsAndPayments(EventStoreKit):
    """Tests of aggregates over sessions, conversions and payments."""

    async def test_session_over_midnight_starts_once_and_counts_in_both_ranges(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """A session that began before the range counts as a session but not as a start, with its first entry source."""
        builder.add_event(
            "page_view", at="2026-03-01T23:59", visitor="A1", **campaign_columns("google", "cpc")
        )
        builder.add_event("page_view", at="2026-03-02T00:01", visitor="A1", **campaign_columns("bing", "cpc"))
        builder.add_event("page_view", at="2026-03-02T00:02", visitor="A2")
        await store.append(builder.events)
        scope = builder.query_scope(SPAN)
        assert await measure_value_or_row(store, scope, SESSIONS, SESSION_STARTS) == (2, 1)
        assert await measure_by_columns(store, scope, SESSIONS, entry_column("attribution_source")) == {
            "google": 1,
            "(direct)": 1,
        }

    async def test_same_session_id_of_two_visitors_is_two_sessions(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """Session ids are unique per visitor only."""
        for visitor in ("A1", "A2"):
            builder.add_event("page_view", at="2026-03-02", visitor=visitor, session="same")
        await store.append(builder.events)
        assert await measure_value_or_row(store, builder.query_scope(SPAN), SESSIONS, SESSION_STARTS) == (
            2,
            2,
        )

    async def test_entry_event_of_a_session_may_be_stored_after_later_events(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """Entry columns follow the earliest event of a session, also when it is stored last."""
        builder.add_event("page_view", at="2026-03-02T10:00", visitor="A1", country="DE")
        builder.add_event("page_view", at="2026-03-02T09:00", visitor="A1", country="FR")
        await store.append(builder.events[:1])
        await store.append(builder.events[1:])
        assert await measure_by_columns(
            store, builder.query_scope(SPAN), EVENTS, entry_column("country")
        ) == {"FR": 2}

    async def test_bots_are_left_out_unless_include_bots_and_never_convert(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """Bots count nowhere unless `include_bots`; they never make a conversion or a payment."""
        builder.add_event("page_view", at="2026-03-02T09:00", visitor="A1", country="FR", is_bot=True)
        builder.add_event("page_view", at="2026-03-02T10:00", visitor="A1", country="DE")
        builder.add_event("purchase", at="2026-03-02T11:00", visitor="A2", revenue=100, is_bot=True)
        await store.append(builder.events)
        aggregations = (EVENTS, SESSIONS, PERSONS, CONVERTED, CHARGES)
        assert await measure_value_or_row(store, builder.query_scope(SPAN), *aggregations) == (1, 1, 1, 0, 0)
        with_bots = builder.query_scope(SPAN, include_bots=True)
        assert await measure_value_or_row(store, with_bots, *aggregations) == (3, 2, 2, 0, 0)
        assert await measure_by_columns(
            store, builder.query_scope(SPAN), SESSIONS, entry_column("country")
        ) == {"DE": 1}
        assert await measure_by_columns(store, with_bots, SESSIONS, entry_column("country")) == {
            "FR": 1,
            None: 1,
        }

    async def test_bounced_and_engaged_sessions_follow_views_interactions_duration_and_conversions(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """Bounced and engaged are decided from views, interactions, duration and conversions.

        A session may be both or neither.
        """

        def add_session(visitor: str, *events: tuple[str, int, dict[str, Any]]) -> None:
            for name, second, columns in events:
                builder.add_event(name, at=f"2026-03-02T10:00:{second:02}", visitor=visitor, **columns)

        add_session("bounce", ("page_view", 0, {}))
        add_session(
            "system", ("page_view", 0, {}), ("$identify", 5, {}), ("scroll", 6, {"interactive": False})
        )
        add_session("long", ("page_view", 0, {}), ("scroll", 10, {"interactive": False}))
        add_session("clicked", ("page_view", 0, {}), ("click", 9, {}))
        add_session("two", ("page_view", 0, {}), ("$pageview", 1, {}))
        add_session("converted", ("page_view", 0, {}), ("signup", 1, {}))
        add_session("no_view", ("click", 0, {}), ("click", 30, {}))
        await store.append(builder.events)
        bounced = await measure_by_columns(store, builder.query_scope(SPAN), BOUNCED, "visitor_id")
        engaged = await measure_by_columns(store, builder.query_scope(SPAN), ENGAGED, "visitor_id")
        assert {visitor for visitor, count in bounced.items() if count} == {"bounce", "system", "long"}
        assert {visitor for visitor, count in engaged.items() if count} == {"long", "two", "converted"}

    async def test_session_counts_whole_in_the_range_where_it_starts(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """Sums of a session cover all its events and count in the range of its start, in no later one."""
        builder.add_event("page_view", at="2026-03-03T23:59", visitor="A1")
        builder.add_event("add_to_cart", at="2026-03-04T00:01", visitor="A1")
        builder.add_event("order_paid", at="2026-03-04T00:03:00", visitor="A1", revenue=1)
        await store.append(builder.events)
        names = ("pageviews", "events", "duration", "has_cart", "has_purchase")
        aggregations = [sum_column(name, Relation.SESSIONS) for name in names]
        assert await measure_value_or_row(store, builder.query_scope(SPAN), *aggregations) == (
            1,
            3,
            240.0,
            1,
            1,
        )
        assert await measure_value_or_row(
            store, builder.query_scope(whole_utc_days("2026-03-04", "2026-03-04")), *aggregations
        ) == (
            0,
            0,
            0,
            0,
            0,
        )

    async def test_bot_sessions_with_a_cart_count_only_with_include_bots(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """A bot's session with a cart counts only with `include_bots`."""
        builder.add_event("add_to_cart", at="2026-03-03T10:00", visitor="A1")
        builder.add_event("purchase", at="2026-03-03T10:01", visitor="A1", revenue=1)
        builder.add_event("add_to_cart", at="2026-03-03T10:00", visitor="B1", is_bot=True)
        await store.append(builder.events)
        carts = [
            count_rows(Relation.SESSIONS, Predicate(name, FilterOperator.EQ, True))
            for name in ("has_cart", "has_purchase")
        ]
        assert await measure_value_or_row(store, builder.query_scope(SPAN), *carts) == (1, 1)
        assert await measure_value_or_row(store, builder.query_scope(SPAN, include_bots=True), *carts) == (
            2,
            1,
        )

    async def test_trailing_active_persons_look_back_whole_local_days(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """Active persons of the last 1, 7 and 30 days are counted by whole local days across a clock change."""
        zone = "America/New_York"  # March 8 has 23 hours there: it begins at 05:00 UTC, ends at 04:00
        for i, at in enumerate(
            ("2026-03-01T04:59", "2026-03-02T05:00", "2026-03-08T05:00", "2026-03-09T04:00")
        ):
            builder.add_event("x", at=at, visitor=f"A{i}")
        await store.append(builder.events)
        span = whole_utc_days("2026-03-08", "2026-03-08")
        aggregations = (trailing_active_persons(1), trailing_active_persons(7), trailing_active_persons(30))
        assert await measure_value_or_row(store, builder.query_scope(span, zone=zone), *aggregations) == (
            1,
            2,
            3,
        )

    async def test_trailing_active_persons_of_each_day_look_back_from_that_day(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """Each day counts the persons of its own last days, before the range included and after the day not."""
        for i, day in enumerate(("2026-03-01", "2026-03-02", "2026-03-04T23:59", "2026-03-05")):
            builder.add_event("x", at=day, visitor=f"A{i}")
        await store.append(builder.events)
        scope = builder.query_scope(whole_utc_days("2026-03-02", "2026-03-05"))
        buckets = buckets_covering(scope.span, BucketUnit.DAY, ZoneInfo("UTC"))
        counts = {}
        for days in (1, 2, 3):
            query = AggregateQuery(scope, (trailing_active_persons(days),), buckets=buckets)
            counts[days] = [row[-1] for row in sorted((await store.aggregate(query)).rows)]
        assert counts == {1: [1, 1, 1], 2: [2, 1, 1, 2], 3: [2, 2, 2, 2]}

    async def test_visitor_is_new_only_in_the_range_of_its_first_event(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """A visitor with an event before the range is not new in it."""
        builder.add_event("x", at="2026-03-01T23:59", visitor="A1")
        for visitor in ("A1", "A2"):
            builder.add_event("x", at="2026-03-02", visitor=visitor, session="s2")
        await store.append(builder.events)
        visitors = count_distinct("visitor_id", Relation.EVENTS)
        assert await measure_by_columns(store, builder.query_scope(SPAN), visitors, "visitor_is_new") == {
            True: 1,
            False: 1,
        }

    async def test_bot_events_before_the_range_keep_a_visitor_new_unless_include_bots(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """A visitor with only bot events before the range is new; with `include_bots` it is not."""
        builder.add_event("page_view", at="2026-03-01", visitor="A1", is_bot=True)
        builder.add_event("page_view", at="2026-03-02", visitor="A1", session="s2")
        await store.append(builder.events)
        new = Aggregation(
            Relation.EVENTS,
            Column("visitor_id"),
            distinct=True,
            where=(Predicate("visitor_is_new", value=True),),
        )
        assert await measure_value_or_row(store, builder.query_scope(SPAN), new) == 1
        assert await measure_value_or_row(store, builder.query_scope(SPAN, include_bots=True), new) == 0

    async def test_person_is_identified_even_when_its_identification_is_after_the_range(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """`identified` is true for persons identified at any time, also after the range."""
        builder.add_event("x", at="2026-03-02", visitor="A1")
        builder.add_event("x", at="2026-03-02", visitor="A2")
        builder.add_event("$identify", at="2026-05-01", visitor="A1", strong_id="U1")
        await store.append(builder.events)
        assert await measure_by_columns(store, builder.query_scope(SPAN), PERSONS, "identified") == {
            True: 1,
            False: 1,
        }

    async def test_conversions_and_charges_of_one_order_id_count_once_within_seven_days(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """An order id counts once within seven days, also over event names and the range's start.

        Without an id each counts.
        """
        builder.add_event("purchase", at="2026-02-24T12:00", visitor="A1", order_id="O1", revenue=100)
        builder.add_event("order_paid", at="2026-03-02T12:00", visitor="A1", order_id="O1", revenue=100)
        builder.add_event("purchase", at="2026-03-03T12:00", visitor="A1", order_id="O2", revenue=70)
        builder.add_event("subscribe", at="2026-03-03T12:01", visitor="A1", order_id="O2", revenue=70)
        builder.add_event("purchase", at="2026-03-03T12:02", visitor="A1", revenue=5)
        builder.add_event("purchase", at="2026-03-03T12:02", visitor="A1", revenue=5)
        builder.add_event("purchase", at="2026-03-10T12:02", visitor="A1", order_id="O2", revenue=9)
        await store.append(builder.events)
        scope = builder.query_scope(SPAN)
        assert await measure_value_or_row(store, scope, CONVERTED, CHARGES, REVENUE) == (4, 3, 80)
        later = builder.query_scope(whole_utc_days("2026-03-04", "2026-03-31"))
        assert await measure_value_or_row(store, later, CONVERTED, CHARGES, REVENUE) == (1, 1, 9)

    async def test_conversions_are_the_configured_events_and_by_default_any_revenue(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """Default conversions are the named events and any event with revenue.

        A configured set is exactly its names. Tests never convert.
        """
        names = ("signup", "lead", "webinar", "donation", "$deep_link", "add_to_cart", "ViewContent")
        for name in names:
            builder.add_event(name, at="2026-03-02", visitor="A1")
            builder.add_event(name, at="2026-03-02", visitor="A1", revenue=100)
            builder.add_event(name, at="2026-03-02", visitor="A1", revenue=100, is_test=True)
        builder.add_event("donation", at="2026-03-02", visitor="A1", revenue=-100)
        await store.append(builder.events)
        answer = await measure_by_columns(store, builder.query_scope(SPAN), CONVERTED, "event_name")
        assert answer == {"signup": 2, "lead": 2, "webinar": 1, "donation": 1}
        chosen = builder.query_scope(SPAN, conversions=conversion_set(["$deep_link"]))
        assert await measure_by_columns(store, chosen, CONVERTED, "event_name") == {"$deep_link": 2}

    async def test_charges_and_refunds_are_counted_without_tests_carts_and_zero_amounts(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """Positive amounts are charges, negative amounts and refund events are refunds.

        Carts, tests and zero signups are neither.
        """
        for name, amount in (
            ("purchase", 0),
            ("signup", 0),
            ("add_to_cart", 900),
            ("lead", 70),
            ("donation", 50),
        ):
            builder.add_event(name, at="2026-03-02", visitor="A1", revenue=amount)
        for name, amount in (("purchase", -30), ("refund", 20)):
            builder.add_event(name, at="2026-03-02", visitor="A1", revenue=amount)
        builder.add_event("purchase", at="2026-03-02", visitor="A1", revenue=999, is_test=True)
        builder.add_event("charge", at="2026-03-02", visitor="A1", revenue=7, source="till")
        await store.append(builder.events)
        scope = builder.query_scope(SPAN)
        assert await measure_value_or_row(store, scope, CHARGES, REVENUE, REFUNDS) == (3, 57, 50)
        assert await measure_by_columns(store, scope, REVENUE, "provider") == {"tracked": 50, "till": 7}

    async def test_refund_counts_on_its_own_day_or_with_order_refunds_on_its_orders(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """A refund counts on its own day.

        With `order_refunds` on its order's day, or its own when it has no order.
        """
        builder.add_event("purchase", at="2026-03-02", visitor="A1", order_id="O1", revenue=500)
        builder.add_event("refund", at="2026-03-20", visitor="A1", order_id="O1", revenue=-500)
        builder.add_event("refund", at="2026-03-02", visitor="A1", order_id="O9", revenue=-1)
        await store.append(builder.events)
        assert await measure_value_or_row(store, builder.query_scope(SPAN), REVENUE, REFUNDS) == (500, 1)
        assert await measure_value_or_row(
            store, builder.query_scope(SPAN, order_refunds=True), REVENUE, REFUNDS
        ) == (500, 501)

    async def test_order_refunds_book_a_refund_at_the_latest_charge_before_it_else_the_next(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """With `order_refunds` a refund belongs to the latest charge of its order before it, else to the first after it."""
        for name, day, amount in (
            ("purchase", "02-01", 900), ("purchase", "02-20", 500), ("refund", "03-02", -50),
            ("purchase", "03-20", 300), ("refund", "03-25", -7), ("refund", "01-20", -4),
        ):  # fmt: skip
            builder.add_event(name, at=f"2026-{day}", visitor="A1", order_id="O1", revenue=amount)
        await store.append(builder.events)
        for month, refunded in (("01", 0), ("02", 54), ("03", 7)):
            scope = builder.query_scope(
                whole_utc_days(f"2026-{month}-01", f"2026-{month}-28"), order_refunds=True
            )
            assert await measure_value_or_row(store, scope, REFUNDS) == refunded, month

    async def test_first_orders_are_first_per_person_over_all_time(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """A charge is a person's first order only when none was before it at any time, on any visitor."""
        builder.add_event("purchase", at="2026-03-02T01:00", visitor="A1", revenue=100)
        builder.add_event("purchase", at="2026-03-02T02:00", visitor="A2", strong_id="U1", revenue=100)
        builder.add_event("purchase", at="2026-03-02T03:00", visitor="A3", revenue=100)
        builder.add_event("purchase", at="2026-01-01T00:00", visitor="A4", strong_id="U1", revenue=100)
        await store.append(builder.events)
        assert await measure_value_or_row(store, builder.query_scope(SPAN), FIRST_ORDERS) == 2
        newness = await measure_by_columns(store, builder.query_scope(SPAN), CHARGES, "person_is_new")
        assert newness == {True: 2, False: 1}

    async def test_null_groups_sort_by_null_label_or_last_without_one(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """A group without a value sorts by the given label, and last without a label."""
        for visitor, country in (("A1", "DE"), ("A2", None), ("A3", "!")):
            builder.add_event("page_view", at="2026-03-02", visitor=visitor, country=country)
        await store.append(builder.events)
        for absent, answer in (("(not set)", ["!", None, "DE"]), (None, ["!", "DE", None])):
            plan = AggregateQuery(
                builder.query_scope(SPAN),
                (EVENTS,),
                dimensions=({Relation.EVENTS: entry_column("country")},),
                order=(ColumnSort("m0"), ColumnSort("d0", descending=False, null_label=absent)),
            )
            assert [row[0] for row in (await store.aggregate(plan)).rows] == answer

    async def test_text_filters_ignore_case_by_single_letters_in_every_script(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """Text filters and people search compare letter by letter without case, without folding one letter into several."""
        for name in ("İzmir", "izmir", "ΟΔΟΣ", "Οδοσ", "οδος", "Straße", "ÉCLAIR"):
            builder.add_event("page_view", at="2026-03-02", visitor=name, event_data={"city": name})
        await store.append(builder.events)
        for op, text, expected in (
            (FilterOperator.CONTAINS, "İZM", {"İzmir", "izmir"}),
            (FilterOperator.STARTS_WITH, "izmi", {"İzmir", "izmir"}),
            (FilterOperator.ENDS_WITH, "ΔΟΣ", {"ΟΔΟΣ", "Οδοσ"}),
            (FilterOperator.CONTAINS, "οδοσ", {"ΟΔΟΣ", "Οδοσ"}),
            (FilterOperator.STARTS_WITH, "ΟΔΟς", {"οδος"}),
            (FilterOperator.CONTAINS, "SSE", set()),
            (FilterOperator.ENDS_WITH, "éclair", {"ÉCLAIR"}),
        ):
            for column in ("visitor_id", property_column("city")):
                scope = builder.query_scope(SPAN, filters=(Predicate(column, op, text),))
                plan = AggregateQuery(scope, (EVENTS,), dimensions=({Relation.EVENTS: Column("visitor_id")},))
                assert {row[0] for row in (await store.aggregate(plan)).rows} == expected, (op, text)
            if op is FilterOperator.STARTS_WITH:
                page = PeoplePageQuery(
                    builder.query_scope(SPAN), limit=9, offset=0, sort="events", search=text
                )
                answer, _ = await store.list_people_and_total(page)
                assert {person.visitor_id for person in answer} == expected

    async def test_filters_limit_rows_without_changing_session_and_visitor_columns(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """Each filter operator counts the documented rows.

        Entry and `visitor_is_new` columns still see all events.
        """
        builder.add_event("page_view", at="2026-03-01", visitor="A1", page_path="/in", country="FR")
        builder.add_event("page_view", at="2026-03-02", visitor="A1", page_path="/Out", country="DE")
        builder.add_event(
            "page_view", at="2026-03-02", visitor="A2", event_data={"plan": "pro", "n": {"of": 3}}
        )
        await store.append(builder.events)
        for column, op, value, expected in (
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
            scope = builder.query_scope(SPAN, filters=(Predicate(column, op, value),))
            assert await measure_value_or_row(store, scope, EVENTS) == expected, (column, op, value)
