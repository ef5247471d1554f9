"""What an export may be narrowed by: an allow-list per type, read like the parameters of its endpoint."""

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeAlias

from service_core.access.model import Caller
from service_core.delivery.exports.model import Subject
from service_core.insight.attribution.model import Models
from service_core.insight.attribution.operations import AttributionQuery, check_basis
from service_core.insight.events import EventsQuery
from service_core.insight.people.operations import UsersQuery
from service_core.kernel.errors import BadRequest
from service_core.kernel.params import query_of

Query: TypeAlias = EventsQuery | UsersQuery | AttributionQuery

LONGEST_DAYS: Final = 366

_QUERIES: Final[Mapping[Subject, type[Query]]] = {
    Subject.EVENTS: EventsQuery,
    Subject.USERS: UsersQuery,
    Subject.ATTRIBUTION: AttributionQuery,
}
ALLOWED: Final[Mapping[Subject, tuple[str, ...]]] = {
    Subject.EVENTS: (
        "event_name", "source", "attribution_source", "channel", "visitor_id", "user_id", "session_id",
        "utm_source", "utm_medium", "utm_campaign", "lyr", "country", "device_type", "property_filters",
        "include_bots",
    ),
    Subject.USERS: ("search", "identified", "utm_source", "utm_campaign", "country", "include_bots"),
    Subject.ATTRIBUTION: ("model", "window_days", "event_name", "basis", "refund_basis", "include_bots"),
}  # fmt: skip
"""Filters of each type (contract 6)."""

_FLAGS: Final = frozenset({"include_bots", "identified"})
_NUMBERS: Final = frozenset({"window_days"})
_STRUCTURED: Final = frozenset({"property_filters"})


def question(
    subject: Subject, start_date: str | None, end_date: str | None, filters: Mapping[str, Any]
) -> Query:
    """The question of the read endpoint whose rows the export holds.

    Raises:
        BadRequest: ``unknown_filter``, or a value that the endpoint would refuse.
    """
    for name in filters:
        if name not in ALLOWED[subject]:
            raise BadRequest(
                f"{subject.value} exports have no filter {name[:100]!r}",
                "unknown_filter",
                field=f"filters.{name[:100]}",
                hint=f"Filters: {', '.join(ALLOWED[subject])}.",
            )
    dates = [("start_date", start_date or ""), ("end_date", end_date or "")]
    try:
        return query_of(_QUERIES[subject], [*dates, *_pairs(filters)])
    except BadRequest as refusal:
        raise BadRequest(
            refusal.message, refusal.code, field=_in_filters(refusal.field), hint=refusal.hint
        ) from None


def check(query: Query, who: Caller, models: Models) -> None:
    """Find out now what would fail later.

    Raises:
        BadRequest: the dates, ``range_too_long``, or a filter without meaning.
    """
    asked = query.asked(who)
    if (asked.last_day - asked.first_day).days >= LONGEST_DAYS:
        raise BadRequest(f"An export covers at most {LONGEST_DAYS} days", "range_too_long", field="end_date")
    try:
        if isinstance(query, EventsQuery):
            query.predicates()
        elif isinstance(query, AttributionQuery):
            check_basis(query, models.named(query.chosen(who).model))
    except BadRequest as refusal:
        raise BadRequest(
            refusal.message, refusal.code, field=_in_filters(refusal.field), hint=refusal.hint
        ) from None


def _pairs(filters: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    """Filters as the query string of the endpoint would have them; null is absent."""
    for name, value in filters.items():
        if value is None:
            continue
        if isinstance(value, bool) and name in _FLAGS:
            yield name, str(value).lower()
        elif isinstance(value, int) and not isinstance(value, bool) and name in _NUMBERS:
            yield name, str(value)
        elif isinstance(value, dict | list) and name in _STRUCTURED:
            yield name, json.dumps(value)
        elif isinstance(value, str):
            yield name, value
        else:
            raise BadRequest(f"{name} has the wrong type", "invalid_parameter", field=name)


def _in_filters(field: str | None) -> str | None:
    return f"filters.{field}" if field in set().union(*ALLOWED.values()) else field
