"""Conformance tests of what is a visit, how a session began, and repeats of orders within sessions and funnels."""

from dataclasses import replace
from datetime import timedelta
from typing import Any
from zoneinfo import ZoneInfo

from service_core.analytics.cohorts.ports import CohortReaderQuery
from service_core.analytics.funnels.ports import FunnelOrder
from service_core.analytics.measures import (
    Column,
    Difference,
    Predicate,
    Relation,
    count_rows,
    entry_column,
    sum_column,
)
from service_core.analytics.people.ports import PeoplePageQuery, PersonActivityQuery
from service_core.analytics.ports import AggregateQuery, ColumnSort
from service_core.kernel.bucket_series import buckets_covering
from service_core.kernel.time_ranges import BucketUnit
from service_core.testing.event_builder import (
    EventBuilder,
    campaign_columns,
    conversion_set,
    utc_instant,
    whole_utc_days,
)
from service_core.testing.event_store.funnels_and_cohorts import three_step_funnel_query, units_per_step
from service_core.testing.event_store.kit import (
    CONVERTED,
    EVENTS,
    PERSONS,
    SESSION_STARTS,
    SESSIONS,
    VISITORS,
    EventStoreKit,
    Store,
    measure_by_columns,
    measure_value_or_row,
)
from service_core.testing.event_store.sessions_and_payments import BOUNCED, CHARGES, ENGAGED, REVENUE

SPAN = whole_utc_days("2026-03-02", "2026-03-03")
HAS_PURCHASE = sum_column("has_purchase", Relation.SESSIONS)
DURATION = sum_column("duration", Relation.SESSIONS)
NEW = Predicate("visitor_is_new", value=True)
_SPRING = campaign_columns("google", "cpc", "spring")


class Visits(EventStoreKit):
    """Tests of visitors, sessions, entry events and repeats of orders."""

    async def test_groups_by_truth_values_keep_their_type_beside_rows_that_have_none(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """Payments have no `is_bot`: they are a group of their own beside `True` and `False`."""
        builder.add_event("page_view", at="2026-03-02T10:00", visitor="A1", is_bot=True)
        builder.add_event("purchase", at="2026-03-02T11:00", visitor="A2", revenue=100)
        await store.append(builder.events)
        scope = builder.query_scope(SPAN, include_bots=True)
        is_bot: dict[str, Column] = {
            Relation.EVENTS: Column("is_bot"),
            Relation.SESSIONS: entry_column("is_bot"),
        }
        by_bot = AggregateQuery(scope, (SESSIONS, CHARGES), dimensions=(is_bot,))
        assert (await store.aggregate(by_bot)).rows == [(False, 1, 0), (True, 1, 0), (None, 0, 1)]
        sort = ColumnSort("d0", descending=True, null_label="(not set)")
        sorted_visits = replace(by_bot, measures=(SESSIONS,), order=(sort,))
        assert (await store.aggregate(sorted_visits)).rows == [(True, 1), (False, 1)]

    async def test_groups_are_ordered_by_the_difference_of_a_count_and_a_duration(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """A whole number and a fraction of seconds are subtracted from each other, in either order."""
        for country, seconds in (("DE", 90), ("FR", 0), ("PL", 10)):
            at = utc_instant("2026-03-02T10:00")
            for moment in {at, at + timedelta(seconds=seconds)}:
                builder.add_event("page_view", at=moment, visitor=country, country=country)
        await store.append(builder.events)
        by_country = {
            str(relation): entry_column("country") for relation in (Relation.EVENTS, Relation.SESSIONS)
        }
        for measure, expected in (
            (Difference(PERSONS, DURATION), ["FR", "PL", "DE"]),
            (Difference(DURATION, PERSONS), ["DE", "PL", "FR"]),
        ):
            query = AggregateQuery(
                builder.query_scope(SPAN), (measure,), (by_country,), order=(ColumnSort("m0"),)
            )
            assert [row[0] for row in (await store.aggregate(query)).rows] == expected

    async def test_events_of_revenue_providers_are_no_visitors_and_no_sessions(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """Events of revenue providers count as events, conversions and money, but in no visit.

        One has a visitor id of its own, one carries that of a visitor, one comes into the visitor's session before it began.
        """
        paid: dict[str, Any] = {"source": "till", "revenue": 500}
        builder.add_event("order_paid", at="2026-03-01T09:00", visitor="A1", session="hour", **paid)
        builder.add_event("page_view", at="2026-03-02T10:00", visitor="A1", page_path="/", country="DE")
        builder.add_event("order_paid", at="2026-03-02T09:00", visitor="A1", **paid)
        builder.add_event("order_paid", at="2026-03-02T11:00", visitor="A1", **paid)
        builder.add_event("order_paid", at="2026-03-02T12:00", visitor="till:c1", session="own", **paid)
        await store.append(builder.events)
        scope = builder.query_scope(SPAN)
        visits = (VISITORS, SESSIONS, SESSION_STARTS, BOUNCED, DURATION, HAS_PURCHASE)
        assert await measure_value_or_row(store, scope, *visits) == (1, 1, 1, 1, 0, 0)
        assert await measure_value_or_row(store, scope, EVENTS, CONVERTED, PERSONS, REVENUE) == (
            4,
            3,
            2,
            1500,
        )
        assert await measure_value_or_row(store, scope, VISITORS.with_conditions(NEW)) == 1
        by_country = entry_column("country")
        assert await measure_by_columns(store, scope, VISITORS, by_country) == {"DE": 1}
        assert await measure_by_columns(store, scope, SESSIONS, by_country) == {"DE": 1}
        assert await measure_by_columns(store, scope, CONVERTED, by_country) == {"DE": 2, None: 1}
        assert await measure_by_columns(store, scope, CONVERTED, entry_column("referrer")) == {None: 3}
        assert await measure_by_columns(store, scope, VISITORS, Column("event_name")) == {"page_view": 1}

    async def test_visitors_and_sessions_over_the_ends_of_a_span_are_counted_by_their_own_events(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """A session over the whole span counts only if one of its own events lies in the span."""
        for day in ("2026-03-01", "2026-03-05"):
            builder.add_event("page_view", at=day, visitor="A1")
        builder.add_event("order_paid", at="2026-03-02", visitor="A1", source="till", revenue=500)
        await store.append(builder.events)
        scope = builder.query_scope(SPAN)
        assert await measure_value_or_row(store, scope, VISITORS, SESSIONS, EVENTS) == (0, 0, 1)

    async def test_people_and_active_visitors_have_sessions_of_their_own_events_only(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """Sessions of a person leave out events of revenue providers; the revenue of a session keeps their amount."""
        builder.add_event("page_view", at="2026-03-02T10:00", visitor="A1")
        builder.add_event("order_paid", at="2026-03-02T10:05", visitor="A1", source="till", revenue=500)
        builder.add_event("order_paid", at="2026-03-02T11:00", visitor="A1", session="s2", source="till")
        builder.add_event("order_paid", at="2026-03-02T11:00", visitor="till:c1", source="till", revenue=1)
        await store.append(builder.events)
        scope = builder.query_scope(SPAN)
        persons, total = await store.list_people_and_total(PeoplePageQuery(scope, 9, 0, "events"))
        assert total == 2
        assert [(p.person, p.sessions, p.events) for p in persons] == [("v:A1", 1, 3), ("v:till:c1", 0, 1)]
        activity = await store.read_activity(PersonActivityQuery(scope, "v:A1", timedelta(days=30), 9))
        assert [(s.first_event.event_name, s.events, s.revenue) for s in activity.sessions] == [
            ("page_view", 1, 500)
        ]
        (active,) = await store.list_visitors_with_recently_received_events(scope, SPAN.start, 9)
        assert (active.latest_event, active.events, active.revenue) == (builder.events[0], 1, 500)
        assert active.first_seen == active.last_seen == utc_instant("2026-03-02T10:00")

    async def test_session_that_begins_with_a_system_event_is_described_by_its_first_page_view(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """Source, campaign and landing page are those of a page view within 30 minutes, in whichever order events arrive."""
        first: dict[str, Any] = {"landing_page": "/login", "page_path": "/login", "country": "FR"}
        view: dict[str, Any] = {"page_path": "/sale", "landing_page": "/login", "country": "DE", **_SPRING}
        for visitor, view_at in (("A1", "10:30:00"), ("A2", "10:30:00.000001")):
            builder.add_event("$identify", at="2026-03-02T10:00:00", visitor=visitor, **first)
            builder.add_event("click", at="2026-03-02T10:00:05", visitor=visitor, page_path="/click")
            builder.add_event("page_view", at=f"2026-03-02T{view_at}", visitor=visitor, **view)
        builder.add_event("click", at="2026-03-02T10:00", visitor="A3", page_path="/a", landing_page="/a")
        builder.add_event("page_view", at="2026-03-02T10:01", visitor="A3", **view)
        builder.add_event("$identify", at="2026-03-02T10:00", visitor="A4", **first)
        expected = {
            ("google", "spring", "/sale", "DE"): 1,
            ("(direct)", None, "/login", "FR"): 2,
            ("(direct)", None, "/a", None): 1,
        }
        columns = [*map(entry_column, ("attribution_source", "utm_campaign", "landing_page", "country"))]
        await store.append(builder.events)
        assert await measure_by_columns(store, builder.query_scope(SPAN), SESSIONS, *columns) == expected
        assert (
            await measure_by_columns(store, builder.query_scope(SPAN), SESSION_STARTS, *columns) == expected
        )
        late = EventBuilder()
        for event in reversed(builder.events):
            copied = replace(event, workspace_id=late.workspace_id, event_id=f"late-{event.event_id}")
            await store.append([copied])
        assert await measure_by_columns(store, late.query_scope(SPAN), SESSIONS, *columns) == expected
        path = {("/sale",): 1, ("/login",): 2, ("/a",): 1}
        by_path = await measure_by_columns(store, late.query_scope(SPAN), SESSIONS, entry_column("page_path"))
        assert {(key,): count for key, count in by_path.items()} == path

    async def test_session_has_its_last_page_and_the_host_and_screen_of_its_entry(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """The exit page is that of the last page view, also when it arrives first; host and screen are of the entry event."""
        first: dict[str, Any] = {"page_url": "HTTPS://www.Shop.example:8443/a?b=/c", "screen_width": 991}
        last: dict[str, Any] = {"page_url": "https://pay.example/", "screen_width": 1440}
        builder.add_event("page_view", at="2026-03-02T10:00", visitor="A1", page_path="/a", **first)
        builder.add_event("pageview", at="2026-03-02T10:05", visitor="A1", page_path="/z", **last)
        builder.add_event("page_view", at="2026-03-02T10:03", visitor="A1", page_path="/m", **last)
        builder.add_event("click", at="2026-03-02T10:09", visitor="A1", page_path="/click", **last)
        bot: dict[str, Any] = {"visitor": "A1", "page_path": "/bot", "is_bot": True}
        builder.add_event("page_view", at="2026-03-02T10:07", **bot)
        builder.add_event("click", at="2026-03-02T11:00", visitor="A2", page_url="mailto:a@b", screen_width=0)
        columns = [Column("exit_page"), entry_column("hostname"), entry_column("screen_class")]
        scope = builder.query_scope(SPAN)
        for event in reversed(builder.events):
            await store.append([event])
        expected = {("/z", "shop.example", "medium"): 1, (None, None, None): 1}
        for measure in (VISITORS, SESSIONS, SESSION_STARTS):
            assert await measure_by_columns(store, scope, measure, *columns) == expected
        events = {("/z", "shop.example", "medium"): 4, (None, None, None): 1}
        assert await measure_by_columns(store, scope, EVENTS, *columns) == events
        with_bots = replace(scope, include_bots=True)
        expected = {("/bot", "shop.example", "medium"): 1, (None, None, None): 1}
        for measure in (SESSIONS, SESSION_STARTS):
            assert await measure_by_columns(store, with_bots, measure, *columns) == expected
        at_z = replace(scope, filters=(Predicate("exit_page", value="/z"),))
        assert await measure_value_or_row(store, at_z, VISITORS, EVENTS, SESSION_STARTS) == (1, 4, 1)

    async def test_bots_have_reason_and_crawler_when_they_are_included(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """Events are split by their own bot columns, sessions by those of their entry event."""
        names = ("is_bot", "bot_reason", "crawler", "crawler_class")
        training = (True, "known_agent", "GPTBot", "ai_training")
        headless, person = (True, "headless", None, None), (False, None, None, None)
        for at, visitor, values in (
            ("10:00", "B1", training),
            ("10:01", "B1", training),
            ("10:02", "B2", headless),
            ("10:03", "A1", person),
        ):
            columns: dict[str, Any] = dict(zip(names, values, strict=True))
            builder.add_event("page_view", at=f"2026-03-02T{at}", visitor=visitor, **columns)
        await store.append(builder.events)
        scope = builder.query_scope(SPAN)
        of_event, of_session = [*map(Column, names)], [*map(entry_column, names)]
        assert await measure_by_columns(store, scope, EVENTS, *of_event) == {person: 1}
        with_bots = replace(scope, include_bots=True)
        events = {person: 1, training: 2, headless: 1}
        assert await measure_by_columns(store, with_bots, EVENTS, *of_event) == events
        once = dict.fromkeys((person, training, headless), 1)
        assert await measure_by_columns(store, with_bots, VISITORS, *of_event) == once
        assert await measure_by_columns(store, with_bots, SESSION_STARTS, *of_session) == once
        bots = replace(with_bots, filters=(Predicate("is_bot", value=True),))
        assert await measure_value_or_row(store, bots, VISITORS, EVENTS) == (2, 3)

    async def test_repeat_of_an_order_makes_no_session_engaged_and_no_purchase(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """A thank-you page that is opened again in a later session converts, engages and purchases nothing.

        A page that reports the order of a revenue provider has the purchase of its session.
        """
        order: dict[str, Any] = {"revenue": 900, "order_id": "O1"}
        for day, session in (("02", "first"), ("03", "again")):
            at = {"visitor": "A1", "session": session}
            builder.add_event("page_view", at=f"2026-03-{day}T10:00:00", **at)
            builder.add_event("add_to_cart", at=f"2026-03-{day}T10:00:01", **at)
            builder.add_event("purchase", at=f"2026-03-{day}T10:00:02", **at, **order)
        paid: dict[str, Any] = {"revenue": 900, "order_id": "O2"}
        builder.add_event("order_paid", at="2026-03-02T09:00", visitor="till:c", source="till", **paid)
        builder.add_event("page_view", at="2026-03-02T09:00:01", visitor="A2")
        builder.add_event("purchase", at="2026-03-02T09:00:02", visitor="A2", **paid)
        await store.append(builder.events)
        for span, numbers in (
            (SPAN, (2, 2, 2)),
            (whole_utc_days("2026-03-02", "2026-03-02"), (2, 2, 2)),
            (whole_utc_days("2026-03-03", "2026-03-03"), (0, 0, 0)),
        ):
            scope = builder.query_scope(span)
            assert await measure_value_or_row(store, scope, CONVERTED, ENGAGED, HAS_PURCHASE) == numbers
        carts = count_rows(Relation.SESSIONS, Predicate("has_cart", value=True))
        bought = carts.with_conditions(Predicate("has_purchase", value=True))
        assert await measure_value_or_row(store, builder.query_scope(SPAN), carts, bought) == (2, 1)

    async def test_repeat_of_an_order_is_no_step_of_a_funnel_and_no_return(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """Two reports of one order fill one step; two orders fill two. A repeat in a later week is no activity."""
        paid: dict[str, Any] = {"source": "till", "revenue": 900, "payment_id": "P1"}
        for visitor, first, second in (("A1", "O1", "O1"), ("A2", "O2", "O3")):
            for day, order in (("05", first), ("09", second)):
                builder.add_event(
                    "purchase", at=f"2026-03-{day}", visitor=visitor, session=day, order_id=order, revenue=900
                )
        for day in ("05", "09"):
            builder.add_event("order_paid", at=f"2026-03-{day}", visitor="A3", order_id=f"O-{day}", **paid)
        await store.append(builder.events)
        purchase = frozenset({"purchase", "order_paid"})
        twice = three_step_funnel_query(builder, steps=(purchase, purchase))
        assert units_per_step(await store.read_funnel(twice)) == [3, 1]
        by_session = replace(twice, by_session=True)
        assert units_per_step(await store.read_funnel(by_session)) == [3, 0]
        scope = builder.query_scope(whole_utc_days("2026-03-02", "2026-03-15"))
        weeks = buckets_covering(scope.span, BucketUnit.WEEK, ZoneInfo("UTC"))
        table = await store.read_cohorts(CohortReaderQuery(scope, weeks, weeks, event_names=purchase))
        assert {(c.cohort, c.bucket): c.active for c in table.cells if c.active} == {(0, 0): 3, (0, 1): 1}
        nothing = conversion_set(())
        unset = replace(twice, scope=replace(twice.scope, conversions=nothing))
        assert units_per_step(await store.read_funnel(unset)) == [3, 1]

    async def test_order_reported_by_page_server_and_provider_is_one_event_of_its_person(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """In funnels and returns the report of the page counts, else that of the server, whichever comes first.

        ``A1`` has a page and a provider, ``A2`` a server first and a page, ``A3`` a server with a payment id and a
        provider, ``A4`` a page that names the message of a provider, ``A5`` two orders, ``A6`` reports a week apart.
        """
        till: dict[str, Any] = {"source": "till", "strong_id": None}
        server: dict[str, Any] = {"source": "api", "from_device": False}
        reports: tuple[tuple[str, str, dict[str, Any]], ...] = (
            ("A1", "02T10", {"order_id": "O1"}),
            ("A1", "02T11", {"order_id": "O1", **till}),
            ("A2", "03T10", {"order_id": "O2", **server}),
            ("A2", "09T10", {"order_id": "O2"}),
            ("A3", "02T10", {"payment_id": "P3", **till}),
            ("A3", "08T10", {"order_id": "O3", "payment_id": "P3", **server}),
            ("A4", "02T10", {"message_id": "M4", **till}),
            ("A4", "02T09", {"order_id": "M4"}),
            ("A5", "02T10", {"order_id": "O5"}),
            ("A5", "02T11", {"order_id": "O6", "payment_id": "P6", **till}),
            ("A6", "02T10", {"order_id": "O7"}),
            ("A6", "09T10", {"order_id": "O7", **till}),
        )
        for visitor, at, columns in reports:
            name = "purchase" if columns.get("source") != "till" else "order_paid"
            builder.add_event(name, at=f"2026-03-{at}:00", visitor=visitor, revenue=900, **columns)
        await store.append(builder.events)
        names = frozenset({"purchase", "order_paid"})
        twice = three_step_funnel_query(builder, steps=(names, names))
        assert units_per_step(await store.read_funnel(twice)) == [6, 2]
        strict = replace(twice, order=FunnelOrder.STRICT)
        assert units_per_step(await store.read_funnel(strict)) == [6, 2]
        by_session = replace(twice, by_session=True)
        assert units_per_step(await store.read_funnel(by_session)) == [5, 0]
        scope = builder.query_scope(whole_utc_days("2026-03-02", "2026-03-15"))
        weeks = buckets_covering(scope.span, BucketUnit.WEEK, ZoneInfo("UTC"))
        table = await store.read_cohorts(CohortReaderQuery(scope, weeks, weeks, event_names=names))
        assert {(c.cohort, c.bucket): c.active for c in table.cells if c.active} == {(0, 0): 5, (0, 1): 2}

    async def test_server_event_without_a_device_is_no_visit(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """It counts as an event, a conversion and money of its person, and in no visitor and no session.

        Its report of an order repeats that of the page, so that the session of the page has the purchase.
        """
        order: dict[str, Any] = {"revenue": 900, "order_id": "O1"}
        server: dict[str, Any] = {"source": "api", "from_device": False}
        builder.add_event("page_view", at="2026-03-02T10:00:00", visitor="A1", strong_id="U1", country="DE")
        builder.add_event("add_to_cart", at="2026-03-02T10:00:01", visitor="A1")
        builder.add_event(
            "purchase",
            at="2026-03-02T10:00:05",
            visitor="U1",
            session="hour",
            strong_id="U1",
            **order,
            **server,
        )
        builder.add_event("purchase", at="2026-03-02T10:00:06", visitor="A1", **order)
        builder.add_event(
            "renewed", at="2026-03-03T10:00:00", visitor="U1", session="other", strong_id="U1", **server
        )
        await store.append(builder.events)
        scope = builder.query_scope(SPAN)
        visits = (VISITORS, SESSIONS, SESSION_STARTS, ENGAGED, HAS_PURCHASE)
        assert await measure_value_or_row(store, scope, *visits) == (1, 1, 1, 1, 1)
        assert await measure_value_or_row(store, scope, EVENTS, CONVERTED, PERSONS, REVENUE) == (5, 1, 1, 900)
        assert await measure_value_or_row(store, scope, VISITORS.with_conditions(NEW)) == 1
        assert await measure_by_columns(store, scope, SESSIONS, entry_column("country")) == {"DE": 1}
        persons, _ = await store.list_people_and_total(PeoplePageQuery(scope, 9, 0, "events"))
        assert [(p.person, p.sessions, p.events, p.orders) for p in persons] == [("u:U1", 1, 5, 1)]
        activity = await store.read_activity(PersonActivityQuery(scope, "u:U1", timedelta(days=30), 9))
        assert [(s.first_event.event_name, s.events) for s in activity.sessions] == [("page_view", 3)]
        active = await store.list_visitors_with_recently_received_events(scope, SPAN.start, 9)
        assert [(visitor.latest_event.seq, visitor.events) for visitor in active] == [
            (builder.events[3].seq, 3)
        ]
        states = await store.session_states(
            [(builder.workspace_id, "U1", "hour"), (builder.workspace_id, "A1", "s1")]
        )
        assert [key[1] for key in states] == ["A1"]
