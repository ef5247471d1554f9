"""Identity resolution as a pure function; the conformance kit holds every store to it."""

from dataclasses import replace
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from service_core.analytics.event_rules.order_deduplication import event_time_key
from service_core.analytics.people.identity_resolution import resolve_identities, user_id_of_person
from service_core.testing.event_builder import EventBuilder
from service_core.testing.random_datasets import random_dataset

SEEDS = st.integers(0, 2**32 - 1)


def persons(events, revoked=()):
    owners = resolve_identities(events, revoked)
    return {event.event_id: owners.person_of_event(event) for event in events}


def test_a_person_is_named_by_its_strong_id_or_by_its_visitor():
    assert user_id_of_person("u:U1") == "U1"
    assert user_id_of_person("u:u:1") == "u:1"
    assert user_id_of_person("v:A1") is None


def test_an_external_id_of_two_persons_is_reported():
    story = EventBuilder()
    for visitor, strong in (("A1", "U1"), ("A2", "U2")):
        story.add_event("x", at="2026-03-02", visitor=visitor, strong_id=strong, external_ids={"crm": "c1"})
    assert resolve_identities(story.events).conflicting_external_ids == {("crm", "c1")}


def test_external_ids_chain_unknown_visitors_under_the_smallest():
    story = EventBuilder()
    for visitor, ids in (
        ("B", {"crm": "1"}),
        ("C", {"crm": "1", "shop": "2"}),
        ("A", {"shop": "2"}),
        ("D", None),
    ):
        story.add_event("x", at="2026-03-02", visitor=visitor, external_ids=ids)
    assert list(persons(story.events).values()) == ["v:A", "v:A", "v:A", "v:D"]


def test_an_alias_back_and_forth_is_named_by_the_latest():
    story = EventBuilder()
    for hour, (previous, new) in enumerate((("U1", "U2"), ("U2", "U1"))):
        data = {"previous_id": previous}
        story.add_event("$alias", at=f"2026-03-02T0{hour}:00", visitor=new, strong_id=new, event_data=data)
    assert set(persons(story.events).values()) == {"u:U1"}


@given(SEEDS)
def test_the_order_of_arrival_does_not_matter(seed):
    events = random_dataset(Random(seed)).story.events
    assert persons(sorted(events, key=lambda e: e.event_id)) == persons(sorted(events, key=event_time_key))


@given(SEEDS)
def test_an_event_with_a_strong_id_is_never_anonymous_and_two_never_join_without_an_alias(seed):
    events = [e for e in random_dataset(Random(seed)).story.events if e.event_name != "$alias"]
    found = persons(events)
    assert all(found[e.event_id] == f"u:{e.strong_id}" for e in events if e.strong_id)


@given(SEEDS)
def test_without_links_every_visitor_is_its_own(seed):
    events = random_dataset(Random(seed)).story.events
    found = persons(events, revoked={e.event_id for e in events})
    assert all(found[e.event_id] == f"v:{e.visitor_id}" for e in events if not e.strong_id)


@given(SEEDS)
def test_an_external_id_links_everyone_who_carries_it_or_is_reported(seed):
    events = [
        event
        for event in random_dataset(Random(seed), 200).story.events
        if event.external_ids and not event.is_bot
    ]
    assert events
    owners, carriers = resolve_identities(events), {}
    for event in events:
        for external in event.external_ids.items():
            carriers.setdefault(external, set()).add(owners.person_of_event(event))
    several = {external for external, persons in carriers.items() if len(persons) > 1}
    assert several <= owners.conflicting_external_ids
    assert all(len(carriers[one]) == 1 for one in carriers.keys() - owners.conflicting_external_ids)


@given(SEEDS)
def test_bots_change_nobody_else(seed):
    events = random_dataset(Random(seed)).story.events
    people = [e for e in events if not e.is_bot]
    together = persons(events)
    assert persons(people) == {e.event_id: together[e.event_id] for e in people}


@given(SEEDS)
def test_a_strong_id_owns_every_weak_id_of_its_event_at_that_moment(seed):
    events = [event for event in random_dataset(Random(seed)).story.events if not event.is_bot]
    owners = resolve_identities(events)
    for event in events:
        for weak_id in event.weak_ids:
            assert owners.person_at(weak_id, event_time_key(event)) == owners.person_of_user_id(
                event.strong_id
            )


@given(SEEDS)
def test_weak_ids_alone_join_nobody(seed):
    told = [replace(e, strong_id=None, external_ids=None) for e in random_dataset(Random(seed)).story.events]
    assert persons(told) == {event.event_id: f"v:{event.visitor_id}" for event in told}
