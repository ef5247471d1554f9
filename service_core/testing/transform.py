"""The conformance kit of transforms: samples, purity, declared columns, damaged values, long texts, and batches.

Name the columns of some events and what the transform makes of each, and override the fixture ``harness``; columns that a
sample leaves out are None::

    class TestMyTransform(TransformConformance):
        @pytest.fixture
        def harness(self):
            columns = {"properties.plan": "Gold "}
            return TransformHarness(
                TRANSFORM, None, {"trimmed": (columns, ChangedColumns({"properties.plan": "gold"}))}
            )
"""

from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

import pytest

from service_core.ingestion.event_source import WEB
from service_core.ingestion.models import IngestEndpoint, QueuedEvent, ReceivedEvent
from service_core.ingestion.parse_event import ParsedEvent, parse_event
from service_core.ingestion.transforms.models import (
    PROPERTIES_COLUMN,
    PROPERTY_PREFIX,
    Transform,
    TransformFunction,
    TransformResult,
    index_transforms_by_id,
)
from service_core.ingestion.transforms.run_transforms import EventTransforms, TransformUse
from service_core.testing.blocking_calls import record_outside_calls
from service_core.testing.ingestion_stubs import KEY_ID, NOON, WORKSPACE_ID, make_workspace

_LONG: Final = 20_000
_OTHER_VALUES: Final[tuple[Any, ...]] = (
    *(None, True, 0, -1.5, 10**30, "", " ", "\ufffd", "x", [], {}, [[None]], {"a": {"b": ["c@d.example"]}}),
)
_LONG_VALUES: Final = (
    *("a" * _LONG, "a@" * _LONG, "1 " * _LONG, "%40" * _LONG, "?utm_source=&" * _LONG, "/../" * _LONG),
)


@dataclass(frozen=True)
class TransformHarness:
    """A transform, settings with which it does something, and what it makes of events.

    Attributes:
        transform: the transform.
        settings: an instance of the settings of its plugin; None if it has none.
        samples: name -> columns and the result for them; at least one result is not None.
    """

    transform: Transform
    settings: Any
    samples: Mapping[str, tuple[Mapping[str, Any], TransformResult]]


class TransformConformance:
    """What every transform keeps. Override the fixture ``harness``."""

    @pytest.fixture
    def harness(self) -> TransformHarness:
        """The transform under test and its samples."""
        raise pytest.UsageError("override the fixture `harness`")

    def test_declaration_names_columns_that_exist(self, harness: TransformHarness) -> None:
        """Its id can be counted, and its columns are columns of events."""
        assert harness.transform.label
        assert list(index_transforms_by_id([harness.transform])) == [harness.transform.id]

    def test_samples_have_the_results_they_name(self, harness: TransformHarness) -> None:
        """The function makes of each sample what the harness says."""
        function = _function(harness)
        assert any(result is not None for _, result in harness.samples.values())
        for name, (columns, result) in harness.samples.items():
            assert function(_all_columns(harness, columns)) == result, name

    def test_function_is_pure(self, harness: TransformHarness) -> None:
        """It changes no column in place, and what it did before changes no result."""
        function = _function(harness)
        for columns in _inputs(harness):
            before = deepcopy(columns)
            first = deepcopy(function(MappingProxyType(columns)))
            assert columns == before
            assert function(MappingProxyType(columns)) == first == _function(harness)(before)

    def test_function_reads_no_file_and_calls_nobody(self, harness: TransformHarness) -> None:
        """It is called for each event: whatever it looks up is read when it is built."""
        function = _function(harness)
        for _ in range(2):  # the first time it may still import what it uses
            with record_outside_calls() as calls:
                for columns in _inputs(harness):
                    function(MappingProxyType(columns))
        assert calls == []

    def test_any_value_has_a_declared_result_in_time(self, harness: TransformHarness) -> None:
        """Values of other types, nested ones and long texts never fail: others may send them."""
        for columns in (*_inputs(harness), *_long_inputs(harness)):
            uses: list[TransformUse] = []
            transforms = EventTransforms([(harness.transform, _function(harness))], uses.append)
            _transform(transforms, columns)
            transforms.report_batch()
            assert [use.failures for use in uses] == [0], str(columns)[:200]

    def test_batch_has_the_results_of_its_events_alone(self, harness: TransformHarness) -> None:
        """Events with equal columns share a call; the results are those of a call for each event."""
        inputs = [*_inputs(harness)] * 2
        together = EventTransforms([(harness.transform, _function(harness))])
        for columns in inputs:
            alone = EventTransforms([(harness.transform, _function(harness))])
            assert _transform(together, columns) == _transform(alone, columns)


def _function(harness: TransformHarness) -> TransformFunction:
    function = harness.transform.build(harness.settings)
    assert function is not None, "the settings of the harness ask nothing of the transform"
    return function


def _all_columns(harness: TransformHarness, columns: Mapping[str, Any]) -> dict[str, Any]:
    absent = dict.fromkeys(harness.transform.reads) | {
        name: {} for name in harness.transform.reads if name == PROPERTIES_COLUMN
    }
    return absent | dict(columns)


def _inputs(harness: TransformHarness) -> Iterator[dict[str, Any]]:
    """Yields the samples, and each with every other value in one column that a client can send freely."""
    for columns, _ in harness.samples.values():
        whole = _all_columns(harness, columns)
        yield whole
        for name in harness.transform.reads:
            for value in _OTHER_VALUES:
                if name == PROPERTIES_COLUMN:
                    yield whole | {name: {"other": value}}
                elif name.startswith(PROPERTY_PREFIX):
                    yield whole | {name: value}


def _long_inputs(harness: TransformHarness) -> Iterator[dict[str, Any]]:
    """Yields events with a long text in one column."""
    for name in harness.transform.reads:
        for value in _LONG_VALUES:
            if name == PROPERTIES_COLUMN or name.startswith(PROPERTY_PREFIX):
                yield _all_columns(harness, {name: {"other": value} if name == PROPERTIES_COLUMN else value})


def _transform(transforms: EventTransforms, columns: Mapping[str, Any]) -> tuple[object, ...]:
    parsed, arrival = _event(columns)
    transformed = transforms.apply_until_dropped(parsed, arrival, WEB)
    return transformed.parsed.properties, transformed.dropped, transformed.ignored


def _event(columns: Mapping[str, Any]) -> tuple[ParsedEvent, ReceivedEvent]:
    """Returns an event with some columns."""
    arrival = ReceivedEvent(
        WORKSPACE_ID,
        KEY_ID,
        IngestEndpoint.TRACK,
        "e1",
        True,
        NOON,
        b"{}",
        columns.get("user_agent"),
        columns.get("ip"),
        {},
    )
    properties = dict(columns.get(PROPERTIES_COLUMN) or {}) | {
        name.removeprefix(PROPERTY_PREFIX): value
        for name, value in columns.items()
        if name.startswith(PROPERTY_PREFIX) and value is not None
    }
    body = {"event": columns.get("event_name") or "pageview", "user_id": "u1"}
    parsed = parse_event(QueuedEvent(1, arrival).arrival, body, make_workspace(), is_storable=True)
    return parsed._replace(properties=properties), arrival
