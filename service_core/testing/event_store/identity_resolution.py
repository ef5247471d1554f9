"""Conformance tests of identity resolution, link revocations and external id conflicts."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final

from service_core.analytics.people.ports import (
    MAX_CONFLICTING_PERSONS,
    ConflictingPerson,
    ExternalIdConflict,
    PeoplePageQuery,
    PersonActivityQuery,
)
from service_core.testing.event_builder import EventBuilder, whole_utc_days
from service_core.testing.event_store.kit import PERSONS, VISITORS, EventStoreKit, Store, measure_value_or_row

SPAN = whole_utc_days("2026-03-01", "2026-03-31")
CONFLICTING_EXTERNAL_IDS: Final[tuple[tuple[str, str | None, Mapping[str, str]], ...]] = (
    ("A1", None, {"shop": "s1"}),
    ("A2", "U1", {"shop": "s1", "crm": "c1"}),
    ("A3", "U2", {"crm": "c1"}),
    ("A4", None, {"crm": "c1", "shop": "s2"}),
    ("A5", None, {"shop": "s2", "till": "t1"}),
    ("A6", "U3", {"till": "t1", "app": "a1"}),
    ("A7", None, {"app": "a1", "desk": "d1"}),
    ("A8", "U4", {"desk": "d1"}),
)
"""Visitor, user, external ids: two users share one id, and a chain of shared ids leads from user to user."""


async def event_times_by_person(store: Store, builder: EventBuilder) -> dict[str, list[str]]:
    """Returns the times (hour and minute) of each person's events by person, in the order of the people list."""
    answer, _ = await store.list_people_and_total(
        PeoplePageQuery(builder.query_scope(SPAN), 100, 0, "events")
    )
    return {
        person.person: [
            f"{e.timestamp:%H:%M}"
            for e in await store.list_latest_person_events(builder.query_scope(SPAN), person.person)
        ]
        for person in answer
    }


def conflicting_person_ids(conflict: ExternalIdConflict) -> tuple[str, ...]:
    """Returns the persons that share a conflicting external id."""
    return tuple(claim.person for claim in conflict.conflicting_persons)


def add_identity_events(builder: EventBuilder, *visitor_and_user: tuple[str, str | None]) -> None:
    """Adds one event an hour: `$identify` for a pair of visitor and user, a page view for a visitor without user."""
    for hour, (visitor, user_id) in enumerate(visitor_and_user):
        name = "$identify" if user_id else "page_view"
        builder.add_event(name, at=f"2026-03-02T{hour:02}:00", visitor=visitor, strong_id=user_id)


def add_external_id_events(
    builder: EventBuilder, *visitor_user_and_ids: tuple[str, str | None, Mapping[str, str]]
) -> None:
    """Adds events at one instant: (visitor, user, external ids by namespace)."""
    for visitor, user_id, external_ids in visitor_user_and_ids:
        builder.add_event("x", at="2026-03-02", visitor=visitor, strong_id=user_id, external_ids=external_ids)


def add_alias_event(builder: EventBuilder, previous_user: str, new_user: str, *, at: str) -> str:
    """Adds an `$alias` event that merges a user into another; returns its event id."""
    data = {"previous_id": previous_user}
    return builder.add_event("$alias", at=at, visitor=new_user, strong_id=new_user, event_data=data).event_id


class IdentityResolution(EventStoreKit):
    """Tests of the person to whom each event belongs."""

    async def test_anonymous_events_before_identification_belong_to_the_person(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """Events of a visitor before its first identification belong to the identified person."""
        add_identity_events(builder, ("A1", None), ("A1", "U1"))
        await store.append(builder.events)
        assert await event_times_by_person(store, builder) == {"u:U1": ["00:00", "01:00"]}

    async def test_second_user_of_one_visitor_gets_only_later_events(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """When a second user identifies on a visitor, only its later events belong to that user."""
        add_identity_events(builder, ("A1", None), ("A1", "U1"), ("A1", None), ("A1", "U2"), ("A1", None))
        await store.append(builder.events)
        assert await event_times_by_person(store, builder) == {
            "u:U1": ["00:00", "01:00", "02:00"],
            "u:U2": ["03:00", "04:00"],
        }

    async def test_former_user_who_identifies_again_gets_the_later_events(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """After a change of user and back, later events belong to the first user again."""
        add_identity_events(builder, ("A1", "U1"), ("A1", "U2"), ("A1", "U1"), ("A1", None))
        await store.append(builder.events)
        assert await event_times_by_person(store, builder) == {
            "u:U1": ["00:00", "02:00", "03:00"],
            "u:U2": ["01:00"],
        }

    async def test_two_visitors_of_one_user_are_one_person(self, store: Store, builder: EventBuilder) -> None:
        """Two visitors that identify as one user are one person and two visitors."""
        add_identity_events(builder, ("A1", "U1"), ("A2", "U1"))
        await store.append(builder.events)
        assert await measure_value_or_row(store, builder.query_scope(SPAN), PERSONS, VISITORS) == (1, 2)

    async def test_identified_event_links_all_its_anonymous_ids_to_the_user(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """The visitor, anonymous and distinct ids of an identified event all belong to the user."""
        add_identity_events(builder, ("V1", None), ("D1", None))
        ids = {"anonymous_id": "A1", "sent_visitor_id": "V1", "distinct_id": "D1"}
        builder.add_event("login", at="2026-03-02T05:00", visitor="A1", strong_id="U1", **ids)
        for hour, visitor in enumerate(("A1", "V1", "D1")):
            builder.add_event("page_view", at=f"2026-03-02T1{hour}:00", visitor=visitor)
        await store.append(builder.events)
        assert await event_times_by_person(store, builder) == {
            "u:U1": ["00:00", "01:00", "05:00", "10:00", "11:00", "12:00"]
        }

    async def test_secondary_anonymous_id_moves_later_events_only_and_revocation_undoes_it(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """A linked id that is not the event's visitor moves later events only.

        Revoking the link moves them back.
        """
        add_identity_events(builder, ("V1", None), ("V1", "U1"), ("V1", None))
        builder.add_event("login", at="2026-03-02T05:00", visitor="A1", sent_visitor_id="V1", strong_id="U2")
        builder.add_event("page_view", at="2026-03-02T06:00", visitor="V1")
        await store.append(builder.events[:4])
        await store.append(builder.events[4:])
        moved = {"u:U1": ["00:00", "01:00", "02:00"], "u:U2": ["05:00", "06:00"]}
        assert await event_times_by_person(store, builder) == moved
        await store.revoke_identity_link(builder.workspace_id, builder.events[3].event_id)
        assert await event_times_by_person(store, builder) == {
            "u:U1": ["00:00", "01:00", "02:00", "06:00"],
            "u:U2": ["05:00"],
        }

    async def test_anonymous_ids_of_an_unidentified_event_are_not_merged(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """Anonymous ids that share an event without a user stay different persons."""
        add_identity_events(builder, ("A1", None), ("V1", None), ("D1", None))
        builder.add_event(
            "page_view", at="2026-03-02T05:00", visitor="A1", sent_visitor_id="V1", distinct_id="D1"
        )
        add_identity_events(builder, ("V1", "U1"))
        await store.append(builder.events)
        assert set(await event_times_by_person(store, builder)) == {"v:A1", "u:U1", "v:D1"}

    async def test_bot_event_does_not_link_its_secondary_anonymous_ids(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """An identified event of a bot links none of its anonymous ids."""
        add_identity_events(builder, ("V1", None))
        builder.add_event(
            "login", at="2026-03-02T05:00", visitor="A1", sent_visitor_id="V1", strong_id="U1", is_bot=True
        )
        await store.append(builder.events)
        assert set(await event_times_by_person(store, builder)) == {"v:V1"}

    async def test_find_person_resolves_ids_seen_only_as_secondary_ids(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """`find_person_of_any_id` resolves an id that no event had as its visitor to the latest linked user."""
        ids = {"sent_visitor_id": "V1", "distinct_id": "D1"}
        builder.add_event("login", at="2026-03-02T05:00", visitor="A1", strong_id="U1", **ids)
        builder.add_event("login", at="2026-03-02T06:00", visitor="A1", strong_id="U2", distinct_id="D1")
        await store.append(builder.events)
        for any_id, person in (("V1", "u:U1"), ("D1", "u:U2"), ("A1", "u:U2"), ("X1", None)):
            assert await store.find_person_of_any_id(builder.workspace_id, any_id) == person, any_id

    async def test_alias_merges_two_users_under_the_new_id(self, store: Store, builder: EventBuilder) -> None:
        """`$alias` merges the previous user id into the new one."""
        add_identity_events(builder, ("A1", "U1"), ("A1", None))
        add_alias_event(builder, "U1", "U2", at="2026-03-02T05:00")
        await store.append(builder.events)
        assert list(await event_times_by_person(store, builder)) == ["u:U2"]
        assert await store.find_person_of_any_id(builder.workspace_id, "U1") == "u:U2"

    async def test_chained_aliases_merge_under_the_last_id(self, store: Store, builder: EventBuilder) -> None:
        """Aliases U1 to U2 and U2 to U3 make one person U3."""
        add_identity_events(builder, ("A1", "U1"), ("A2", "U2"), ("A3", "U3"))
        add_alias_event(builder, "U1", "U2", at="2026-03-02T05:00")
        add_alias_event(builder, "U2", "U3", at="2026-03-02T06:00")
        await store.append(builder.events)
        assert list(await event_times_by_person(store, builder)) == ["u:U3"]

    async def test_unidentified_visitors_are_separate_persons(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """Visitors without identification are persons of their own."""
        add_identity_events(builder, ("A1", None), ("A2", None))
        await store.append(builder.events)
        assert set(await event_times_by_person(store, builder)) == {"v:A1", "v:A2"}

    async def test_visitor_id_equal_to_a_user_id_is_another_person(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """A visitor and a user with the same id are two persons."""
        add_identity_events(builder, ("X", None), ("X2", "X"))
        await store.append(builder.events)
        assert set(await event_times_by_person(store, builder)) == {"v:X", "u:X"}

    async def test_identification_received_late_applies_at_its_event_time(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """An identification that is stored after later events applies from its own event time."""
        add_identity_events(builder, ("A1", None), ("A1", None), ("A1", "U2"))
        builder.add_event("$identify", at="2026-03-02T00:30", visitor="A1", strong_id="U1")
        await store.append(builder.events[:3])
        await store.append(builder.events[3:])
        assert await event_times_by_person(store, builder) == {
            "u:U1": ["00:00", "00:30", "01:00"],
            "u:U2": ["02:00"],
        }

    async def test_identifications_at_one_instant_apply_in_sequence_order(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """Among events at one instant the sequence number decides which user an event belongs to."""
        for strong in ("U1", None, "U2", None):
            builder.add_event("x", at="2026-03-02", visitor="A1", strong_id=strong)
        await store.append(builder.events)
        counts = {
            person: len(times) for person, times in (await event_times_by_person(store, builder)).items()
        }
        assert counts == {"u:U1": 2, "u:U2": 2}

    async def test_identification_by_a_bot_is_ignored(self, store: Store, builder: EventBuilder) -> None:
        """A bot's `$identify` does not link the visitor."""
        add_identity_events(builder, ("A1", None))
        builder.add_event("$identify", at="2026-03-02T05:00", visitor="A1", strong_id="U1", is_bot=True)
        await store.append(builder.events)
        assert set(await event_times_by_person(store, builder)) == {"v:A1"}

    async def test_revoking_identity_links_restores_the_previous_persons(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """Revoking a link gives its later events back to the previous user, and without one to the visitor."""
        add_identity_events(builder, ("A1", None), ("A1", "U1"), ("A1", None), ("A1", "U2"), ("A1", None))
        await store.append(builder.events)
        await store.revoke_identity_link(builder.workspace_id, builder.events[3].event_id)
        assert await event_times_by_person(store, builder) == {
            "u:U1": ["00:00", "01:00", "02:00", "04:00"],
            "u:U2": ["03:00"],
        }
        await store.revoke_identity_link(builder.workspace_id, builder.events[1].event_id)
        assert await event_times_by_person(store, builder) == {
            "v:A1": ["00:00", "02:00", "04:00"],
            "u:U1": ["01:00"],
            "u:U2": ["03:00"],
        }

    async def test_revoking_an_alias_splits_the_merged_users_and_may_repeat(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """Revoking an alias splits the users again; a second revocation changes nothing."""
        add_identity_events(builder, ("A1", "U1"), ("A2", "U2"))
        alias = add_alias_event(builder, "U1", "U2", at="2026-03-02T05:00")
        await store.append(builder.events)
        for _ in range(2):
            await store.revoke_identity_link(builder.workspace_id, alias)
        assert set(await event_times_by_person(store, builder)) == {"u:U1", "u:U2"}

    async def test_shared_external_id_merges_anonymous_visitors_with_the_one_user(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """Visitors with one external id of one namespace are the person of its only user."""
        for visitor, strong, external in (("A1", None, "c1"), ("A2", None, "c1"), ("A3", "U1", "c1")):
            ids = {"crm": external}
            builder.add_event("x", at="2026-03-02", visitor=visitor, strong_id=strong, external_ids=ids)
        builder.add_event("x", at="2026-03-02", visitor="A4", external_ids={"shop": "c1"})
        await store.append(builder.events)
        counts = {
            person: len(times) for person, times in (await event_times_by_person(store, builder)).items()
        }
        assert counts == {"u:U1": 3, "v:A4": 1}

    async def test_external_id_of_two_users_merges_nobody(self, store: Store, builder: EventBuilder) -> None:
        """An external id that two users have merges no visitor."""
        for visitor, strong in (("A1", None), ("A2", "U1"), ("A3", "U2")):
            builder.add_event(
                "x", at="2026-03-02", visitor=visitor, strong_id=strong, external_ids={"crm": "c1"}
            )
        await store.append(builder.events)
        assert set(await event_times_by_person(store, builder)) == {"v:A1", "u:U1", "u:U2"}

    async def test_external_ids_linked_through_a_conflict_merge_only_what_is_unambiguous(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """A conflicting external id merges nothing along a chain of ids.

        Other ids still merge where one user has them.
        """
        add_external_id_events(builder, *CONFLICTING_EXTERNAL_IDS)
        await store.append(builder.events)
        counts = {
            person: len(times) for person, times in (await event_times_by_person(store, builder)).items()
        }
        unmerged = dict.fromkeys(("v:A4", "v:A5", "v:A7"), 1)
        assert counts == {"u:U1": 2, "u:U2": 1, "u:U3": 1, "u:U4": 1, **unmerged}

    async def test_external_id_conflicts_list_persons_most_users_first_up_to_the_limit(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """Conflicts come with their persons, most identified persons first, then newest.

        The limit does not change the total.
        """
        add_external_id_events(builder, *CONFLICTING_EXTERNAL_IDS)
        await store.append(builder.events)
        answer, total = await store.list_external_id_conflicts_and_total(builder.workspace_id, 100)
        assert {
            f"{conflict.namespace}:{conflict.id}": (
                conflict.identified_count,
                *conflicting_person_ids(conflict),
            )
            for conflict in answer
        } == {
            "crm:c1": (2, "u:U1", "u:U2", "v:A4"),
            "desk:d1": (1, "u:U4", "v:A7"),
            "app:a1": (1, "u:U3", "v:A7"),
            "till:t1": (1, "u:U3", "v:A5"),
            "shop:s2": (0, "v:A4", "v:A5"),
        }
        newest = "desk", "app", "till"
        assert ([conflict.namespace for conflict in answer], total) == (["crm", *newest, "shop"], 5)
        first, total = await store.list_external_id_conflicts_and_total(builder.workspace_id, 2)
        assert (first, total) == (answer[:2], 5)

    async def test_conflict_has_counts_and_latest_event_per_person_up_to_the_maximum(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """A conflict has count and latest event per person, at most `MAX_CONFLICTING_PERSONS`, and any namespace text."""
        ids = {"crm": "1", "Shop": '"é:1', "a/b~0.c": "1"}
        add_external_id_events(builder, ("A1", None, ids), ("A1", "U1", {"crm": "1"}), ("A2", "U2", ids))
        add_external_id_events(
            builder, *((f"B{number:02}", None, {"crm": "1"}) for number in range(MAX_CONFLICTING_PERSONS))
        )
        first, known, other, *_ = builder.events
        await store.append(builder.events)
        (crm, *rest), _ = await store.list_external_id_conflicts_and_total(builder.workspace_id, 100)
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

    async def test_conflicts_ignore_bots_and_revoked_events_and_end_after_an_alias(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """Bots and revoked events make no conflict, namespace and id are compared apart, and an alias that merges its users ends it."""
        add_external_id_events(
            builder, ("A1", "U1", {"crm": "1"}), ("A2", "U2", {"crm": "1"}), ("A3", "U3", {"crm": "1"})
        )
        bot: dict[str, Any] = {"external_ids": {"crm": "1"}, "is_bot": True}
        builder.add_event("x", at="2026-03-02", visitor="A4", strong_id="U4", **bot)
        add_external_id_events(
            builder, ("A1", "U1", {"a:b": "c"}), ("A2", "U2", {"a": "b:c"}), ("A5", None, {"a": "b:c"})
        )
        await store.append(builder.events)
        workspace, (revoked, *_) = builder.workspace_id, builder.events
        ((crm,), _) = await store.list_external_id_conflicts_and_total(workspace, 100)
        assert conflicting_person_ids(crm) == ("u:U1", "u:U2", "u:U3")
        await store.revoke_identity_link(workspace, revoked.event_id)
        ((crm,), _) = await store.list_external_id_conflicts_and_total(workspace, 100)
        assert conflicting_person_ids(crm) == ("u:U2", "u:U3")
        add_alias_event(builder, "U2", "U3", at="2026-03-03")
        await store.append(builder.events[-1:])
        assert await store.list_external_id_conflicts_and_total(workspace, 100) == ([], 0)
        assert await store.find_person_of_any_id(workspace, "A5") == "u:U3"

    async def test_conflicting_external_id_stays_in_the_profile_of_each_person(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """The profile of each person of a conflict still has the external id."""
        add_external_id_events(builder, ("A1", "U1", {"crm": "1"}), ("A2", "U2", {"crm": "1"}))
        await store.append(builder.events)
        for person in ("u:U1", "u:U2"):
            answer = await store.read_activity(
                PersonActivityQuery(builder.query_scope(SPAN), person, timedelta(days=1), 1)
            )
            assert answer.profile.external_ids == {"crm": "1"}

    async def test_web_attribution_match_by_email_merges_the_web_visitor_and_by_ip_does_not(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """`$web_attribution_matched` merges the web visitor when matched by e-mail, not when matched by IP address."""
        builder.add_event("page_view", at="2026-03-02T00:00", visitor="W1")
        matched = {"match_method": "email", "web_visitor_id": "W1"}
        name = "$web_attribution_matched"
        builder.add_event(name, at="2026-03-02T01:00", visitor="P1", strong_id="U1", event_data=matched)
        by_address = {"match_method": "ip", "web_visitor_id": "W2"}
        builder.add_event("page_view", at="2026-03-02T02:00", visitor="W2")
        builder.add_event(name, at="2026-03-02T03:00", visitor="P1", event_data=by_address)
        await store.append(builder.events)
        assert await event_times_by_person(store, builder) == {
            "u:U1": ["00:00", "01:00", "03:00"],
            "v:W2": ["02:00"],
        }

    async def test_find_person_tries_user_then_visitor_then_anonymous_id(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """`find_person_of_any_id` takes an id as a user, else as a visitor, else as an anonymous id.

        None when nobody has it.
        """
        builder.add_event("page_view", at="2026-03-02T00:00", visitor="A1", anonymous_id="A0")
        add_identity_events(builder, ("A1", "U1"), ("U1", None), ("A1", "U2"))
        await store.append(builder.events)
        for any_id, person in (("U1", "u:U1"), ("A1", "u:U2"), ("A0", "u:U1"), ("nobody", None)):
            assert await store.find_person_of_any_id(builder.workspace_id, any_id) == person, any_id
