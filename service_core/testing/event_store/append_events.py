"""Conformance tests of appending events: deduplication, workspaces, session states and time range."""

from dataclasses import replace
from datetime import timedelta

from service_core.ingestion.models import CAMPAIGN_COLUMNS
from service_core.testing.event_builder import (
    EventBuilder,
    campaign_columns,
    referral_columns,
    utc_instant,
    whole_utc_days,
)
from service_core.testing.event_store.kit import EVENTS, EventStoreKit, Store, measure_value_or_row

SPAN = whole_utc_days("2026-03-01", "2026-03-31")


class AppendEvents(EventStoreKit):
    """Tests of `append`, `session_states`, `event_time_range` and `maintain`."""

    async def test_every_column_of_an_event_is_read_back_unchanged(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """A stored event with amounts, ids, nested properties and microseconds is read back unchanged."""
        builder.add_event(
            "purchase",
            at=utc_instant("2026-03-02T15:00") + timedelta(microseconds=123456),
            visitor="A1",
            revenue=1999,
            order_id="O'1",
            external_ids={"till": "cus_1"},
            bot_reasons=("datacenter_ip", "rate"),
            event_data={"price": "1.10", "items": [{"n": 1}], "null": None, "text": "zażółć ☂"},
            ip="203.0.113.9",
            strong_id="U1",
            **campaign_columns("google", "cpc", "spring"),
        )
        await store.append(builder.events)
        page = await store.list_latest_person_events(builder.query_scope(SPAN), "u:U1")
        assert page == builder.events

    async def test_event_id_is_stored_once_within_seven_days_of_receipt(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """An event id is stored once in and across batches, and again when it is received seven days later."""
        first = builder.add_event("page_view", at="2026-03-02", visitor="A1")
        again = replace(first, seq=first.seq + 1)
        later = replace(first, seq=first.seq + 2, received_at=first.received_at + timedelta(days=7))
        assert await store.append([first, again]) == 1
        assert await store.append([again]) == 0
        assert await store.append([later]) == 1
        assert await measure_value_or_row(store, builder.query_scope(SPAN), EVENTS) == 2

    async def test_event_with_a_key_supersedes_one_without_of_the_same_id(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """The event of a browser batch disappears from every answer when its id comes from a sender with a key."""
        view = builder.add_event("page_view", at="2026-03-02T10:00", visitor="A1", source="web")
        claimed = builder.add_event(
            "purchase", at="2026-03-02T10:05", visitor="A1", source="web", strong_id="U2", revenue=1,
            event_data={"email": "b@example.com"},
        )  # fmt: skip
        real = replace(
            claimed, seq=claimed.seq + 100, source="api", visitor_id="B1", strong_id="U1", revenue=5000,
            session_id="other", event_data={},
        )  # fmt: skip
        assert await store.append([view, claimed]) == 2
        assert await store.append([real]) == 1
        assert await store.append([real]) == await store.append([claimed]) == 0
        scope = builder.query_scope(SPAN)
        assert await measure_value_or_row(store, scope, EVENTS) == 2
        assert await store.list_latest_person_events(scope, "u:U1") == [real]
        assert await store.list_latest_person_events(scope, "u:U2") == []
        assert await store.list_latest_person_events(scope, "v:A1") == [view]
        (state,) = (await store.session_states([(view.workspace_id, "A1", view.session_id)])).values()
        assert state.first_at == view.timestamp

    async def test_in_one_batch_the_event_with_a_key_is_stored(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """Of two events of one id in a batch that with a key is stored, whichever came first."""
        claimed = builder.add_event("purchase", at="2026-03-02", visitor="A1", source="web", revenue=1)
        real = replace(claimed, seq=claimed.seq + 1, source="api", visitor_id="B1", revenue=5000)
        assert await store.append([claimed, real]) == 1
        assert await store.list_latest_person_events(builder.query_scope(SPAN), "v:B1") == [real]

    async def test_same_event_id_in_two_workspaces_is_stored_twice(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """Event ids are unique per workspace only."""
        first = builder.add_event("page_view", at="2026-03-02", visitor="A1")
        other = EventBuilder()
        twin = replace(other.add_event("page_view", at="2026-03-02", visitor="A1"), event_id=first.event_id)
        assert await store.append([first, twin]) == 2
        assert await measure_value_or_row(store, builder.query_scope(SPAN), EVENTS) == 1
        assert await measure_value_or_row(store, other.query_scope(SPAN), EVENTS) == 1

    async def test_appending_an_empty_batch_returns_zero(self, store: Store) -> None:
        """Appending no events returns 0."""
        assert await store.append([]) == 0

    async def test_session_states_hold_first_event_and_latest_attribution_without_bots(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """A session state has the first human event's landing page and the latest attribution.

        Unknown sessions are left out.
        """
        entry_campaign = campaign_columns("google", "cpc", "spring")
        builder.add_event(
            "page_view", at="2026-03-02T10:00", visitor="A1", landing_page="/in", **entry_campaign
        )
        later_attribution = {
            "attribution_source": "google",
            "attribution_medium": "cpc",
            "channel": "paid_search",
        }
        builder.add_event(
            "scroll", at="2026-03-02T10:01", visitor="A1", landing_page="/in", **later_attribution
        )
        bot = campaign_columns("spam", "link", channel="referral")
        for at in ("2026-03-02T09:00", "2026-03-02T11:00"):
            builder.add_event("page_view", at=at, visitor="A1", is_bot=True, landing_page="/bot", **bot)
        await store.append(builder.events)
        key = builder.workspace_id, "A1", "s1"
        unknown = builder.workspace_id, "A2", "s2"
        (state,) = (await store.session_states([key, unknown])).values()
        assert (state.first_at, state.landing_page) == (utc_instant("2026-03-02T10:00"), "/in")
        assert (state.attribution_source, state.channel) == ("google", "paid_search")
        last_campaign = dict(zip(CAMPAIGN_COLUMNS, state.last_campaign or (), strict=True))
        assert (last_campaign["utm_source"], last_campaign["utm_campaign"], last_campaign["lyr"]) == (
            "google",
            "spring",
            None,
        )
        assert state.last_campaign_at == utc_instant("2026-03-02T10:00")

    async def test_session_states_of_a_new_session_hold_the_latest_campaign_of_the_visitor(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """A session without events has the campaign of the visitor's other sessions, and nothing else."""
        for hour, name in enumerate(("spring", "autumn"), 9):
            builder.add_event(
                "page_view",
                at=f"2026-03-02T{hour:02}:00:00.000007",
                visitor="A1",
                session=name,
                **campaign_columns("google", "cpc", name),
            )
        builder.add_event("page_view", at="2026-03-02T12:00", visitor="A1", session="last")
        await store.append(builder.events)
        key = builder.workspace_id, "A1", "new"
        states = await store.session_states([key])
        (state,) = states.values()
        assert (state.first_at, state.landing_page, state.channel) == (None, None, None)
        assert state.last_campaign is not None
        assert dict(zip(CAMPAIGN_COLUMNS, state.last_campaign, strict=True))["utm_campaign"] == "autumn"
        assert state.last_campaign_at == utc_instant("2026-03-02T10:00:00.000007")

    async def test_session_states_leave_out_events_that_make_no_touch_and_those_of_providers(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """Later events inherit the source of touches only, and no landing page of a system event."""
        identified = referral_columns("partner.example", "referral", "referral")
        builder.add_event(
            "$identify", at="2026-03-02T10:00", visitor="A1", landing_page="/login", **identified
        )
        builder.add_event(
            "order_paid", at="2026-03-02T09:00", visitor="A1", source="till", landing_page="/till"
        )
        builder.add_event("order_paid", at="2026-03-02T09:00", visitor="A2", session="s2", source="till")
        key = builder.workspace_id, "A1", "s1"
        await store.append(builder.events)
        paid = builder.workspace_id, "A2", "s2"
        assert await store.session_states([paid]) == {}
        (state,) = (await store.session_states([key, paid])).values()
        assert (state.first_at, state.landing_page) == (utc_instant("2026-03-02T10:00"), None)
        assert (state.attribution_source, state.attribution_medium, state.channel) == (None, None, None)
        builder.add_event(
            "page_view", at="2026-03-02T10:01", visitor="A1", page_path="/home", landing_page="/home",
            **campaign_columns("news", "email", channel="email"),
        )  # fmt: skip
        await store.append(builder.events[-1:])
        (state,) = (await store.session_states([key])).values()
        assert (state.landing_page, state.attribution_source, state.channel) == ("/home", "news", "email")

    async def test_event_time_range_is_first_and_last_timestamp_or_none(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """The time range of a workspace is its first and last event time; None without events."""
        assert await store.first_and_last_event_time(builder.workspace_id) is None
        for at in ("2026-03-05", "2026-03-02", "2026-03-09"):
            builder.add_event("page_view", at=at, visitor="A1")
        await store.append(builder.events)
        assert await store.first_and_last_event_time(builder.workspace_id) == (
            utc_instant("2026-03-02"),
            utc_instant("2026-03-09"),
        )

    async def test_maintain_leaves_counts_unchanged(self, store: Store, builder: EventBuilder) -> None:
        """Maintenance after appends in any order leaves the event count unchanged."""
        for hour in range(6):
            builder.add_event("page_view", at=f"2026-03-02T{hour:02}:00", visitor=f"A{hour % 2}")
        await store.append(builder.events[3:])
        await store.append(builder.events[:3])
        before = await measure_value_or_row(store, builder.query_scope(SPAN), EVENTS)
        await store.maintain()
        assert await measure_value_or_row(store, builder.query_scope(SPAN), EVENTS) == before == 6
