"""Range arguments: every tool over a range takes ``start_date`` and ``end_date``, or ``date_range``."""

from collections.abc import Container, Mapping
from datetime import datetime
from typing import Any, Final
from zoneinfo import ZoneInfo

from service_core.kernel.date_range import DateRange
from service_core.kernel.errors import BadRequest
from service_core.kernel.time_ranges import ResolvedRange
from service_core.kernel.timestamps import format_timestamp
from service_core.kernel.wall_clock import local_date

DATE_ARGUMENTS: Final = ("start_date", "end_date")
RANGE_ARGUMENT: Final = "date_range"

HALF_OPEN_OPERATIONS: Final = frozenset({"get_commerce_metrics"})
"""Ids of operations whose ``end_date`` is an exclusive instant that must not lie in the future."""

_RANGE_KEYS: Final = ("from", "to", "preset")
_LENGTH_OF_DATE: Final = len("2026-07-01")

Schema = dict[str, Any]


def add_common_range_arguments(properties: Schema, required: list[str]) -> tuple[Schema, list[str]]:
    """Returns the properties and required names of a tool, with both forms of a range.

    Neither form is required in the schema of a tool, because either will do; `convert_range_arguments` requires one.
    """
    if not takes_range(properties):
        return properties, required
    forms = {RANGE_ARGUMENT: {"type": "object"}, **{name: {"type": "string"} for name in DATE_ARGUMENTS}}
    missing = {name: schema for name, schema in forms.items() if name not in properties}
    return properties | missing, [name for name in required if name not in forms]


def takes_range(properties: Container[str]) -> bool:
    """Returns whether the parameters of an operation have a range in either form."""
    return RANGE_ARGUMENT in properties or all(name in properties for name in DATE_ARGUMENTS)


def parse_date_range_argument(arguments: Mapping[str, Any]) -> DateRange | None:
    """Returns the ``date_range`` of a call, or None without it.

    Raises:
        BadRequest: it stands beside a date, or has another form than ``{from, to}`` or ``{preset}``.
    """
    sent = arguments.get(RANGE_ARGUMENT)
    if not isinstance(sent, Mapping):
        return None
    beside = next((name for name in DATE_ARGUMENTS if name in arguments), None)
    if beside is not None:
        raise BadRequest(
            f"Send {RANGE_ARGUMENT}, or start_date and end_date, not both",
            "conflicting_date_range",
            field=beside,
            hint=f"Leave out {beside}.",
        )
    for key, value in sent.items():
        if key not in _RANGE_KEYS:
            raise BadRequest(
                f"{RANGE_ARGUMENT} has no field {key!r:.80}",
                "unknown_field",
                field=f"{RANGE_ARGUMENT}.{key:.80}",
                hint="Send {from, to}, both inclusive, or {preset}.",
                extra={"allowed": list(_RANGE_KEYS)},
            )
        if not isinstance(value, str | None):
            raise BadRequest(
                f"{RANGE_ARGUMENT}.{key} must be of type string",
                "invalid_parameter",
                field=f"{RANGE_ARGUMENT}.{key}",
                hint=f"Send {key} as string.",
            )
    return DateRange.model_validate(sent)


def convert_range_arguments(
    operation_id: str,
    own_parameters: Container[str],
    arguments: Mapping[str, Any],
    *,
    zone: ZoneInfo,
    now: datetime,
    first_event_time: datetime | None = None,
) -> dict[str, Any]:
    """Returns the arguments of a call with the range in the form that the operation takes.

    Args:
        operation_id: of the operation.
        own_parameters: names of the parameters of the operation.
        arguments: of the call, without null.
        zone: time zone of the workspace.
        now: time of the request.
        first_event_time: time of the first event, for the preset ``all_time``; None without events.

    Raises:
        BadRequest: the range is sent in both forms, or has an invalid value.
    """
    date_range = parse_date_range_argument(arguments)
    rest = {name: value for name, value in arguments.items() if name not in (RANGE_ARGUMENT, *DATE_ARGUMENTS)}
    dates = {name: arguments[name] for name in DATE_ARGUMENTS if name in arguments}
    if operation_id in HALF_OPEN_OPERATIONS and date_range is None and _are_plain_dates(dates):
        date_range = DateRange.model_validate({"from": dates["start_date"], "to": dates["end_date"]})
    if date_range is None:
        if dates and DATE_ARGUMENTS[0] not in own_parameters:
            return rest | {RANGE_ARGUMENT: _dates_as_range(dates)}
        return dict(arguments)
    if DATE_ARGUMENTS[0] not in own_parameters or RANGE_ARGUMENT in own_parameters:
        return dict(arguments)
    resolved = date_range.resolve(zone, now, first_event_time)
    if operation_id in HALF_OPEN_OPERATIONS:
        return rest | _half_open_instants(resolved, now)
    if date_range.from_ and date_range.to:
        return rest | {"start_date": date_range.from_, "end_date": date_range.to}
    days = (local_date(resolved.span.start, zone), local_date(resolved.inclusive_end, zone))
    return rest | {name: day.isoformat() for name, day in zip(DATE_ARGUMENTS, days, strict=True)}


def _dates_as_range(dates: Mapping[str, Any]) -> dict[str, Any]:
    names = {"start_date": "from", "end_date": "to"}
    missing = next((name for name in DATE_ARGUMENTS if name not in dates), None)
    if missing is not None:
        raise BadRequest(
            f"{missing} is missing",
            "missing_field",
            field=missing,
            hint="Send start_date and end_date, or date_range.",
        )
    return {names[name]: value for name, value in dates.items()}


def _half_open_instants(resolved: ResolvedRange, now: datetime) -> dict[str, str]:
    """Returns the range as instants with an exclusive end, cut at the last full hour."""
    end = min(resolved.span.end, now.replace(minute=0, second=0, microsecond=0))
    return {"start_date": format_timestamp(resolved.span.start), "end_date": format_timestamp(end)}


def _are_plain_dates(dates: Mapping[str, Any]) -> bool:
    """Returns whether both dates are sent, as days and not as instants."""
    return len(dates) == len(DATE_ARGUMENTS) and all(
        isinstance(value, str) and len(value) == _LENGTH_OF_DATE for value in dates.values()
    )
