"""Conformance tests of the people list: traits, counts, filters and search."""

from dataclasses import replace

from service_core.analytics.measures import NOT_SET
from service_core.analytics.people.ports import MAX_ITEMS_PER_PERSON, LocationAndDevice, PeoplePageQuery
from service_core.testing.event_builder import EventBuilder, campaign_columns, whole_utc_days
from service_core.testing.event_store.kit import EventStoreKit, Store

SPAN = whole_utc_days("2026-03-01", "2026-03-31")


class PeopleList(EventStoreKit):
    """A row of the people list, its filters and its search."""

    async def test_people_row_has_all_time_traits_and_counts_of_the_range(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """A people row has first values and traits of all time and counts of the range, and is found by e-mail and campaign."""
        google = campaign_columns("google", "cpc", "spring")
        builder.add_event("page_view", at="2026-02-01", visitor="A1", country="DE", **google)
        traits = {"traits": {"email": "ada@example.com"}, "name": "Ada"}
        builder.add_event("$identify", at="2026-02-02", visitor="A1", strong_id="U1", event_data=traits)
        builder.add_event(
            "page_view", at="2026-03-02", visitor="A2", session="s2", strong_id="U1", country="FR"
        )
        builder.add_event("purchase", at="2026-03-03", visitor="A2", session="s2", revenue=500, order_id="O1")
        builder.add_event("purchase", at="2026-03-04", visitor="A2", session="s3", revenue=500, order_id="O1")
        foreign = {"revenue": 900, "currency": "EUR"}
        builder.add_event("purchase", at="2026-03-05", visitor="A2", session="s3", **foreign)
        await store.append(builder.events)
        plan = PeoplePageQuery(
            builder.query_scope(SPAN), 10, 0, "last_seen", search="ADA@", utm_campaign="spring"
        )
        (ada,), total = await store.list_people_and_total(plan)
        assert (total, ada.person, ada.user_id, ada.email, ada.name) == (
            1, "u:U1", "U1", "ada@example.com", "Ada",
        )  # fmt: skip
        assert (ada.visitor_ids, ada.first_seen, ada.latest_location_and_device) == (
            ("A2",), builder.events[0].timestamp, LocationAndDevice.from_event(builder.events[-1]),
        )  # fmt: skip
        counts = ada.sessions, ada.pageviews, ada.events, ada.conversions, ada.orders, ada.revenue
        assert counts == (2, 1, 4, 2, 2, 500)
        assert ada.foreign_money
        assert ada.first_touch
        assert (ada.first_touch.utm_source, ada.first_touch.channel) == ("google", "paid_search")

    async def test_people_filters_accept_not_set_for_missing_values(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """The filters `utm_source`, `utm_campaign` and `country` find persons without a value by the label `NOT_SET`."""
        builder.add_event(
            "page_view",
            at="2026-03-02",
            visitor="A1",
            country="DE",
            **campaign_columns("google", "cpc", "spring"),
        )
        builder.add_event("page_view", at="2026-03-03", visitor="A2")
        builder.add_event("refund", at="2026-03-04", visitor="A3")  # makes no touch
        await store.append(builder.events)
        page = PeoplePageQuery(builder.query_scope(SPAN), 10, 0, "last_seen")
        for plan in (
            replace(page, utm_source=NOT_SET),
            replace(page, utm_campaign=NOT_SET),
            replace(page, country=NOT_SET),
        ):
            answer, total = await store.list_people_and_total(plan)
            assert ([person.visitor_id for person in answer], total) == (["A3", "A2"], 2)

    async def test_people_row_lists_at_most_a_thousand_visitors_and_search_finds_any(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """A row lists at most `MAX_ITEMS_PER_PERSON` visitors, but counts and search cover all of them."""
        for number in range(MAX_ITEMS_PER_PERSON + 1):
            builder.add_event("page_view", at="2026-03-01", visitor=f"A{number:04}", strong_id="U1")
        await store.append(builder.events)
        plan = PeoplePageQuery(
            builder.query_scope(SPAN), 1, 0, "last_seen", search=f"a{MAX_ITEMS_PER_PERSON:04}"
        )
        ((person,), total) = await store.list_people_and_total(plan)
        assert person.visitor_ids == tuple(f"A{number:04}" for number in range(MAX_ITEMS_PER_PERSON))
        assert (person.events, total) == (MAX_ITEMS_PER_PERSON + 1, 1)

    async def test_order_reported_by_two_visitors_counts_for_the_first_only(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """A later report of an order by another visitor counts as an event, not as a conversion or an order."""
        for day, visitor in ((1, "A1"), (4, "A2"), (9, "A2")):
            builder.add_event("purchase", at=f"2026-03-0{day}", visitor=visitor, order_id="O1", revenue=5)
        await store.append(builder.events)
        for plan in (
            PeoplePageQuery(builder.query_scope(SPAN), 1, 0, "last_seen"),
            PeoplePageQuery(builder.query_scope(SPAN), 1, 0, "last_seen", person="v:A2"),
        ):
            ((other,), _) = await store.list_people_and_total(plan)
            assert (other.person, other.events, other.conversions, other.orders) == ("v:A2", 2, 0, 0)
