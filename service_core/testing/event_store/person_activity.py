"""Conformance tests of the profile, sessions and conversions of one person."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

from service_core.analytics.people.ports import PersonActivity, PersonActivityQuery, Profile
from service_core.testing.event_builder import EventBuilder, campaign_columns, whole_utc_days
from service_core.testing.event_store.identity_resolution import SPAN
from service_core.testing.event_store.kit import EventStoreKit, Store


class PersonActivityKit(EventStoreKit):
    """Tests of `read_activity` and of limited reads of one person."""

    async def test_profile_has_all_anonymous_ids_and_the_latest_traits_of_all_time(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """A profile has anonymous ids, the latest external id and the latest known value of each trait, also before the range."""
        for day, data in ((1, {"plan": "free", "city": "Riga"}), (2, {"plan": "pro", "city": None})):
            at = f"2026-02-0{day}"
            ids = {"crm": str(day)}
            builder.add_event(
                "$identify",
                at=at,
                visitor=f"A{day}",
                anonymous_id=f"A{day}",
                strong_id="U1",
                external_ids=ids,
                event_data=data,
            )
        await store.append(builder.events)
        plan = PersonActivityQuery(builder.query_scope(SPAN), "u:U1", timedelta(days=1), 1)
        profile = (await store.read_activity(plan)).profile
        assert (profile.anonymous_ids, dict(profile.external_ids)) == (("A1", "A2"), {"crm": "2"})
        assert dict(profile.traits) == {"plan": "pro", "city": "Riga"}

    async def test_activity_lists_newest_sessions_and_conversions_with_counts_of_range_and_lifetime(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """Activity lists a person's newest sessions and conversions with their paths.

        Unknown persons have an empty one.
        """
        google = campaign_columns("google", "cpc", "spring")
        builder.add_event("$identify", at="2026-03-02", visitor="A1", strong_id="U1")
        for hour, path in (("09:00", "/in"), ("09:30", "/out")):
            at = f"2026-03-03T{hour}"
            builder.add_event("page_view", at=at, visitor="A1", session="s2", page_path=path, **google)
        builder.add_event("page_view", at="2026-03-03T09:45", visitor="A1", session="s2", strong_id="U2")
        order: dict[str, Any] = {"visitor": "A2", "strong_id": "U1", "order_id": "O1", "revenue": 500}
        builder.add_event("purchase", at="2026-03-03T09:50", session="s2", **order)
        builder.add_event("purchase", at="2026-03-03T09:55", session="s3", **order)
        foreign = {"revenue": 7, "currency": "EUR"}
        builder.add_event("purchase", at="2026-03-04", visitor="A1", session="s2", strong_id="U1", **foreign)
        await store.append(builder.events)
        plan = PersonActivityQuery(builder.query_scope(SPAN), "u:U1", timedelta(days=1), 3)
        answer = await store.read_activity(plan)
        assert [
            (s.first_event.event_id, f"{s.ended_at:%d %H:%M}", s.pageviews, s.events, s.exit_page, s.revenue)
            for s in answer.sessions
        ] == [
            (builder.events[5].event_id, "03 09:55", 0, 1, None, 0),
            (builder.events[4].event_id, "03 09:50", 0, 1, None, 500),
            (builder.events[1].event_id, "04 00:00", 2, 3, "/out", 0),
        ]
        assert [s.foreign_money for s in answer.sessions] == [False, False, True]
        assert [(c.event, [t.source for t in c.path], c.is_truncated) for c in answer.conversions] == [
            (builder.events[6], ["google"], False),
            (builder.events[4], ["google"], False),
        ]
        assert answer.in_range
        assert (answer.in_range.events, answer.in_range.revenue) == (6, 500)
        assert answer.lifetime == answer.in_range
        assert [answer.last_touch] == await store.list_latest_person_touches(plan.scope, "u:U1", 1)
        earlier = await store.read_activity(
            replace(plan, scope=builder.query_scope(whole_utc_days("2026-03-05", "2026-03-07")))
        )
        assert (earlier.in_range, earlier.lifetime, earlier.sessions) == (None, answer.lifetime, ())
        nobody = PersonActivity(None, None, Profile((), {}, {}), None, (), ())
        assert await store.read_activity(replace(plan, person="u:U9")) == nobody

    async def test_session_revenue_is_that_of_its_charges_whatever_is_refunded_in_it(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """A session has the amounts of its charges; refunds, also in another currency, change neither sum nor flag."""
        for name, amount, currency in (
            ("purchase", 500, "USD"),
            ("refund", -200, "USD"),
            ("refund", -9, "EUR"),
        ):
            at = f"2026-03-03T09:0{len(builder.events)}"
            builder.add_event(name, at=at, visitor="A1", order_id="O1", revenue=amount, currency=currency)
        await store.append(builder.events)
        plan = PersonActivityQuery(builder.query_scope(SPAN), "v:A1", timedelta(days=1), 3)
        (session,) = (await store.read_activity(plan)).sessions
        assert (session.revenue, session.foreign_money, session.events) == (500, False, 3)

    async def test_person_reads_with_a_limit_return_the_latest_touches_events_and_sessions(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """With a limit, touches, events, sessions, conversions and their paths are the latest, and paths say that they are cut."""
        for day in range(1, 6):
            touch = campaign_columns(f"c{day}", "cpc")
            builder.add_event("page_view", at=f"2026-03-0{day}", visitor="A1", session=f"s{day}", **touch)
            builder.add_event("signup", at=f"2026-03-0{day}T01:00", visitor="A1", session=f"s{day}")
        await store.append(builder.events)
        scope, person = builder.query_scope(SPAN), "v:A1"
        assert [t.source for t in await store.list_latest_person_touches(scope, person, 2)] == ["c4", "c5"]
        assert await store.list_latest_person_events(scope, person, 3) == builder.events[-3:]
        answer = await store.read_activity(PersonActivityQuery(scope, person, timedelta(days=9), 2))
        assert [s.first_event.session_id for s in answer.sessions] == ["s5", "s4"]
        assert [([t.source for t in c.path], c.is_truncated) for c in answer.conversions] == [
            (["c4", "c5"], True), (["c3", "c4"], True),
        ]  # fmt: skip
