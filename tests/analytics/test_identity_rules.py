"""Identity resolution as a pure function; the conformance kit holds every store to it."""

from dataclasses import replace
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from service_core.analytics.event_rules.order_deduplication import event_time_key
from service_core.analytics.people.identity_resolution import (
    resolve_identities_ignoring_bots,
    user_id_of_person,
)
from service_core.testing.event_builder import EventBuilder
from service_core.testing.random_datasets import random_dataset

SEEDS = st.integers(0, 2**32 - 1)


def resolve_persons(events, revoked=()):
    owners = resolve_identities_ignoring_bots(events, revoked)
    return {event.event_id: owners.merged_person_of_event(event) for event in events}


def test_person_id_is_the_strong_id_or_else_the_visitor_id():
    assert user_id_of_person("u:U1") == "U1"
    assert user_id_of_person("u:u:1") == "u:1"
    assert user_id_of_person("v:A1") is None


def test_external_id_of_two_persons_is_reported():
    story = EventBuilder()
    for visitor, strong in (("A1", "U1"), ("A2", "U2")):
        story.add_event("x", at="2026-03-02", visitor=visitor, strong_id=strong, external_ids={"crm": "c1"})
    assert resolve_identities_ignoring_bots(story.events).conflicting_external_ids == {("crm", "c1")}


def test_shared_external_ids_merge_visitors_under_the_smallest_id():
    story = EventBuilder()
    for visitor, ids in (
        ("B", {"crm": "1"}),
        ("C", {"crm": "1", "shop": "2"}),
        ("A", {"shop": "2"}),
        ("D", None),
    ):
        story.add_event("x", at="2026-03-02", visitor=visitor, external_ids=ids)
    assert list(resolve_persons(story.events).values()) == ["v:A", "v:A", "v:A", "v:D"]


def test_mutual_aliases_use_the_latest_id():
    story = EventBuilder()
    for hour, (previous, new) in enumerate((("U1", "U2"), ("U2", "U1"))):
        data = {"previous_id": previous}
        story.add_event("$alias", at=f"2026-03-02T0{hour}:00", visitor=new, strong_id=new, event_data=data)
    assert set(resolve_persons(story.events).values()) == {"u:U1"}


@given(SEEDS)
def test_identity_resolution_does_not_depend_on_arrival_order(seed):
    events = random_dataset(Random(seed)).builder.events
    assert resolve_persons(sorted(events, key=lambda e: e.event_id)) == resolve_persons(
        sorted(events, key=event_time_key)
    )


@given(SEEDS)
def test_event_with_a_strong_id_is_never_anonymous_and_two_never_join_without_an_alias(seed):
    events = [e for e in random_dataset(Random(seed)).builder.events if e.event_name != "$alias"]
    found = resolve_persons(events)
    assert all(found[e.event_id] == f"u:{e.strong_id}" for e in events if e.strong_id)


@given(SEEDS)
def test_visitors_without_links_are_separate_persons(seed):
    events = random_dataset(Random(seed)).builder.events
    found = resolve_persons(events, revoked={e.event_id for e in events})
    assert all(found[e.event_id] == f"v:{e.visitor_id}" for e in events if not e.strong_id)


@given(SEEDS)
def test_external_id_merges_its_visitors_or_is_reported_as_conflict(seed):
    events = [
        event
        for event in random_dataset(Random(seed), 200).builder.events
        if event.external_ids and not event.is_bot
    ]
    assert events
    owners, carriers = resolve_identities_ignoring_bots(events), {}
    for event in events:
        for external in event.external_ids.items():
            carriers.setdefault(external, set()).add(owners.merged_person_of_event(event))
    several = {external for external, persons in carriers.items() if len(persons) > 1}
    assert several <= owners.conflicting_external_ids
    assert all(len(carriers[one]) == 1 for one in carriers.keys() - owners.conflicting_external_ids)


@given(SEEDS)
def test_bots_do_not_change_other_persons(seed):
    events = random_dataset(Random(seed)).builder.events
    people = [e for e in events if not e.is_bot]
    together = resolve_persons(events)
    assert resolve_persons(people) == {e.event_id: together[e.event_id] for e in people}


@given(SEEDS)
def test_strong_id_owns_the_weak_ids_of_its_event_at_that_time(seed):
    events = [event for event in random_dataset(Random(seed)).builder.events if not event.is_bot]
    owners = resolve_identities_ignoring_bots(events)
    for event in events:
        for weak_id in event.weak_ids_joined_to_strong_id:
            assert owners.unmerged_person_at_else_first_link(
                weak_id, event_time_key(event)
            ) == owners.person_of_user_id(event.strong_id)


@given(SEEDS)
def test_weak_ids_merge_no_persons(seed):
    events = [
        replace(event, strong_id=None, external_ids=None)
        for event in random_dataset(Random(seed)).builder.events
        if event.event_name != "$alias"  # it names users, and an id of a user is strong wherever it stands
    ]
    assert resolve_persons(events) == {event.event_id: f"v:{event.visitor_id}" for event in events}
