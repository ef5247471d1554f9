"""Transforms, and what one makes of an event."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Final

from service_core.kernel.errors import StartupError
from service_core.kernel.unique_index import index_unique_or_startup_error

PROPERTIES_COLUMN: Final = "properties"
"""The column with all properties of an event."""

PROPERTY_PREFIX: Final = "properties."
"""Begins the name of a column with one property, such as ``properties.url``."""

READ_ONLY_COLUMNS: Final = frozenset({"workspace_id", "event_name", "ip", "user_agent"})
"""Columns that a transform may read and not write; an absent value is None."""

_REASON_PATTERN: Final = re.compile(r"[a-z][a-z0-9_]{0,39}")


class FailurePolicy(StrEnum):
    """What becomes of an event whose transform fails."""

    KEEP_EVENT = "keep_event"
    """It is stored as if there were no transform."""
    HOLD_EVENT = "hold_event"
    """It waits in quarantine until it is replayed: for transforms that remove what must not be stored."""


@dataclass(frozen=True, slots=True)
class DroppedEvent:
    """The event is not stored.

    Attributes:
        reason: why, in lower case with underscores; the ledger counts it.
    """

    reason: str


@dataclass(frozen=True, slots=True)
class ChangedColumns:
    """The event is stored with other values.

    Attributes:
        values: new values of columns that the transform declares to write; None removes a property.
    """

    values: Mapping[str, Any]


TransformResult = DroppedEvent | ChangedColumns | None
"""What a transform makes of an event; None leaves it as it is."""

TransformFunction = Callable[[Mapping[str, Any]], TransformResult]
"""Columns that the transform reads -> what it makes of the event. Pure: equal columns give equal results."""


@dataclass(frozen=True, kw_only=True)
class Transform:
    """A transform of events on their way into the store.

    Attributes:
        id: unique id in lower case, by which the ledger counts it.
        label: name that people read.
        reads: columns it is called with: `READ_ONLY_COLUMNS`, ``properties``, or ``properties.NAME``. It is called once for
            the events of a batch that have equal ones, unless it reads ``properties``.
        writes: columns it may change: ``properties`` or ``properties.NAME``; none for one that only drops events.
        build: gets the settings of its plugin, None without a model, and returns its function; None if the settings ask
            nothing of it, so that it costs nothing.
        on_failure: what becomes of an event when the function raises, returns something else, or is interrupted because it computes
            for more than 250 ms or waits for more than two seconds.
    """

    id: str
    label: str
    reads: tuple[str, ...]
    writes: tuple[str, ...] = ()
    build: Callable[[Any], TransformFunction | None]
    on_failure: FailurePolicy = FailurePolicy.KEEP_EVENT


def index_transforms_by_id(transforms: Iterable[Transform]) -> Mapping[str, Transform]:
    """Returns the transforms by id.

    Raises:
        StartupError: two have the same id, or one declares a column that does not exist.
    """
    by_id = index_unique_or_startup_error(
        transforms, lambda transform: transform.id, lambda transform: f"the transform {transform.id!r}"
    )
    for transform in by_id.values():
        if not _REASON_PATTERN.fullmatch(transform.id):
            raise StartupError(f"{transform.id!r} is no id of a transform. Write it like redact_emails.")
        _require_known_columns(transform, transform.reads, READ_ONLY_COLUMNS)
        _require_known_columns(transform, transform.writes, frozenset())
    return MappingProxyType(dict(by_id))


def is_reason(text: object) -> bool:
    """Returns whether a text can be counted as the reason of a dropped event."""
    return isinstance(text, str) and _REASON_PATTERN.fullmatch(text) is not None


def _require_known_columns(transform: Transform, columns: Iterable[str], others: frozenset[str]) -> None:
    for column in columns:
        is_property = column == PROPERTIES_COLUMN or (
            column.startswith(PROPERTY_PREFIX) and column != PROPERTY_PREFIX
        )
        if not is_property and column not in others:
            known = ", ".join([*sorted(others), PROPERTIES_COLUMN, f"{PROPERTY_PREFIX}NAME"])
            raise StartupError(
                f"The transform {transform.id!r} declares the column {column!r}. Columns are {known}."
            )
