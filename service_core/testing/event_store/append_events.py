"""Storing events: once, whole, apart by workspace."""

from dataclasses import replace
from datetime import timedelta

from service_core.ingestion.models import CAMPAIGN_COLUMNS
from service_core.testing.event_builder import EventBuilder, campaign, utc_instant, whole_utc_days
from service_core.testing.event_store.kit import EVENTS, Kit, Store, measure

SPAN = whole_utc_days("2026-03-01", "2026-03-31")


class AppendEvents(Kit):
    """Append, session look-up and bounds."""

    async def test_an_event_comes_back_as_it_was_stored(self, store: Store, story: EventBuilder) -> None:
        story.add_event(
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
            **campaign("google", "cpc", "spring"),
        )
        await store.append(story.events)
        page = await store.list_person_events(story.scan(SPAN), "u:U1")
        assert page == story.events

    async def test_an_event_id_is_stored_once_in_seven_days_of_receipt(
        self, store: Store, story: EventBuilder
    ) -> None:
        first = story.add_event("page_view", at="2026-03-02", visitor="A1")
        again = replace(first, seq=first.seq + 1)
        later = replace(first, seq=first.seq + 2, received_at=first.received_at + timedelta(days=7))
        assert await store.append([first, again]) == 1
        assert await store.append([again]) == 0
        assert await store.append([later]) == 1
        assert await measure(store, story.scan(SPAN), EVENTS) == 2

    async def test_one_event_id_in_two_workspaces_is_two_events(
        self, store: Store, story: EventBuilder
    ) -> None:
        first = story.add_event("page_view", at="2026-03-02", visitor="A1")
        other = EventBuilder()
        twin = replace(other.add_event("page_view", at="2026-03-02", visitor="A1"), event_id=first.event_id)
        assert await store.append([first, twin]) == 2
        assert await measure(store, story.scan(SPAN), EVENTS) == 1
        assert await measure(store, other.scan(SPAN), EVENTS) == 1

    async def test_an_empty_batch_stores_nothing(self, store: Store) -> None:
        assert await store.append([]) == 0

    async def test_a_session_is_known_by_its_entry_page_and_latest_values(
        self, store: Store, story: EventBuilder
    ) -> None:
        came = campaign("google", "cpc", "spring")
        story.add_event("page_view", at="2026-03-02T10:00", visitor="A1", landing_page="/in", **came)
        shown = {"attribution_source": "google", "attribution_medium": "cpc", "channel": "paid_search"}
        story.add_event("scroll", at="2026-03-02T10:01", visitor="A1", landing_page="/in", **shown)
        bot = campaign("spam", "link", channel="referral")
        for at in ("2026-03-02T09:00", "2026-03-02T11:00"):
            story.add_event("page_view", at=at, visitor="A1", is_bot=True, landing_page="/bot", **bot)
        await store.append(story.events)
        key = story.workspace_id, "A1", "s1"
        unknown = story.workspace_id, "A1", "s2"
        (state,) = (await store.session_states([key, unknown])).values()
        assert (state.first_at, state.landing_page) == (utc_instant("2026-03-02T10:00"), "/in")
        assert (state.attribution_source, state.channel) == ("google", "paid_search")
        sent = dict(zip(CAMPAIGN_COLUMNS, state.last_campaign or (), strict=True))
        assert (sent["utm_source"], sent["utm_campaign"], sent["lyr"]) == ("google", "spring", None)

    async def test_bounds_are_the_first_and_last_event(self, store: Store, story: EventBuilder) -> None:
        assert await store.event_time_range(story.workspace_id) is None
        for at in ("2026-03-05", "2026-03-02", "2026-03-09"):
            story.add_event("page_view", at=at, visitor="A1")
        await store.append(story.events)
        assert await store.event_time_range(story.workspace_id) == (
            utc_instant("2026-03-02"),
            utc_instant("2026-03-09"),
        )

    async def test_maintenance_changes_no_answer(self, store: Store, story: EventBuilder) -> None:
        for hour in range(6):
            story.add_event("page_view", at=f"2026-03-02T{hour:02}:00", visitor=f"A{hour % 2}")
        await store.append(story.events[3:])
        await store.append(story.events[:3])
        before = await measure(store, story.scan(SPAN), EVENTS)
        await store.maintain()
        assert await measure(store, story.scan(SPAN), EVENTS) == before == 6
