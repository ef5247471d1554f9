"""Conformance tests of matching payments of providers to persons by e-mail."""

from collections.abc import Mapping
from random import Random
from typing import Any, Final

import pytest

from service_core.analytics.people.identity_resolution import resolve_identities_ignoring_bots
from service_core.testing.event_builder import EventBuilder
from service_core.testing.event_store.identity_resolution import (
    add_external_id_events,
    add_identity_events,
    event_times_by_person,
)
from service_core.testing.event_store.kit import EventStoreKit, Store

_EMAILS: Final = ("ann@x.example", "ANN@x.example", "bob@x.example", "U1@x.example")
_USERS: Final = (None, None, "U1", "U2", "u1@x.example")


class EmailMatches(EventStoreKit):
    """Tests of payments that a provider reports without a known visitor."""

    def add_provider_payment(
        self, builder: EventBuilder, email: str, customer: str, *, at: str = "05:00", **columns: Any
    ) -> str:
        """Adds a payment of 10.00 that a provider reports for its own customer; returns the event id."""
        ids = {"external_ids": {"till": customer}, "source": "till", "visitor": f"till:{customer}"}
        builder.add_event(
            "purchase", at=f"2026-03-02T{at}", revenue=1000, event_data={"email": email}, **ids | columns
        )
        return builder.events[-1].event_id

    def add_email_event(
        self, builder: EventBuilder, visitor: str, strong: str | None, email: str, at: str = "01:00"
    ) -> None:
        """Adds an `$identify` event with an e-mail trait."""
        data = {"traits": {"email": email}}
        builder.add_event(
            "$identify", at=f"2026-03-02T{at}", visitor=visitor, strong_id=strong, event_data=data
        )

    async def test_unlinked_payment_belongs_to_the_one_person_with_its_email(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """A provider's payment without a known visitor belongs to the person with its e-mail, compared without case."""
        self.add_email_event(builder, "A1", "U1", " Ann@X.example ")
        self.add_email_event(builder, "A2", None, "bob@x.example")
        add_identity_events(builder, ("A3", "cid@X.example"))
        for email, customer in (
            ("ann@x.EXAMPLE", "c1"), ("bob@x.example", "c2"), ("cid@x.example", "c3"), ("dan@x.example", "c4"),
        ):  # fmt: skip
            self.add_provider_payment(builder, email, customer)
        await store.append(builder.events)
        counts = {
            person: len(times) for person, times in (await event_times_by_person(store, builder)).items()
        }
        assert counts == {"u:U1": 2, "v:A2": 2, "u:cid@X.example": 2, "v:till:c4": 1}

    async def test_email_identified_later_claims_earlier_payments(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """A payment moves to a person when the e-mail is identified after it, and to the user when the visitor logs in."""
        self.add_provider_payment(builder, "ann@x.example", "c1", at="00:00", external_ids=None)
        self.add_email_event(builder, "A1", None, "ann@x.example", at="02:00")
        add_identity_events(builder, ("A2", None), ("A1", None), ("A1", None), ("A1", "U1"))
        for number in (1, 2, 3, 6):
            await store.append(builder.events[max(0, {2: 1, 3: 2, 6: 3}.get(number, 0)) : number])
            expected = {1: "v:till:c1", 2: "v:A1", 3: "v:A1", 6: "u:U1"}[number]
            assert await store.find_person_of_any_id(builder.workspace_id, "till:c1") == expected, number

    async def test_email_of_two_persons_matches_no_payment(self, store: Store, builder: EventBuilder) -> None:
        """Payments stay unlinked, and apart, when two persons have their e-mail."""
        self.add_email_event(builder, "A1", "U1", "ann@x.example")
        self.add_email_event(builder, "A2", None, "ann@x.example")
        self.add_provider_payment(builder, "ann@x.example", "c1")
        self.add_provider_payment(builder, "ann@x.example", "c2")
        await store.append(builder.events)
        assert set(await event_times_by_person(store, builder)) == {
            "u:U1",
            "v:A2",
            "v:till:c1",
            "v:till:c2",
        }

    async def test_payment_linked_by_another_id_is_not_matched_by_email(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """A payment with a known visitor, user or shared external id keeps that person and ignores its e-mail."""
        self.add_email_event(builder, "A1", "U1", "ann@x.example")
        self.add_provider_payment(builder, "ann@x.example", "c1", visitor="A5")
        self.add_provider_payment(builder, "ann@x.example", "c2", strong_id="U2")
        self.add_provider_payment(builder, "ann@x.example", "c3")
        self.add_provider_payment(builder, "ann@x.example", "c4")
        add_external_id_events(builder, ("A3", "U3", {"till": "c3"}), ("A4", None, {"till": "c4"}))
        await store.append(builder.events)
        persons = [
            await store.find_person_of_any_id(builder.workspace_id, f"till:c{number}") or "-"
            for number in (1, 2, 3, 4)
        ]
        assert persons == ["-", "u:U2", "u:U3", "v:A4"]
        assert await store.find_person_of_any_id(builder.workspace_id, "A5") == "v:A5"

    async def test_customers_that_share_an_external_id_share_their_email_match(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """Customers of two providers that share an external id belong to the person whom the e-mail of either names."""
        self.add_email_event(builder, "A1", "U1", "ann@x.example")
        both: Mapping[str, Any] = {"external_ids": {"till": "c1", "shop": "s1"}}
        self.add_provider_payment(builder, "other@x.example", "c1", **both)
        own: Mapping[str, Any] = {
            "external_ids": {"shop": "s1"},
            "source": "shop",
            "visitor": "shop:s1",
        }
        self.add_provider_payment(builder, "ann@x.example", "s1", **own)
        await store.append(builder.events)
        assert set(await event_times_by_person(store, builder)) == {"u:U1"}

    async def test_bots_give_no_email_match_and_a_revoked_payment_loses_its_match(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """A bot's e-mail causes no conflict, and revoking the payment's event undoes its match."""
        self.add_email_event(builder, "A1", "U1", "ann@x.example")
        event_id = self.add_provider_payment(builder, "ann@x.example", "c1")
        builder.add_event(
            "$identify", at="2026-03-02T06:00", visitor="A2", strong_id="U2", is_bot=True,
            event_data={"email": "ann@x.example"},
        )  # fmt: skip
        await store.append(builder.events)
        assert await store.find_person_of_any_id(builder.workspace_id, "till:c1") == "u:U1"
        await store.revoke_identity_link(builder.workspace_id, event_id)
        assert await store.find_person_of_any_id(builder.workspace_id, "till:c1") == "v:till:c1"

    @pytest.mark.parametrize("seed", range(4))
    async def test_email_matches_do_not_depend_on_the_order_of_arrival(
        self, store: Store, builder: EventBuilder, seed: int
    ) -> None:
        """After random batches in random order each visitor belongs to the person that the reference rules give."""
        random = Random(seed)  # noqa: S311 - a seed names a world
        for minute in range(40):
            at = f"00:{minute:02}"
            email, user = random.choice(_EMAILS), random.choice(_USERS)
            match random.randrange(4):
                case 0:
                    self.add_email_event(builder, f"A{random.randrange(5)}", user, email, at)
                case 1:
                    add_external_id_events(
                        builder, (f"A{random.randrange(5)}", user, {"till": f"c{random.randrange(9)}"})
                    )
                case _:
                    shared = {"external_ids": {"till": f"t{random.randrange(9)}"}}
                    more: Mapping[str, Any] = shared if random.random() < 0.3 else {}
                    self.add_provider_payment(builder, email, f"c{random.randrange(9)}", at=at, **more)
        known = resolve_identities_ignoring_bots(builder.events)
        sent = random.sample(builder.events, len(builder.events))
        for start in range(0, len(sent), 8):
            await store.append(sent[start : start + 8])
        visitors = {event.visitor_id: event for event in builder.events if event.strong_id is None}
        for visitor, event in visitors.items():
            if visitor not in known.links:
                assert await store.find_person_of_any_id(
                    builder.workspace_id, visitor
                ) == known.merged_person_of_event(event), visitor
