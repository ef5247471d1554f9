"""Matches provider events without a user to the one person with the same e-mail address.

A provider event without a person is looked up by its e-mail address. A person has an e-mail address if an
``$identify`` event names it, at any time, or if a user id is one. The event becomes part of the one person
with that address; if several persons have it, of none. Two persons are never merged. A visitor linked to
anybody by another id is not looked up.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from string import ascii_lowercase, ascii_uppercase
from typing import Final

from service_core.analytics.event_rules.order_deduplication import TRACKED_SOURCES
from service_core.ingestion.event_names import IDENTIFY_EVENT
from service_core.ingestion.models import Event

_LOWERCASE_ASCII: Final = str.maketrans(ascii_uppercase, ascii_lowercase)


def normalize_email(email: str) -> str:
    """Returns an e-mail address for comparison, with Latin letters in lower case."""
    return email.translate(_LOWERCASE_ASCII)


def email_of_identify_event_traits_first(event: Event) -> str | None:
    """Returns the e-mail address of an ``$identify`` event, from its traits or its properties."""
    if event.event_name != IDENTIFY_EVENT:
        return None
    traits = event.event_data.get("traits")
    email = traits.get("email") if isinstance(traits, Mapping) else None
    email = event.event_data.get("email") if email is None else email
    return normalize_email(email.strip(" ")) or None if isinstance(email, str) else None


def user_id_if_email_address(event: Event) -> str | None:
    """Returns the user id of an event if it is an e-mail address."""
    return normalize_email(event.strong_id) if event.strong_id and "@" in event.strong_id else None


def email_of_anonymous_provider_event(event: Event) -> str | None:
    """Returns the e-mail address by which a provider event without a person is looked up."""
    if event.source in TRACKED_SOURCES or event.strong_id is not None:
        return None
    email, is_nobodys = event.event_data.get("email"), event.visitor_id.startswith(f"{event.source}:")
    return normalize_email(email) or None if is_nobodys and isinstance(email, str) else None


def has_email(event: Event) -> bool:
    """Whether an event tells that a person has an e-mail address, or is looked up by one. Events of bots do neither."""
    emails = (
        email_of_identify_event_traits_first(event),
        user_id_if_email_address(event),
        email_of_anonymous_provider_event(event),
    )
    return not event.is_bot and any(emails)


def map_to_only_person_with_same_email(
    emails_by_seeking_person: Mapping[str, Iterable[str]],
    persons_by_email: Mapping[str, Iterable[str]],
    members_by_merged_person: Mapping[str, Iterable[str]],
) -> dict[str, str]:
    """Returns which persons are merged into which.

    Args:
        emails_by_seeking_person: merged persons to look up, each with its e-mail addresses.
        persons_by_email: e-mail address to the merged persons that have it.
        members_by_merged_person: merged person to the persons it consists of, itself included.
    """
    merged: dict[str, str] = {}
    for seeker, emails in emails_by_seeking_person.items():
        persons = {person for email in emails for person in persons_by_email.get(email, ())} - {seeker}
        if len(persons) == 1:
            merged |= dict.fromkeys(members_by_merged_person[seeker], persons.pop())
    return merged


def group_second_values_by_first(pairs: Iterable[tuple[str, str]]) -> dict[str, set[str]]:
    """Returns the second values of pairs by their first value."""
    groups: defaultdict[str, set[str]] = defaultdict(set)
    for first, second in pairs:
        groups[first].add(second)
    return groups
