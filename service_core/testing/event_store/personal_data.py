"""Conformance tests of the removal of personal data: IP addresses, old events, and the events of a person."""

from datetime import timedelta

from service_core.testing.event_builder import EventBuilder, campaign_columns, utc_instant, whole_utc_days
from service_core.testing.event_store.kit import (
    EVENTS,
    PERSONS,
    SESSION_STARTS,
    VISITORS,
    EventStoreKit,
    Store,
    measure_value_or_row,
)

SPAN = whole_utc_days("2026-03-01", "2026-03-31")


class PersonalData(EventStoreKit):
    """Tests of `PersonalDataStore`."""

    async def test_addresses_of_old_events_are_cut_and_the_rest_of_the_event_stays(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """An IPv4 address becomes its /24, an IPv6 address its /48; later events and other columns stay as they are."""
        addresses = {
            "203.0.113.9": "203.0.113.0/24",
            "2001:db8:7:8::9": "2001:db8:7::/48",
            "2001:db8::9": "2001:db8::/48",
            "::1": "::/48",
            "198.51.100.0/24": "198.51.100.0/24",
        }
        for place, address in enumerate(addresses):
            at = utc_instant(f"2026-03-0{place + 2}")
            builder.add_event("page_view", at=at, visitor="A1", strong_id="U1", ip=address)
        later = builder.add_event("page_view", at="2026-03-20", visitor="A1", strong_id="U1", ip="192.0.2.7")
        builder.add_event("page_view", at="2026-03-21", visitor="A1", strong_id="U1")
        await store.append(builder.events)
        assert await store.truncate_addresses(later.received_at) >= 4
        stored = await store.list_latest_person_events(builder.query_scope(SPAN), "u:U1")
        assert [event.ip for event in stored] == [*addresses.values(), "192.0.2.7", None]
        assert [event.event_id for event in stored] == [event.event_id for event in builder.events]

    async def test_addresses_in_properties_are_cut_at_every_depth(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """Addresses under the keys of addresses are cut in properties, and everything else stays as it was sent."""
        data = {
            "IP": "203.0.113.9",
            "device": [{"x-forwarded-for": "198.51.100.7, 10.0.0.1", "ip": "2001:db8:7:8::9"}],
            "client_ip": ["203.0.113.9", "198.51.100.1"],
            "remote_addr": "::1",
            "user_ip": "unknown",
            "app_version": "1.2.3.4",
            "price": 1.10,
        }
        cut = data | {
            "IP": "203.0.113.0/24",
            "device": [{"x-forwarded-for": "198.51.100.0/24", "ip": "2001:db8:7::/48"}],
            "client_ip": ["203.0.113.0/24"],
            "remote_addr": "::/48",
        }
        for day in ("2026-03-02", "2026-03-20"):
            builder.add_event("page_view", at=day, visitor="A1", strong_id="U1", event_data=data)
        await store.append(builder.events)
        assert await store.truncate_addresses(utc_instant("2026-03-10")) == 1
        stored = await store.list_latest_person_events(builder.query_scope(SPAN), "u:U1")
        assert [event.event_data for event in stored] == [cut, data]
        assert await store.truncate_addresses(utc_instant("2026-03-10")) == 0

    async def test_truncation_leaves_addresses_received_before_its_start(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """With a start, only addresses received since then are cut."""
        for day in ("2026-03-02", "2026-03-04"):
            builder.add_event("page_view", at=day, visitor="A1", strong_id="U1", ip="203.0.113.9")
        await store.append(builder.events)
        await store.truncate_addresses(utc_instant("2026-03-05"), utc_instant("2026-03-03"))
        stored = await store.list_latest_person_events(builder.query_scope(SPAN), "u:U1")
        assert [event.ip for event in stored] == ["203.0.113.9", "203.0.113.0/24"]

    async def test_events_before_a_time_are_deleted_and_the_rest_counts_alone(
        self, store: Store, builder: EventBuilder, oracle: Store
    ) -> None:
        """After deletion by age the store answers as if only the later events had been stored."""
        other = EventBuilder()
        for target in (builder, other):
            target.add_event(
                "page_view", at="2026-03-02", visitor="A1", **campaign_columns("google", "cpc", "old")
            )
            target.add_event("page_view", at="2026-03-02T10:00", visitor="B1")
            target.add_event("identify", at="2026-03-05", visitor="A1", strong_id="U1")
            target.add_event("page_view", at="2026-03-06", visitor="A1", session="s2")
            await store.append(target.events)
        deleted = await store.delete_events_before(builder.workspace_id, utc_instant("2026-03-04"))
        assert deleted == 2
        assert await store.delete_events_before(builder.workspace_id, utc_instant("2026-03-04")) == 0
        await oracle.append(builder.events[2:])
        measures = (EVENTS, VISITORS, PERSONS, SESSION_STARTS)
        scope = builder.query_scope(SPAN)
        assert await measure_value_or_row(store, scope, *measures) == await measure_value_or_row(
            oracle, scope, *measures
        )
        assert await store.list_latest_person_touches(
            scope, "u:U1"
        ) == await oracle.list_latest_person_touches(scope, "u:U1")
        assert await store.find_person_of_any_id(builder.workspace_id, "B1") is None
        assert await measure_value_or_row(store, other.query_scope(SPAN), EVENTS) == 4

    async def test_person_whose_events_are_deleted_is_forgotten(
        self, store: Store, builder: EventBuilder, oracle: Store
    ) -> None:
        """No id of the person is known any more; everybody else counts as before, on a shared device, too."""
        kept = [
            builder.add_event("page_view", at="2026-03-02", visitor="B1"),
            builder.add_event("purchase", at="2026-03-03", visitor="B1", strong_id="U2", revenue=500),
        ]
        erased = [
            builder.add_event("page_view", at="2026-03-02T01:00", visitor="A1", ip="203.0.113.9"),
            builder.add_event(
                "$identify", at="2026-03-02T02:00", visitor="A1", strong_id="U1",
                event_data={"traits": {"email": "ada@example.com"}},
            ),
            builder.add_event("purchase", at="2026-03-02T03:00", visitor="A1", strong_id="U1", revenue=700),
            builder.add_event("page_view", at="2026-03-02T04:00", visitor="A1", is_bot=True),
        ]  # fmt: skip
        kept.append(
            builder.add_event("page_view", at="2026-03-09", visitor="A1", strong_id="U2", session="s9")
        )
        await store.append(builder.events)
        await store.revoke_identity_link(builder.workspace_id, erased[1].event_id)
        seqs = [event.seq for event in erased]
        assert set(await store.list_ids(builder.workspace_id)) == {"A1", "B1", "U1", "U2"}
        removed = await store.delete_events(builder.workspace_id, seqs)
        assert set(await store.list_ids(builder.workspace_id)) == {"A1", "B1", "U2"}
        assert removed["events"] == len(erased)
        assert (await store.delete_events(builder.workspace_id, seqs))["events"] == 0
        assert await store.find_person_of_any_id(builder.workspace_id, "U1") is None
        assert await store.find_person_of_any_id(builder.workspace_id, "ada@example.com") is None
        await oracle.append(kept)
        scope = builder.query_scope(SPAN, include_bots=True)
        measures = (EVENTS, VISITORS, PERSONS, SESSION_STARTS)
        assert await measure_value_or_row(store, scope, *measures) == await measure_value_or_row(
            oracle, scope, *measures
        )
        assert await store.list_latest_person_events(scope, "u:U2") == await oracle.list_latest_person_events(
            scope, "u:U2"
        )
        again = EventBuilder()
        again.workspace_id = builder.workspace_id
        fresh = again.add_event("page_view", at=utc_instant("2026-03-10") + timedelta(hours=1), visitor="A7")
        await store.append([fresh])
        assert await store.find_person_of_any_id(builder.workspace_id, "A7") == "v:A7"
