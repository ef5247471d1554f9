"""Whose an event is: persons as connected ids, resolved from the events at query time (semantics 5).

A person is written ``u:<strong id>`` or, while nobody is known behind it, ``v:<visitor>``.

- An event with a strong id is that strong id's, after aliases. It links every weak id it carries to
  the person, from the event on, and backwards when the weak id had no person. Weak ids without a
  strong one join nobody: such an event is its device key's alone.
- An event without one is its visitor's latest link's not after it, else its visitor's first link's,
  else its visitor's own.
- An external id joins the unknown visitors that carry it, to each other and to the person that
  carries it too. An id that two known persons carry joins nobody, nor do ids that together would
  lead from one known person to another. A ``$web_attribution_matched``
  event by e-mail joins its own visitor and ``event_data["web_visitor_id"]`` in the same way.
- A provider's event of nobody becomes part of the one person who has its e-mail (`mails`).

Bots link nothing. A link is a fact of its event: without the event it was never made.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final, TypeAlias

from service_core.insight.mails import found_by_mail, grouped, mail_of_user, said_mail, sought_mail
from service_core.insight.orders import moment
from service_core.intake.model import Event

ALIAS: Final = "$alias"
MATCHED: Final = "$web_attribution_matched"
KNOWN: Final = "u:"
UNKNOWN: Final = "v:"
External: TypeAlias = tuple[str, ...]
"""Namespace and id; of a match by e-mail, the id of its event alone."""


@dataclass(frozen=True, slots=True)
class Link:
    """A visitor belongs to a person from a moment on."""

    since: tuple[datetime, int]
    person: str


@dataclass(frozen=True, slots=True)
class Owners:
    """Every id of a workspace and the person it leads to.

    Attributes:
        names: strong id -> the strong id that names its person; unaliased ones are left out.
        links: visitor or other weak id -> its links, oldest first.
        joined: person -> the person it is a part of by an external id.
        conflicts: external ids (namespace, id) that lead to two known persons and join neither.
    """

    names: Mapping[str, str] = field(default_factory=dict)
    links: Mapping[str, Sequence[Link]] = field(default_factory=dict)
    joined: Mapping[str, str] = field(default_factory=dict)
    conflicts: frozenset[External] = frozenset()

    def known(self, strong_id: str) -> str:
        """The person a strong id names."""
        return KNOWN + self.names.get(strong_id, strong_id)

    def person(self, event: Event) -> str:
        """Whose an event is."""
        own = self.known(event.strong_id) if event.strong_id else self.at(event.visitor_id, moment(event))
        return self.whole(own)

    def whole(self, person: str) -> str:
        """The person that one is a part of by an external id, or itself."""
        return self.joined.get(person, person)

    def at(self, visitor: str, when: tuple[datetime, int]) -> str:
        """Whose a visitor's events are at a moment, external ids apart."""
        links = self.links.get(visitor)
        if not links:
            return UNKNOWN + visitor
        return links[max(bisect_right(links, when, key=lambda link: link.since) - 1, 0)].person

    def everyone(self, visitor: str) -> set[str]:
        """Everyone a visitor's events were ever linked to, or the visitor itself."""
        return {link.person for link in self.links.get(visitor, ())} or {UNKNOWN + visitor}


def user_id(person: str) -> str | None:
    """The strong id that names a person; None while nobody is known."""
    return person.removeprefix(KNOWN) if person.startswith(KNOWN) else None


def stitch(events: Iterable[Event], revoked: Collection[str] = ()) -> Owners:
    """Resolve the identities of a workspace.

    Args:
        events: all its events, bots included.
        revoked: ids of events whose links were removed (semantics 5.9).
    """
    everything = list(events)
    facts = sorted((e for e in everything if not e.is_bot and e.event_id not in revoked), key=moment)
    owners = Owners(names=_names(facts))
    links: defaultdict[str, list[Link]] = defaultdict(list)
    for event in facts:
        for weak_id in event.weak_ids:
            links[weak_id].append(Link(moment(event), owners.known(event.strong_id or "")))
    owners = replace(owners, links=links)
    joined, conflicts = _joined(facts, owners)
    owners = replace(owners, joined=joined, conflicts=conflicts)
    people = [event for event in everything if not event.is_bot]
    return replace(owners, joined=joined | _mailed(people, owners, revoked))


def previous_id(event: Event) -> str | None:
    """The strong id an `$alias` event joins to its own; None for any other event."""
    if event.event_name != ALIAS or not event.strong_id:
        return None
    previous = event.event_data.get("previous_id")
    return previous if isinstance(previous, str) and previous not in {"", event.strong_id} else None


def mailed_visitor(event: Event) -> str | None:
    """The web visitor that a match by e-mail joins to the event's own; None for any other event."""
    web = event.event_data.get("web_visitor_id")
    by_mail = event.event_name == MATCHED and event.event_data.get("match_method") == "email"
    return web if by_mail and isinstance(web, str) else None


def _names(facts: Iterable[Event]) -> dict[str, str]:
    """Strong id -> the one that names its person: the new id of the latest alias among them."""
    together: dict[str, set[str]] = {}
    names: dict[str, str] = {}
    for event in facts:
        previous, new = previous_id(event), event.strong_id
        if previous and new:
            group = together.get(previous, {previous}) | together.get(new, {new})
            together |= dict.fromkeys(group, group)
            names |= dict.fromkeys(group, new)
    return names


def _joined(facts: Iterable[Event], owners: Owners) -> tuple[dict[str, str], frozenset[External]]:
    """Who is part of whom by external ids, and the external ids in conflict."""
    carriers: defaultdict[External, set[str]] = defaultdict(set)
    for event in facts:
        own = owners.person(event)
        for external in _external(event):
            carriers[external] |= {own, *_matched(event, owners)}
    joined: dict[str, str] = {}
    conflicts = {external for external, persons in carriers.items() if len(_known(persons)) > 1}
    for externals, persons in _components({e: carriers[e] for e in carriers if e not in conflicts}):
        known = _known(persons)
        if len(known) > 1:
            conflicts |= externals
        else:
            joined |= dict.fromkeys(persons, known[0] if known else min(persons))
    return joined, frozenset(conflicts)


def _mailed(people: Sequence[Event], owners: Owners, revoked: Collection[str]) -> dict[str, str]:
    """Who is part of whom by e-mail. A visitor of whom an event was revoked seeks nobody."""
    seeking = [event for event in people if sought_mail(event)]
    if not seeking:
        return {}
    providers = tuple(f"{UNKNOWN}{source}:" for source in {event.source for event in seeking})
    left = {event.visitor_id for event in people if event.event_id in revoked}
    members = grouped((owners.whole(person), person) for person in owners.joined)
    sought = grouped(
        (owners.whole(UNKNOWN + event.visitor_id), sought_mail(event) or "")
        for event in seeking
        if event.visitor_id not in left and event.visitor_id not in owners.links
    )
    seekers = {
        person: mails
        for person, mails in sought.items()
        if all(one.startswith(providers) for one in members[person] | {person})
    }
    having = grouped((mail, owners.whole(one)) for mail, one in _having(people, owners))
    return found_by_mail(seekers, having, {one: members[one] | {one} for one in seekers})


def _having(people: Iterable[Event], owners: Owners) -> Iterator[tuple[str, str]]:
    """E-mails, each with a person that has it."""
    for event in people:
        if (mail := said_mail(event)) is not None:
            known = {owners.known(event.strong_id)} if event.strong_id else owners.everyone(event.visitor_id)
            yield from ((mail, person) for person in known)
        if (mail := mail_of_user(event)) is not None:
            yield mail, owners.known(event.strong_id or "")


def _known(persons: Iterable[str]) -> list[str]:
    return [person for person in persons if user_id(person)]


def _external(event: Event) -> list[External]:
    ids: list[External] = list((event.external_ids or {}).items())
    by_mail = event.event_name == MATCHED and event.event_data.get("match_method") == "email"
    return [*ids, (event.event_id,)] if by_mail else ids


def _matched(event: Event, owners: Owners) -> set[str]:
    web = mailed_visitor(event)
    return set() if web is None else owners.everyone(web)


def _components(carriers: Mapping[External, set[str]]) -> list[tuple[set[External], set[str]]]:
    """External ids and persons that hang together."""
    components: list[tuple[set[External], set[str]]] = []
    for external, persons in carriers.items():
        touching = [part for part in components if part[1] & persons]
        components = [part for part in components if not part[1] & persons]
        externals = {external}.union(*(part[0] for part in touching))
        components.append((externals, persons.union(*(part[1] for part in touching))))
    return components
