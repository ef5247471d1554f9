"""Whose a message of a provider is by the e-mail it tells, when nothing else says so (semantics 11.3).

A provider's event without a person of its own **seeks** by its e-mail. A person **has** an e-mail by saying it
in an ``$identify`` event, now or ever before, or by a user id that is one. Who seeks becomes part of the one person
who has it: with several nobody does, and two persons are never joined by it (semantics 5.7). Whoever is
joined to a visitor or a person by any other id does not seek.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from string import ascii_lowercase, ascii_uppercase
from typing import Final

from service_core.analytics.event_rules.order_deduplication import TRACKED_SOURCES
from service_core.analytics.people.traits import IDENTIFY_EVENT
from service_core.ingestion.models import Event

_LOWERCASE_ASCII: Final = str.maketrans(ascii_uppercase, ascii_lowercase)
MergedPersons = Mapping[str, str]
"""Person -> the person it is a part of."""


def normalize_email(mail: str) -> str:
    """An e-mail as it is compared, whatever the case of its Latin letters."""
    return mail.translate(_LOWERCASE_ASCII)


def extract_identified_email(event: Event) -> str | None:
    """The e-mail that an ``$identify`` event says, in its traits or beside them."""
    if event.event_name != IDENTIFY_EVENT:
        return None
    told = event.event_data.get("traits")
    mail = told.get("email") if isinstance(told, Mapping) else None
    mail = event.event_data.get("email") if mail is None else mail
    return normalize_email(mail.strip(" ")) or None if isinstance(mail, str) else None


def extract_email_user_id(event: Event) -> str | None:
    """The e-mail that the strong id of an event is."""
    return normalize_email(event.strong_id) if event.strong_id and "@" in event.strong_id else None


def extract_lookup_email(event: Event) -> str | None:
    """The e-mail by which a provider's event of nobody seeks a person."""
    if event.source in TRACKED_SOURCES or event.strong_id is not None:
        return None
    mail, is_nobodys = event.event_data.get("email"), event.visitor_id.startswith(f"{event.source}:")
    return normalize_email(mail) or None if is_nobodys and isinstance(mail, str) else None


def has_email(event: Event) -> bool:
    """Whether an event says who has an e-mail, or seeks by one; bots do neither."""
    told = (extract_identified_email(event), extract_email_user_id(event), extract_lookup_email(event))
    return not event.is_bot and any(told)


def match_persons_by_email(
    emails_by_person: Mapping[str, Iterable[str]],
    persons_by_email: Mapping[str, Iterable[str]],
    members: Mapping[str, Iterable[str]],
) -> dict[str, str]:
    """Who becomes part of whom.

    Args:
        seekers: whole persons that seek, each with its e-mails.
        having: e-mail -> the whole persons that have it.
        members: whole person -> those it is made of, itself among them.
    """
    found: dict[str, str] = {}
    for seeker, mails in emails_by_person.items():
        persons = {person for mail in mails for person in persons_by_email.get(mail, ())} - {seeker}
        if len(persons) == 1:
            found |= dict.fromkeys(members[seeker], persons.pop())
    return found


def group_pairs(pairs: Iterable[tuple[str, str]]) -> dict[str, set[str]]:
    """The seconds of pairs, by the first."""
    groups: defaultdict[str, set[str]] = defaultdict(set)
    for first, second in pairs:
        groups[first].add(second)
    return groups
