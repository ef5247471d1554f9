"""Whose a message of a provider is by its e-mail, and that nobody else becomes anybody by one."""

from collections.abc import Mapping
from random import Random
from typing import Any, Final

import pytest

from service_core.analytics.people.identity_resolution import resolve_identities
from service_core.testing.event_builder import EventBuilder
from service_core.testing.event_store.identity_resolution import event_times_by_person
from service_core.testing.event_store.kit import Kit, Store

_MAILS: Final = ("ann@x.example", "ANN@x.example", "bob@x.example", "U1@x.example")
_USERS: Final = (None, None, "U1", "U2", "u1@x.example")


def add_identity_events(story: EventBuilder, *said: tuple[str, str | None]) -> None:
    """One event an hour: (visitor, strong id)."""
    for hour, (visitor, strong) in enumerate(said):
        name = "$identify" if strong else "page_view"
        story.add_event(name, at=f"2026-03-02T{hour:02}:00", visitor=visitor, strong_id=strong)


def add_external_id_events(story: EventBuilder, *told: tuple[str, str | None, Mapping[str, str]]) -> None:
    """Events at one instant: visitor, strong id, external ids."""
    for visitor, strong, ids in told:
        story.add_event("x", at="2026-03-02", visitor=visitor, strong_id=strong, external_ids=ids)


class EmailMatches(Kit):
    """Semantics 11.3, with the guards of 5."""

    def add_provider_payment(
        self, story: EventBuilder, mail: str, customer: str, *, at: str = "05:00", **columns: Any
    ) -> str:
        """A provider tells of a payment of nobody; returns the id of its event."""
        ids = {"external_ids": {"till": customer}, "source": "till", "visitor": f"till:{customer}"}
        story.add_event(
            "purchase", at=f"2026-03-02T{at}", revenue=1000, event_data={"email": mail}, **ids | columns
        )
        return story.events[-1].event_id

    def add_email_event(
        self, story: EventBuilder, visitor: str, strong: str | None, mail: str, at: str = "01:00"
    ) -> None:
        """Somebody says an e-mail of themselves."""
        data = {"traits": {"email": mail}}
        story.add_event(
            "$identify", at=f"2026-03-02T{at}", visitor=visitor, strong_id=strong, event_data=data
        )

    async def test_a_payment_of_nobody_is_of_the_person_who_has_its_email(
        self, store: Store, story: EventBuilder
    ) -> None:
        self.add_email_event(story, "A1", "U1", " Ann@X.example ")
        self.add_email_event(story, "A2", None, "bob@x.example")
        add_identity_events(story, ("A3", "cid@X.example"))
        for mail, customer in (
            ("ann@x.EXAMPLE", "c1"), ("bob@x.example", "c2"), ("cid@x.example", "c3"), ("dan@x.example", "c4"),
        ):  # fmt: skip
            self.add_provider_payment(story, mail, customer)
        await store.append(story.events)
        counts = {person: len(times) for person, times in (await event_times_by_person(store, story)).items()}
        assert counts == {"u:U1": 2, "v:A2": 2, "u:cid@X.example": 2, "v:till:c4": 1}

    async def test_an_email_that_is_said_later_finds_what_was_paid_before(
        self, store: Store, story: EventBuilder
    ) -> None:
        self.add_provider_payment(story, "ann@x.example", "c1", at="00:00", external_ids=None)
        self.add_email_event(story, "A1", None, "ann@x.example", at="02:00")
        add_identity_events(story, ("A2", None), ("A1", None), ("A1", None), ("A1", "U1"))
        for number in (1, 2, 3, 6):
            await store.append(story.events[max(0, {2: 1, 3: 2, 6: 3}.get(number, 0)) : number])
            expected = {1: "v:till:c1", 2: "v:A1", 3: "v:A1", 6: "u:U1"}[number]
            assert await store.find_person(story.workspace_id, "till:c1") == expected, number

    async def test_an_email_of_two_persons_is_of_neither_and_joins_no_two(
        self, store: Store, story: EventBuilder
    ) -> None:
        self.add_email_event(story, "A1", "U1", "ann@x.example")
        self.add_email_event(story, "A2", None, "ann@x.example")
        self.add_provider_payment(story, "ann@x.example", "c1")
        self.add_provider_payment(story, "ann@x.example", "c2")
        await store.append(story.events)
        assert set(await event_times_by_person(store, story)) == {
            "u:U1",
            "v:A2",
            "v:till:c1",
            "v:till:c2",
        }

    async def test_whoever_is_found_by_another_id_is_not_sought_by_email(
        self, store: Store, story: EventBuilder
    ) -> None:
        """By the visitor that was carried back, a user, an external id of a user, or of a visitor."""
        self.add_email_event(story, "A1", "U1", "ann@x.example")
        self.add_provider_payment(story, "ann@x.example", "c1", visitor="A5")
        self.add_provider_payment(story, "ann@x.example", "c2", strong_id="U2")
        self.add_provider_payment(story, "ann@x.example", "c3")
        self.add_provider_payment(story, "ann@x.example", "c4")
        add_external_id_events(story, ("A3", "U3", {"till": "c3"}), ("A4", None, {"till": "c4"}))
        await store.append(story.events)
        persons = [
            await store.find_person(story.workspace_id, f"till:c{number}") or "-" for number in (1, 2, 3, 4)
        ]
        assert persons == ["-", "u:U2", "u:U3", "v:A4"]
        assert await store.find_person(story.workspace_id, "A5") == "v:A5"

    async def test_customers_of_two_providers_are_found_together(
        self, store: Store, story: EventBuilder
    ) -> None:
        """Who carries one id is one, and has each e-mail that is told of any."""
        self.add_email_event(story, "A1", "U1", "ann@x.example")
        both: Mapping[str, Any] = {"external_ids": {"till": "c1", "shop": "s1"}}
        self.add_provider_payment(story, "other@x.example", "c1", **both)
        own: Mapping[str, Any] = {
            "external_ids": {"shop": "s1"},
            "source": "shop",
            "visitor": "shop:s1",
        }
        self.add_provider_payment(story, "ann@x.example", "s1", **own)
        await store.append(story.events)
        assert set(await event_times_by_person(store, story)) == {"u:U1"}

    async def test_bots_and_a_revoked_message_are_found_by_no_email(
        self, store: Store, story: EventBuilder
    ) -> None:
        self.add_email_event(story, "A1", "U1", "ann@x.example")
        event_id = self.add_provider_payment(story, "ann@x.example", "c1")
        story.add_event(
            "$identify", at="2026-03-02T06:00", visitor="A2", strong_id="U2", is_bot=True,
            event_data={"email": "ann@x.example"},
        )  # fmt: skip
        await store.append(story.events)
        assert await store.find_person(story.workspace_id, "till:c1") == "u:U1"
        await store.revoke_identity_link(story.workspace_id, event_id)
        assert await store.find_person(story.workspace_id, "till:c1") == "v:till:c1"

    @pytest.mark.parametrize("seed", range(4))
    async def test_whose_everything_is_follows_from_all_events_however_they_come(
        self, store: Store, story: EventBuilder, seed: int
    ) -> None:
        random = Random(seed)  # noqa: S311 - a seed names a world
        for minute in range(40):
            at = f"00:{minute:02}"
            mail, user = random.choice(_MAILS), random.choice(_USERS)
            match random.randrange(4):
                case 0:
                    self.add_email_event(story, f"A{random.randrange(5)}", user, mail, at)
                case 1:
                    add_external_id_events(
                        story, (f"A{random.randrange(5)}", user, {"till": f"c{random.randrange(9)}"})
                    )
                case _:
                    shared = {"external_ids": {"till": f"t{random.randrange(9)}"}}
                    more: Mapping[str, Any] = shared if random.random() < 0.3 else {}
                    self.add_provider_payment(story, mail, f"c{random.randrange(9)}", at=at, **more)
        known = resolve_identities(story.events)
        sent = random.sample(story.events, len(story.events))
        for start in range(0, len(sent), 8):
            await store.append(sent[start : start + 8])
        visitors = {event.visitor_id: event for event in story.events if event.strong_id is None}
        for visitor, event in visitors.items():
            if visitor not in known.links:
                assert await store.find_person(story.workspace_id, visitor) == known.person_of_event(event), (
                    visitor
                )
