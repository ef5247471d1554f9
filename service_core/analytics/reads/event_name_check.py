"""Warns of event names that were never seen, and offers names that are spelt alike."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Literal

from service_core.access.models import Caller
from service_core.analytics.event_rules.event_synonyms import list_event_synonyms
from service_core.analytics.ports import EventReader
from service_core.analytics.range_query import resolve_last_90_days
from service_core.analytics.reads.similar_names import list_similar_names
from service_core.analytics.reads.value_suggestion import ValueSuggestion
from service_core.analytics.scope import scope_for_caller
from service_core.kernel.schemas import ResponseModel

_DIMENSION: Final = "event_name"


class EventNameWarning(ResponseModel):
    """An event name that no event of the last 90 days has."""

    code: Literal["never_seen"]
    event_name: str
    message: str


class EventNameMeta(ResponseModel):
    """What the event names of a request may have got wrong."""

    warnings: list[EventNameWarning]
    did_you_mean: list[ValueSuggestion]


NO_NAMES: Final = EventNameMeta(warnings=[], did_you_mean=[])


async def read_event_name_warnings_and_suggestions(
    event_reader: EventReader, caller: Caller, requested_names: Sequence[str]
) -> EventNameMeta:
    """Returns warnings of names that were not seen in 90 days, and names that are spelt alike; reads nothing without names."""
    if not requested_names:
        return NO_NAMES
    scope = scope_for_caller(caller, resolve_last_90_days(caller).span)
    counts = {seen.name: seen.count for seen in await event_reader.list_event_names(scope)}
    unique_names = tuple(dict.fromkeys(requested_names))
    return EventNameMeta(
        warnings=list(_warn_of_names_never_seen(unique_names, counts)),
        did_you_mean=[
            ValueSuggestion(dimension=_DIMENSION, value=name, suggestion=similar)
            for name in unique_names
            for similar in _list_similar_names_but_synonyms(name, counts)
        ],
    )


def _warn_of_names_never_seen(names: Iterable[str], counts: Mapping[str, int]) -> Iterable[EventNameWarning]:
    for name in names:
        if counts.keys().isdisjoint(list_event_synonyms(name)):
            message = f"No event named {name} was seen in the last 90 days."
            yield EventNameWarning(code="never_seen", event_name=name, message=message)


def _list_similar_names_but_synonyms(name: str, counts: Mapping[str, int]) -> Sequence[str]:
    """Returns names that are spelt like a name; events with one of its synonyms count as its own."""
    synonyms = list_event_synonyms(name)
    own_count = sum(count for other, count in counts.items() if other in synonyms)
    others = {other: count for other, count in counts.items() if other not in synonyms}
    return list_similar_names(name, others | {name: own_count} if own_count else others)
