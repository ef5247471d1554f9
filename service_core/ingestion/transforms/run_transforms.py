"""Runs the transforms on the events of a batch, each once for equal columns."""

import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final, NamedTuple
from uuid import UUID

from service_core.ingestion.event_source import reported_or_connection_ip, reported_user_agent
from service_core.ingestion.models import IMPORT_PROPERTY, ReceivedEvent
from service_core.ingestion.parse_event import ParsedEvent
from service_core.ingestion.sanitize_json import sanitize_json_value
from service_core.ingestion.transforms.circuit_breaker import CircuitBreaker
from service_core.ingestion.transforms.models import (
    PROPERTIES_COLUMN,
    PROPERTY_PREFIX,
    ChangedColumns,
    DroppedEvent,
    FailurePolicy,
    Transform,
    TransformFunction,
    TransformResult,
    is_reason,
)
from service_core.ingestion.transforms.time_limit import (
    CALL_SECONDS,
    CALL_TIME_LIMIT,
    CallTookTooLong,
)

DROPPED_PREFIX: Final = "dropped:"
"""Begins the reason of a dropped event in the ledger; id of the transform and its own reason follow."""
REMOVED_PREFIX: Final = "removed:"
"""Begins the reason of a stored event of which a transform that may hold events removed something."""
FAILED_PREFIX: Final = "transform_failed:"
"""Begins the reason of an event that was stored without a transform."""

_JSON_TYPES: Final = (str, int, float, dict, list, type(None))


@dataclass(frozen=True, slots=True)
class TransformUse:
    """What a transform did in one batch.

    Attributes:
        transform_id: id of the transform.
        seconds: time its calls took.
        longest_seconds: time the longest of them took.
        failures: calls that failed.
        left_out: events it was not called for, because it had kept failing.
        is_left_out: whether it is left out now for a workspace.
    """

    transform_id: str
    seconds: float
    longest_seconds: float
    failures: int
    left_out: int
    is_left_out: bool


class TransformedEvent(NamedTuple):
    """What the transforms made of an event.

    Attributes:
        parsed: the event to store.
        dropped: ledger reason of an event that is not stored; None for others.
        ignored: ledger reasons of a stored event.
        skipped: ids of the transforms that failed, so that it is stored without them.
    """

    parsed: ParsedEvent
    dropped: str | None = None
    ignored: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()


class EventHeld(Exception):
    """A transform that must not be left out failed, so the event waits.

    Args:
        transform_id: id of the transform.
        cause: what its function raised, in words.
    """

    def __init__(self, transform_id: str, cause: str) -> None:
        super().__init__(f"the transform {transform_id} failed: {cause}")
        self.transform_id = transform_id


class _WrongResult(Exception):
    """A function returned something else than its transform declares."""


@dataclass(slots=True)
class _RunningTransform:
    """A transform with its function, a breaker for each workspace, and the counts of the current batch."""

    transform: Transform
    function: TransformFunction
    breakers: defaultdict[UUID, CircuitBreaker]
    results: dict[object, TransformResult] = field(default_factory=dict)
    seconds: float = 0.0
    longest_seconds: float = 0.0
    failures: int = 0
    left_out: int = 0

    @property
    def is_called_per_event(self) -> bool:
        """Whether it reads all properties, which hardly two events share."""
        return PROPERTIES_COLUMN in self.transform.reads

    def begin_batch(self) -> None:
        """Forgets results and counts of the batch before."""
        self.results = {}
        self.seconds, self.longest_seconds, self.failures, self.left_out = 0.0, 0.0, 0, 0

    def use(self) -> TransformUse:
        """Returns what it did since the batch began."""
        return TransformUse(
            self.transform.id,
            self.seconds,
            self.longest_seconds,
            self.failures,
            self.left_out,
            any(breaker.is_open for breaker in self.breakers.values()),
        )

    def add_call(self, seconds: float) -> None:
        """Counts the time of a call."""
        self.seconds += seconds
        self.longest_seconds = max(self.longest_seconds, seconds)

    def record_failure(self, breaker: CircuitBreaker) -> None:
        """Counts a call that failed or was late."""
        self.failures += 1
        breaker.record_failure()


class EventTransforms:
    """The transforms of a deployment, in the order they run: those that drop, those that change, those that remove.

    Args:
        functions: each transform with its function.
        observe: gets what each did in a batch.
        monotonic: seconds of a clock that never goes back.
    """

    def __init__(
        self,
        functions: Sequence[tuple[Transform, TransformFunction]],
        observe: Callable[[TransformUse], None] = lambda _use: None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        ordered = sorted(functions, key=lambda pair: _run_position(pair[0]))
        self._running = [
            _RunningTransform(transform, function, defaultdict(lambda: CircuitBreaker(monotonic)))
            for transform, function in ordered
        ]
        self._observe = observe

    def __bool__(self) -> bool:
        """Whether there is one."""
        return bool(self._running)

    def begin_batch(self) -> None:
        """Forgets the results of the batch before."""
        for running in self._running:
            running.begin_batch()

    def report_batch(self) -> None:
        """Reports what each transform did in the batch."""
        for running in self._running:
            self._observe(running.use())

    def apply_until_dropped(
        self, parsed: ParsedEvent, arrival: ReceivedEvent, source: str
    ) -> TransformedEvent:
        """Returns what the transforms make of an event, one after the other.

        Args:
            parsed: the event.
            arrival: as it was received.
            source: the source column of the event; the connection of an `API` event is not that of its end user.

        Raises:
            EventHeld: one failed that must not be left out.
        """
        ignored: list[str] = []
        skipped: list[str] = []
        for running in self._running:
            transform = running.transform
            columns = _columns_of_event(transform.reads, parsed, arrival, source)
            try:
                result = self._result_for_columns(running, parsed.workspace_id, columns)
            except _WrongResult as failure:
                if transform.on_failure is FailurePolicy.HOLD_EVENT:
                    raise EventHeld(transform.id, str(failure)) from failure
                ignored.append(FAILED_PREFIX + transform.id)
                skipped.append(transform.id)
                continue
            if isinstance(result, DroppedEvent):
                reason = f"{DROPPED_PREFIX}{transform.id}:{result.reason}"
                return TransformedEvent(parsed, reason, (), tuple(skipped))
            if result is not None:
                parsed = parsed._replace(
                    properties=_properties_with_changed_columns(parsed.properties, result.values)
                )
                if transform.on_failure is FailurePolicy.HOLD_EVENT:
                    ignored.append(REMOVED_PREFIX + transform.id)
        return TransformedEvent(parsed, None, tuple(ignored), tuple(skipped))

    def _result_for_columns(
        self, running: _RunningTransform, workspace_id: UUID, columns: Mapping[str, Any]
    ) -> TransformResult:
        """Returns the result for some columns, from an earlier event of the batch with equal ones if there is one."""
        if running.is_called_per_event:
            return self._call_within_time_limit_and_breaker(running, workspace_id, columns)
        key = tuple([_key_of_value(value) for value in columns.values()])
        if key not in running.results:
            running.results[key] = self._call_within_time_limit_and_breaker(running, workspace_id, columns)
        return running.results[key]

    def _call_within_time_limit_and_breaker(
        self, running: _RunningTransform, workspace_id: UUID, columns: Mapping[str, Any]
    ) -> TransformResult:
        """Calls the function and checks its result; a result that comes too late counts as a failure, and is used.

        Raises:
            _WrongResult: it raised, was interrupted, returned something else, or is left out for the workspace.
        """
        breaker = running.breakers[workspace_id]
        if breaker.is_open:
            running.left_out += 1
            raise _WrongResult("it kept failing and is left out for a while")
        started = time.perf_counter()
        try:
            result = _checked_and_sanitized_result(
                running.transform, CALL_TIME_LIMIT.call(running.function, columns)
            )
        except (Exception, CallTookTooLong) as failure:
            running.record_failure(breaker)
            raise _WrongResult(f"{type(failure).__name__}: {failure}") from failure
        finally:
            seconds = time.perf_counter() - started
            running.add_call(seconds)
        if seconds > CALL_SECONDS:
            running.record_failure(breaker)
        else:
            breaker.record_success()
        return result


NO_TRANSFORMS: Final = EventTransforms(())
"""The transforms of a deployment without any."""


def _run_position(transform: Transform) -> int:
    """Returns 0 for a transform that only drops events, 2 for one that must see what the others wrote, else 1."""
    if transform.on_failure is FailurePolicy.HOLD_EVENT:
        return 2
    return 1 if transform.writes else 0


def _columns_of_event(
    names: Sequence[str], parsed: ParsedEvent, arrival: ReceivedEvent, source: str
) -> Mapping[str, Any]:
    return {name: _column_of_event(name, parsed, arrival, source) for name in names}


def _column_of_event(name: str, parsed: ParsedEvent, arrival: ReceivedEvent, source: str) -> Any:
    if name.startswith(PROPERTY_PREFIX):
        return parsed.properties.get(name.removeprefix(PROPERTY_PREFIX))
    if name == PROPERTIES_COLUMN:
        return MappingProxyType(dict(parsed.properties))
    if name == "event_name":
        return parsed.name
    if name == "ip":
        return reported_or_connection_ip(parsed.ip, arrival.address, source)
    if name == "user_agent":
        return reported_user_agent(parsed.context) or arrival.user_agent
    return str(parsed.workspace_id)


def _properties_with_changed_columns(
    properties: Mapping[str, Any], columns: Mapping[str, Any]
) -> dict[str, Any]:
    """Returns properties with changed columns; a value of None removes the property. The mark of an import stays."""
    changed = dict(columns.get(PROPERTIES_COLUMN, properties))
    for column, value in columns.items():
        name = column.removeprefix(PROPERTY_PREFIX)
        if value is None:
            changed.pop(name, None)
        elif column != PROPERTIES_COLUMN:
            changed[name] = value
    changed.pop(IMPORT_PROPERTY, None)
    if IMPORT_PROPERTY in properties:
        changed[IMPORT_PROPERTY] = properties[IMPORT_PROPERTY]
    return changed


def _checked_and_sanitized_result(transform: Transform, result: object) -> TransformResult:
    """Returns the result with values that can be stored, as sent ones would be.

    Raises:
        _WrongResult: it is not what the transform declares.
    """
    if isinstance(result, DroppedEvent) and not is_reason(result.reason):
        raise _WrongResult(f"{result.reason!r} is no reason")
    if result is None or isinstance(result, DroppedEvent):
        return result
    if not isinstance(result, ChangedColumns):
        raise _WrongResult(f"it returned {type(result).__name__}")
    if undeclared := result.values.keys() - set(transform.writes):
        raise _WrongResult(f"it writes {min(undeclared)}, which it does not declare")
    if not isinstance(result.values.get(PROPERTIES_COLUMN, {}), dict):
        raise _WrongResult("its properties are no dict")
    if not all(isinstance(value, _JSON_TYPES) for value in result.values.values()):
        raise _WrongResult("it writes a value that is not of JSON")
    return ChangedColumns({name: sanitize_json_value(value) for name, value in result.values.items()})


def _key_of_value(value: object) -> object:
    """Returns a value as part of a key. 1, 1.0 and true are equal in Python, and different as sent."""
    return value if type(value) is str or value is None else (repr(value),)
