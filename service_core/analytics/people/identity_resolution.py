"""Identity resolution: the person of each event, computed from the events at query time.

A person is written ``u:<user id>`` or, without a known user id, ``v:<visitor id>``.

- An event with a user id belongs to it, after aliases. It links every weak id it carries to the person,
  from the event on, and backwards if the weak id had no person. Weak ids without a user id link nobody:
  such an event belongs to its device key.
- A distinct id sent alone that is the user id of another event links its visitor to that user id.
- An event without a user id belongs to the latest link of its visitor not after it, else to the first
  link of its visitor, else to the visitor itself.
- An external id merges the unknown visitors that carry it, with each other and with the known person that
  carries it. An id carried by two known persons merges nobody, nor do ids that together would connect two
  known persons. A ``$web_attribution_matched`` event by e-mail merges its visitor and
  ``event_data["web_visitor_id"]`` in the same way.
- A provider event without a person becomes part of the one person with its e-mail address
  (`people.email_matches`).

Bots link nobody. A link belongs to its event: without the event it does not exist.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final, TypeAlias

from service_core.analytics.event_rules.order_deduplication import event_time_key
from service_core.analytics.people.email_matches import (
    email_of_anonymous_provider_event,
    email_of_identify_event_traits_first,
    group_second_values_by_first,
    map_to_only_person_with_same_email,
    user_id_if_email_address,
)
from service_core.ingestion.event_names import ALIAS_EVENT, WEB_ATTRIBUTION_MATCHED
from service_core.ingestion.models import Event

IDENTIFIED_PREFIX: Final = "u:"
ANONYMOUS_PREFIX: Final = "v:"
ExternalId: TypeAlias = tuple[str, ...]
"""Namespace and id; for a match by e-mail, the id of its event only."""


@dataclass(frozen=True, slots=True)
class IdentityLink:
    """A visitor belongs to a person from a point in time on."""

    since: tuple[datetime, int]
    person: str


@dataclass(frozen=True, slots=True)
class IdentityMap:
    """Every id of a workspace and its person.

    Attributes:
        canonical_ids: user id to the user id that names its person; ids without an alias are omitted.
        links: visitor or other weak id to its links, oldest first.
        merged_into: person to the person it is merged into by an external id or e-mail address.
        conflicting_external_ids: external ids (namespace, id) that connect two known persons and merge neither.
    """

    canonical_ids: Mapping[str, str] = field(default_factory=dict)
    links: Mapping[str, Sequence[IdentityLink]] = field(default_factory=dict)
    merged_into: Mapping[str, str] = field(default_factory=dict)
    conflicting_external_ids: frozenset[ExternalId] = frozenset()

    def person_of_user_id(self, strong_id: str) -> str:
        """Returns the person of a user id."""
        return IDENTIFIED_PREFIX + self.canonical_ids.get(strong_id, strong_id)

    def merged_person_of_event(self, event: Event) -> str:
        """Returns the person of an event."""
        person = (
            self.person_of_user_id(event.strong_id)
            if event.strong_id
            else self.unmerged_person_at_else_first_link(event.visitor_id, event_time_key(event))
        )
        return self.merged_person(person)

    def merged_person(self, person: str) -> str:
        """Returns the person that a person is merged into, or itself."""
        return self.merged_into.get(person, person)

    def unmerged_person_at_else_first_link(self, visitor_id: str, time_and_seq: tuple[datetime, int]) -> str:
        """Returns the person of a visitor at a point in time, before merges."""
        links = self.links.get(visitor_id)
        if not links:
            return ANONYMOUS_PREFIX + visitor_id
        return links[max(bisect_right(links, time_and_seq, key=lambda link: link.since) - 1, 0)].person

    def linked_persons(self, visitor: str) -> set[str]:
        """Returns all persons that events of a visitor were ever linked to, or the visitor itself."""
        return {link.person for link in self.links.get(visitor, ())} or {ANONYMOUS_PREFIX + visitor}


def user_id_of_person(person: str) -> str | None:
    """Returns the user id of a person; None if it is unknown."""
    return person.removeprefix(IDENTIFIED_PREFIX) if person.startswith(IDENTIFIED_PREFIX) else None


def resolve_identities_ignoring_bots(
    events: Iterable[Event], revoked_event_ids: Collection[str] = ()
) -> IdentityMap:
    """Returns the identities of a workspace.

    Args:
        events: all its events, bots included.
        revoked_event_ids: ids of events whose links were removed.
    """
    everything = list(events)
    facts = sorted(
        (e for e in everything if not e.is_bot and e.event_id not in revoked_event_ids), key=event_time_key
    )
    owners = IdentityMap(canonical_ids=_canonical_user_ids_by_latest_alias(facts))
    named = (id_ for event in everything for id_ in (event.strong_id, _mentioned_user_id(event)))
    strong_ids = {id_ for id_ in named if id_ is not None}
    links: defaultdict[str, list[IdentityLink]] = defaultdict(list)
    for event in facts:
        for weak_id in event.weak_ids_joined_to_strong_id:
            links[weak_id].append(
                IdentityLink(event_time_key(event), owners.person_of_user_id(event.strong_id or ""))
            )
        if event.lone_distinct_id in strong_ids:
            links[event.visitor_id].append(
                IdentityLink(event_time_key(event), owners.person_of_user_id(event.visitor_id))
            )
    owners = replace(owners, links=links)
    merged_into, conflicts = _merge_by_external_ids_without_conflict(facts, owners)
    owners = replace(owners, merged_into=merged_into, conflicting_external_ids=conflicts)
    human_events = [event for event in everything if not event.is_bot]
    return replace(
        owners,
        merged_into=merged_into
        | _merge_anonymous_provider_persons_by_email(human_events, owners, revoked_event_ids),
    )


def previous_user_id_of_alias_event(event: Event) -> str | None:
    """Returns the user id that an `$alias` event merges into its own; None for any other event."""
    if event.event_name != ALIAS_EVENT or not event.strong_id:
        return None
    previous = event.event_data.get("previous_id")
    return previous if isinstance(previous, str) and previous not in {"", event.strong_id} else None


def _mentioned_user_id(event: Event) -> str | None:
    """Returns the user id that an `$alias` event names as the previous one; None for a bot."""
    previous = (
        None if event.is_bot or event.event_name != ALIAS_EVENT else event.event_data.get("previous_id")
    )
    return previous if isinstance(previous, str) else None


def web_visitor_of_email_match_event(event: Event) -> str | None:
    """Returns the web visitor that a match by e-mail merges with the event's own; None for any other event."""
    web = event.event_data.get("web_visitor_id")
    by_mail = event.event_name == WEB_ATTRIBUTION_MATCHED and event.event_data.get("match_method") == "email"
    return web if by_mail and isinstance(web, str) else None


def _canonical_user_ids_by_latest_alias(sorted_events: Iterable[Event]) -> dict[str, str]:
    """Returns user id to canonical user id: the new id of the latest alias of the group."""
    group_by_id: dict[str, set[str]] = {}
    canonical_ids: dict[str, str] = {}
    for event in sorted_events:
        previous, new = previous_user_id_of_alias_event(event), event.strong_id
        if previous and new:
            group = group_by_id.get(previous, {previous}) | group_by_id.get(new, {new})
            group_by_id |= dict.fromkeys(group, group)
            canonical_ids |= dict.fromkeys(group, new)
    return canonical_ids


def _merge_by_external_ids_without_conflict(
    sorted_events: Iterable[Event], identities: IdentityMap
) -> tuple[dict[str, str], frozenset[ExternalId]]:
    """Returns merged persons by external ids, and the external ids in conflict."""
    carriers: defaultdict[ExternalId, set[str]] = defaultdict(set)
    for event in sorted_events:
        person = identities.merged_person_of_event(event)
        for external in _list_external_ids(event):
            carriers[external] |= {person, *_list_email_matched_persons(event, identities)}
    merged_into: dict[str, str] = {}
    conflicts = {external for external, persons in carriers.items() if len(_select_identified(persons)) > 1}
    for externals, persons in _group_connected_ids_and_persons(
        {e: carriers[e] for e in carriers if e not in conflicts}
    ):
        identified = _select_identified(persons)
        if len(identified) > 1:
            conflicts |= externals
        else:
            merged_into |= dict.fromkeys(persons, identified[0] if identified else min(persons))
    return merged_into, frozenset(conflicts)


def _merge_anonymous_provider_persons_by_email(
    events: Sequence[Event], identities: IdentityMap, revoked_event_ids: Collection[str]
) -> dict[str, str]:
    """Returns merged persons by e-mail. A visitor with a revoked event is not looked up."""
    seeking = [event for event in events if email_of_anonymous_provider_event(event)]
    if not seeking:
        return {}
    providers = tuple(f"{ANONYMOUS_PREFIX}{source}:" for source in {event.source for event in seeking})
    revoked_visitors = {event.visitor_id for event in events if event.event_id in revoked_event_ids}
    members = group_second_values_by_first(
        (identities.merged_person(person), person) for person in identities.merged_into
    )
    sought = group_second_values_by_first(
        (
            identities.merged_person(ANONYMOUS_PREFIX + event.visitor_id),
            email_of_anonymous_provider_event(event) or "",
        )
        for event in seeking
        if event.visitor_id not in revoked_visitors and event.visitor_id not in identities.links
    )
    seekers = {
        person: emails
        for person, emails in sought.items()
        if all(member.startswith(providers) for member in members[person] | {person})
    }
    having = group_second_values_by_first(
        (email, identities.merged_person(holder))
        for email, holder in _iterate_email_and_person_pairs(events, identities)
    )
    return map_to_only_person_with_same_email(
        seekers, having, {person: members[person] | {person} for person in seekers}
    )


def _iterate_email_and_person_pairs(
    events: Iterable[Event], identities: IdentityMap
) -> Iterator[tuple[str, str]]:
    """Yields e-mail addresses with a person that has them."""
    for event in events:
        if (email := email_of_identify_event_traits_first(event)) is not None:
            owners = (
                {identities.person_of_user_id(event.strong_id)}
                if event.strong_id
                else identities.linked_persons(event.visitor_id)
            )
            yield from ((email, person) for person in owners)
        if (email := user_id_if_email_address(event)) is not None:
            yield email, identities.person_of_user_id(event.strong_id or "")


def _select_identified(persons: Iterable[str]) -> list[str]:
    return [person for person in persons if user_id_of_person(person)]


def _list_external_ids(event: Event) -> list[ExternalId]:
    ids: list[ExternalId] = list((event.external_ids or {}).items())
    by_mail = event.event_name == WEB_ATTRIBUTION_MATCHED and event.event_data.get("match_method") == "email"
    return [*ids, (event.event_id,)] if by_mail else ids


def _list_email_matched_persons(event: Event, identities: IdentityMap) -> set[str]:
    web = web_visitor_of_email_match_event(event)
    return set() if web is None else identities.linked_persons(web)


def _group_connected_ids_and_persons(
    persons_by_external_id: Mapping[ExternalId, set[str]],
) -> list[tuple[set[ExternalId], set[str]]]:
    """Returns groups of external ids and persons that are connected."""
    components: list[tuple[set[ExternalId], set[str]]] = []
    for external, persons in persons_by_external_id.items():
        touching = [component for component in components if component[1] & persons]
        components = [component for component in components if not component[1] & persons]
        externals = {external}.union(*(component[0] for component in touching))
        components.append((externals, persons.union(*(component[1] for component in touching))))
    return components
