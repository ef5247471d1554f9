"""Whose an event is: the golden cases of identity resolution, revocation, and the read side of persons."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any, Final

from service_core.analytics.measures import NOT_SET
from service_core.analytics.people.ports import (
    MAX_CONFLICTING_PERSONS,
    MAX_ITEMS_PER_PERSON,
    ConflictingPerson,
    ExternalIdConflict,
    LocationAndDevice,
    PeoplePageQuery,
    PersonActivityQuery,
)
from service_core.testing.event_builder import EventBuilder, campaign, whole_utc_days
from service_core.testing.event_store.kit import PERSONS, VISITORS, Kit, Store, measure

SPAN = whole_utc_days("2026-03-01", "2026-03-31")
ENTANGLED: Final[tuple[tuple[str, str | None, Mapping[str, str]], ...]] = (
    ("A1", None, {"shop": "s1"}),
    ("A2", "U1", {"shop": "s1", "crm": "c1"}),
    ("A3", "U2", {"crm": "c1"}),
    ("A4", None, {"crm": "c1", "shop": "s2"}),
    ("A5", None, {"shop": "s2", "till": "t1"}),
    ("A6", "U3", {"till": "t1", "app": "a1"}),
    ("A7", None, {"app": "a1", "desk": "d1"}),
    ("A8", "U4", {"desk": "d1"}),
)
"""Visitor, strong id, external ids: two persons carry one id, and a chain of others leads from one to another."""


async def event_times_by_person(store: Store, story: EventBuilder) -> dict[str, list[str]]:
    """Person -> times of its events, hour and minute."""
    found, _ = await store.list_people(PeoplePageQuery(story.scan(SPAN), 100, 0, "events"))
    return {
        person.person: [
            f"{e.timestamp:%H:%M}" for e in await store.list_person_events(story.scan(SPAN), person.person)
        ]
        for person in found
    }


def persons_of(one: ExternalIdConflict) -> tuple[str, ...]:
    """Who carries an external id."""
    return tuple(claim.person for claim in one.conflicting_persons)


class IdentityResolution(Kit):
    """Semantics 5."""

    def add_identity_events(self, story: EventBuilder, *said: tuple[str, str | None]) -> None:
        """One event an hour: (visitor, strong id)."""
        for hour, (visitor, strong) in enumerate(said):
            name = "$identify" if strong else "page_view"
            story.add_event(name, at=f"2026-03-02T{hour:02}:00", visitor=visitor, strong_id=strong)

    async def test_what_a_visitor_did_before_it_was_known_belongs_to_the_person(
        self, store: Store, story: EventBuilder
    ) -> None:
        self.add_identity_events(story, ("A1", None), ("A1", "U1"))
        await store.append(story.events)
        assert await event_times_by_person(store, story) == {"u:U1": ["00:00", "01:00"]}

    async def test_a_shared_computer_moves_later_events_only(self, store: Store, story: EventBuilder) -> None:
        self.add_identity_events(story, ("A1", None), ("A1", "U1"), ("A1", None), ("A1", "U2"), ("A1", None))
        await store.append(story.events)
        assert await event_times_by_person(store, story) == {
            "u:U1": ["00:00", "01:00", "02:00"],
            "u:U2": ["03:00", "04:00"],
        }

    async def test_the_former_person_may_come_back(self, store: Store, story: EventBuilder) -> None:
        self.add_identity_events(story, ("A1", "U1"), ("A1", "U2"), ("A1", "U1"), ("A1", None))
        await store.append(story.events)
        assert await event_times_by_person(store, story) == {
            "u:U1": ["00:00", "02:00", "03:00"],
            "u:U2": ["01:00"],
        }

    async def test_two_devices_of_one_person_are_two_visitors(
        self, store: Store, story: EventBuilder
    ) -> None:
        self.add_identity_events(story, ("A1", "U1"), ("A2", "U1"))
        await store.append(story.events)
        assert await measure(store, story.scan(SPAN), PERSONS, VISITORS) == (1, 2)

    async def test_a_strong_id_links_every_weak_id_of_its_event(
        self, store: Store, story: EventBuilder
    ) -> None:
        self.add_identity_events(story, ("V1", None), ("D1", None))
        ids = {"anonymous_id": "A1", "sent_visitor_id": "V1", "distinct_id": "D1"}
        story.add_event("login", at="2026-03-02T05:00", visitor="A1", strong_id="U1", **ids)
        for hour, visitor in enumerate(("A1", "V1", "D1")):
            story.add_event("page_view", at=f"2026-03-02T1{hour}:00", visitor=visitor)
        await store.append(story.events)
        assert await event_times_by_person(store, story) == {
            "u:U1": ["00:00", "01:00", "05:00", "10:00", "11:00", "12:00"]
        }

    async def test_a_weak_id_beside_another_moves_onwards_only(
        self, store: Store, story: EventBuilder
    ) -> None:
        self.add_identity_events(story, ("V1", None), ("V1", "U1"), ("V1", None))
        story.add_event("login", at="2026-03-02T05:00", visitor="A1", sent_visitor_id="V1", strong_id="U2")
        story.add_event("page_view", at="2026-03-02T06:00", visitor="V1")
        await store.append(story.events[:4])
        await store.append(story.events[4:])
        moved = {"u:U1": ["00:00", "01:00", "02:00"], "u:U2": ["05:00", "06:00"]}
        assert await event_times_by_person(store, story) == moved
        await store.revoke_identity_link(story.workspace_id, story.events[3].event_id)
        assert await event_times_by_person(store, story) == {
            "u:U1": ["00:00", "01:00", "02:00", "06:00"],
            "u:U2": ["05:00"],
        }

    async def test_two_weak_ids_without_a_strong_one_stay_apart(
        self, store: Store, story: EventBuilder
    ) -> None:
        self.add_identity_events(story, ("A1", None), ("V1", None), ("D1", None))
        story.add_event(
            "page_view", at="2026-03-02T05:00", visitor="A1", sent_visitor_id="V1", distinct_id="D1"
        )
        self.add_identity_events(story, ("V1", "U1"))
        await store.append(story.events)
        assert set(await event_times_by_person(store, story)) == {"v:A1", "u:U1", "v:D1"}

    async def test_a_bot_links_none_of_its_weak_ids(self, store: Store, story: EventBuilder) -> None:
        self.add_identity_events(story, ("V1", None))
        story.add_event(
            "login", at="2026-03-02T05:00", visitor="A1", sent_visitor_id="V1", strong_id="U1", is_bot=True
        )
        await store.append(story.events)
        assert set(await event_times_by_person(store, story)) == {"v:V1"}

    async def test_a_weak_id_that_never_came_alone_leads_to_its_person(
        self, store: Store, story: EventBuilder
    ) -> None:
        ids = {"sent_visitor_id": "V1", "distinct_id": "D1"}
        story.add_event("login", at="2026-03-02T05:00", visitor="A1", strong_id="U1", **ids)
        story.add_event("login", at="2026-03-02T06:00", visitor="A1", strong_id="U2", distinct_id="D1")
        await store.append(story.events)
        for any_id, person in (("V1", "u:U1"), ("D1", "u:U2"), ("A1", "u:U2"), ("X1", None)):
            assert await store.find_person(story.workspace_id, any_id) == person, any_id

    async def test_an_alias_joins_two_strong_ids_under_the_new_one(
        self, store: Store, story: EventBuilder
    ) -> None:
        self.add_identity_events(story, ("A1", "U1"), ("A1", None))
        self.add_alias_event(story, "U1", "U2", at="2026-03-02T05:00")
        await store.append(story.events)
        assert list(await event_times_by_person(store, story)) == ["u:U2"]
        assert await store.find_person(story.workspace_id, "U1") == "u:U2"

    async def test_aliases_chain_and_the_latest_names_the_person(
        self, store: Store, story: EventBuilder
    ) -> None:
        self.add_identity_events(story, ("A1", "U1"), ("A2", "U2"), ("A3", "U3"))
        self.add_alias_event(story, "U1", "U2", at="2026-03-02T05:00")
        self.add_alias_event(story, "U2", "U3", at="2026-03-02T06:00")
        await store.append(story.events)
        assert list(await event_times_by_person(store, story)) == ["u:U3"]

    async def test_visitors_nobody_named_stay_apart(self, store: Store, story: EventBuilder) -> None:
        self.add_identity_events(story, ("A1", None), ("A2", None))
        await store.append(story.events)
        assert set(await event_times_by_person(store, story)) == {"v:A1", "v:A2"}

    async def test_a_visitor_and_a_user_of_one_spelling_are_two(
        self, store: Store, story: EventBuilder
    ) -> None:
        self.add_identity_events(story, ("X", None), ("X2", "X"))
        await store.append(story.events)
        assert set(await event_times_by_person(store, story)) == {"v:X", "u:X"}

    async def test_a_link_that_arrives_late_reaches_back_all_the_same(
        self, store: Store, story: EventBuilder
    ) -> None:
        self.add_identity_events(story, ("A1", None), ("A1", None), ("A1", "U2"))
        story.add_event("$identify", at="2026-03-02T00:30", visitor="A1", strong_id="U1")
        await store.append(story.events[:3])
        await store.append(story.events[3:])
        assert await event_times_by_person(store, story) == {
            "u:U1": ["00:00", "00:30", "01:00"],
            "u:U2": ["02:00"],
        }

    async def test_at_one_instant_the_sequence_decides(self, store: Store, story: EventBuilder) -> None:
        for strong in ("U1", None, "U2", None):
            story.add_event("x", at="2026-03-02", visitor="A1", strong_id=strong)
        await store.append(story.events)
        counts = {person: len(times) for person, times in (await event_times_by_person(store, story)).items()}
        assert counts == {"u:U1": 2, "u:U2": 2}

    async def test_a_bot_links_nobody(self, store: Store, story: EventBuilder) -> None:
        self.add_identity_events(story, ("A1", None))
        story.add_event("$identify", at="2026-03-02T05:00", visitor="A1", strong_id="U1", is_bot=True)
        await store.append(story.events)
        assert set(await event_times_by_person(store, story)) == {"v:A1"}

    async def test_removing_a_link_restores_the_earlier_state(
        self, store: Store, story: EventBuilder
    ) -> None:
        self.add_identity_events(story, ("A1", None), ("A1", "U1"), ("A1", None), ("A1", "U2"), ("A1", None))
        await store.append(story.events)
        await store.revoke_identity_link(story.workspace_id, story.events[3].event_id)
        assert await event_times_by_person(store, story) == {
            "u:U1": ["00:00", "01:00", "02:00", "04:00"],
            "u:U2": ["03:00"],
        }
        await store.revoke_identity_link(story.workspace_id, story.events[1].event_id)
        assert await event_times_by_person(store, story) == {
            "v:A1": ["00:00", "02:00", "04:00"],
            "u:U1": ["01:00"],
            "u:U2": ["03:00"],
        }

    async def test_removing_an_alias_parts_the_persons(self, store: Store, story: EventBuilder) -> None:
        self.add_identity_events(story, ("A1", "U1"), ("A2", "U2"))
        alias = self.add_alias_event(story, "U1", "U2", at="2026-03-02T05:00")
        await store.append(story.events)
        for _ in range(2):
            await store.revoke_identity_link(story.workspace_id, alias)
        assert set(await event_times_by_person(store, story)) == {"u:U1", "u:U2"}

    async def test_an_external_id_joins_unknown_visitors_to_the_known_one(
        self, store: Store, story: EventBuilder
    ) -> None:
        for visitor, strong, external in (("A1", None, "c1"), ("A2", None, "c1"), ("A3", "U1", "c1")):
            ids = {"crm": external}
            story.add_event("x", at="2026-03-02", visitor=visitor, strong_id=strong, external_ids=ids)
        story.add_event("x", at="2026-03-02", visitor="A4", external_ids={"shop": "c1"})
        await store.append(story.events)
        counts = {person: len(times) for person, times in (await event_times_by_person(store, story)).items()}
        assert counts == {"u:U1": 3, "v:A4": 1}

    async def test_an_external_id_of_two_persons_joins_neither(
        self, store: Store, story: EventBuilder
    ) -> None:
        for visitor, strong in (("A1", None), ("A2", "U1"), ("A3", "U2")):
            story.add_event(
                "x", at="2026-03-02", visitor=visitor, strong_id=strong, external_ids={"crm": "c1"}
            )
        await store.append(story.events)
        assert set(await event_times_by_person(store, story)) == {"v:A1", "u:U1", "u:U2"}

    async def test_an_external_id_of_two_persons_takes_no_other_id_with_it(
        self, store: Store, story: EventBuilder
    ) -> None:
        self.add_external_id_events(story, *ENTANGLED)
        await store.append(story.events)
        counts = {person: len(times) for person, times in (await event_times_by_person(store, story)).items()}
        alone = dict.fromkeys(("v:A4", "v:A5", "v:A7"), 1)
        assert counts == {"u:U1": 2, "u:U2": 1, "u:U3": 1, "u:U4": 1, **alone}

    async def test_external_ids_that_link_nobody_are_told_with_who_carries_them(
        self, store: Store, story: EventBuilder
    ) -> None:
        self.add_external_id_events(story, *ENTANGLED)
        await store.append(story.events)
        found, total = await store.external_id_conflicts(story.workspace_id, 100)
        assert {f"{one.namespace}:{one.id}": (one.identified_count, *persons_of(one)) for one in found} == {
            "crm:c1": (2, "u:U1", "u:U2", "v:A4"),
            "desk:d1": (1, "u:U4", "v:A7"),
            "app:a1": (1, "u:U3", "v:A7"),
            "till:t1": (1, "u:U3", "v:A5"),
            "shop:s2": (0, "v:A4", "v:A5"),
        }
        newest = "desk", "app", "till"
        assert ([one.namespace for one in found], total) == (["crm", *newest, "shop"], 5)
        first, total = await store.external_id_conflicts(story.workspace_id, 2)
        assert (first, total) == (found[:2], 5)

    async def test_a_contested_id_is_told_with_the_latest_event_of_everyone_who_carries_it(
        self, store: Store, story: EventBuilder
    ) -> None:
        ids = {"crm": "1", "Shop": '"é:1', "a/b~0.c": "1"}
        self.add_external_id_events(story, ("A1", None, ids), ("A1", "U1", {"crm": "1"}), ("A2", "U2", ids))
        self.add_external_id_events(
            story, *((f"B{number:02}", None, {"crm": "1"}) for number in range(MAX_CONFLICTING_PERSONS))
        )
        first, known, other, *_ = story.events
        await store.append(story.events)
        (crm, *rest), _ = await store.external_id_conflicts(story.workspace_id, 100)
        assert [(one.namespace, one.id, one.identified_count, one.person_count) for one in (crm, *rest)] == [
            ("crm", "1", 2, MAX_CONFLICTING_PERSONS + 2), ("Shop", '"é:1', 2, 2), ("a/b~0.c", "1", 2, 2),
        ]  # fmt: skip
        assert len(crm.conflicting_persons) == MAX_CONFLICTING_PERSONS
        u2 = ConflictingPerson("u:U2", 1, other.event_id, other.timestamp)
        assert crm.conflicting_persons[:2] == (
            ConflictingPerson("u:U1", 2, known.event_id, known.timestamp),
            u2,
        )
        assert {one.conflicting_persons for one in rest} == {
            (ConflictingPerson("u:U1", 1, first.event_id, first.timestamp), u2)
        }

    async def test_an_id_is_contested_by_persons_and_by_events_that_count(
        self, store: Store, story: EventBuilder
    ) -> None:
        self.add_external_id_events(
            story, ("A1", "U1", {"crm": "1"}), ("A2", "U2", {"crm": "1"}), ("A3", "U3", {"crm": "1"})
        )
        bot: dict[str, Any] = {"external_ids": {"crm": "1"}, "is_bot": True}
        story.add_event("x", at="2026-03-02", visitor="A4", strong_id="U4", **bot)
        self.add_external_id_events(
            story, ("A1", "U1", {"a:b": "c"}), ("A2", "U2", {"a": "b:c"}), ("A5", None, {"a": "b:c"})
        )
        await store.append(story.events)
        workspace, (mistaken, *_) = story.workspace_id, story.events
        ((crm,), _) = await store.external_id_conflicts(workspace, 100)
        assert persons_of(crm) == ("u:U1", "u:U2", "u:U3")
        await store.revoke_identity_link(workspace, mistaken.event_id)
        ((crm,), _) = await store.external_id_conflicts(workspace, 100)
        assert persons_of(crm) == ("u:U2", "u:U3")
        self.add_alias_event(story, "U2", "U3", at="2026-03-03")
        await store.append(story.events[-1:])
        assert await store.external_id_conflicts(workspace, 100) == ([], 0)
        assert await store.find_person(workspace, "A5") == "u:U3"

    async def test_a_contested_id_stays_among_what_the_events_of_a_person_say(
        self, store: Store, story: EventBuilder
    ) -> None:
        self.add_external_id_events(story, ("A1", "U1", {"crm": "1"}), ("A2", "U2", {"crm": "1"}))
        await store.append(story.events)
        for person in ("u:U1", "u:U2"):
            found = await store.read_activity(
                PersonActivityQuery(story.scan(SPAN), person, timedelta(days=1), 1)
            )
            assert found.profile.external_ids == {"crm": "1"}

    def add_external_id_events(
        self, story: EventBuilder, *told: tuple[str, str | None, Mapping[str, str]]
    ) -> None:
        """Events at one instant: visitor, strong id, external ids."""
        for visitor, strong, ids in told:
            story.add_event("x", at="2026-03-02", visitor=visitor, strong_id=strong, external_ids=ids)

    async def test_a_match_by_mail_joins_the_web_visitor_to_the_app_visitor(
        self, store: Store, story: EventBuilder
    ) -> None:
        story.add_event("page_view", at="2026-03-02T00:00", visitor="W1")
        matched = {"match_method": "email", "web_visitor_id": "W1"}
        name = "$web_attribution_matched"
        story.add_event(name, at="2026-03-02T01:00", visitor="P1", strong_id="U1", event_data=matched)
        by_address = {"match_method": "ip", "web_visitor_id": "W2"}
        story.add_event("page_view", at="2026-03-02T02:00", visitor="W2")
        story.add_event(name, at="2026-03-02T03:00", visitor="P1", event_data=by_address)
        await store.append(story.events)
        assert await event_times_by_person(store, story) == {
            "u:U1": ["00:00", "01:00", "03:00"],
            "v:W2": ["02:00"],
        }

    async def test_an_id_resolves_as_user_then_visitor_then_anonymous_id(
        self, store: Store, story: EventBuilder
    ) -> None:
        story.add_event("page_view", at="2026-03-02T00:00", visitor="A1", anonymous_id="A0")
        self.add_identity_events(story, ("A1", "U1"), ("U1", None), ("A1", "U2"))
        await store.append(story.events)
        for any_id, person in (("U1", "u:U1"), ("A1", "u:U2"), ("A0", "u:U1"), ("nobody", None)):
            assert await store.find_person(story.workspace_id, any_id) == person, any_id

    async def test_a_person_is_told_by_firsts_ever_and_counts_of_the_span(
        self, store: Store, story: EventBuilder
    ) -> None:
        came = campaign("google", "cpc", "spring")
        story.add_event("page_view", at="2026-02-01", visitor="A1", country="DE", **came)
        traits = {"traits": {"email": "ada@example.com"}, "name": "Ada"}
        story.add_event("$identify", at="2026-02-02", visitor="A1", strong_id="U1", event_data=traits)
        story.add_event(
            "page_view", at="2026-03-02", visitor="A2", session="s2", strong_id="U1", country="FR"
        )
        story.add_event("purchase", at="2026-03-03", visitor="A2", session="s2", revenue=500, order_id="O1")
        story.add_event("purchase", at="2026-03-04", visitor="A2", session="s3", revenue=500, order_id="O1")
        foreign = {"revenue": 900, "currency": "EUR"}
        story.add_event("purchase", at="2026-03-05", visitor="A2", session="s3", **foreign)
        await store.append(story.events)
        plan = PeoplePageQuery(story.scan(SPAN), 10, 0, "last_seen", search="ADA@", utm_campaign="spring")
        (ada,), total = await store.list_people(plan)
        assert (total, ada.person, ada.user_id, ada.email, ada.name) == (
            1, "u:U1", "U1", "ada@example.com", "Ada",
        )  # fmt: skip
        assert (ada.visitor_ids, ada.first_seen, ada.latest_location_and_device) == (
            ("A2",), story.events[0].timestamp, LocationAndDevice.from_event(story.events[-1]),
        )  # fmt: skip
        counts = ada.sessions, ada.pageviews, ada.events, ada.conversions, ada.orders, ada.revenue
        assert counts == (2, 1, 4, 2, 2, 500)
        assert ada.foreign_money
        assert ada.first_touch
        assert (ada.first_touch.utm_source, ada.first_touch.channel) == ("google", "paid_search")

    async def test_persons_without_a_value_are_found_by_the_label_answers_show(
        self, store: Store, story: EventBuilder
    ) -> None:
        story.add_event(
            "page_view", at="2026-03-02", visitor="A1", country="DE", **campaign("google", "cpc", "spring")
        )
        story.add_event("page_view", at="2026-03-03", visitor="A2")
        story.add_event("refund", at="2026-03-04", visitor="A3")  # makes no touch
        await store.append(story.events)
        page = PeoplePageQuery(story.scan(SPAN), 10, 0, "last_seen")
        for plan in (
            replace(page, utm_source=NOT_SET),
            replace(page, utm_campaign=NOT_SET),
            replace(page, country=NOT_SET),
        ):
            found, total = await store.list_people(plan)
            assert ([person.visitor_id for person in found], total) == (["A3", "A2"], 2)

    async def test_of_a_shared_id_a_thousand_visitors_are_told_and_any_of_them_finds_it(
        self, store: Store, story: EventBuilder
    ) -> None:
        for number in range(MAX_ITEMS_PER_PERSON + 1):
            story.add_event("page_view", at="2026-03-01", visitor=f"A{number:04}", strong_id="U1")
        await store.append(story.events)
        plan = PeoplePageQuery(story.scan(SPAN), 1, 0, "last_seen", search=f"a{MAX_ITEMS_PER_PERSON:04}")
        ((person,), total) = await store.list_people(plan)
        assert person.visitor_ids == tuple(f"A{number:04}" for number in range(MAX_ITEMS_PER_PERSON))
        assert (person.events, total) == (MAX_ITEMS_PER_PERSON + 1, 1)

    async def test_an_order_that_somebody_else_had_before_is_none_of_a_person(
        self, store: Store, story: EventBuilder
    ) -> None:
        for day, visitor in ((1, "A1"), (4, "A2"), (9, "A2")):
            story.add_event("purchase", at=f"2026-03-0{day}", visitor=visitor, order_id="O1", revenue=5)
        await store.append(story.events)
        for plan in (
            PeoplePageQuery(story.scan(SPAN), 1, 0, "last_seen"),
            PeoplePageQuery(story.scan(SPAN), 1, 0, "last_seen", person="v:A2"),
        ):
            ((other,), _) = await store.list_people(plan)
            assert (other.person, other.events, other.conversions, other.orders) == ("v:A2", 2, 0, 0)

    def add_alias_event(self, story: EventBuilder, previous: str, new: str, *, at: str) -> str:
        """An `$alias` event; its id."""
        data = {"previous_id": previous}
        return story.add_event("$alias", at=at, visitor=new, strong_id=new, event_data=data).event_id
