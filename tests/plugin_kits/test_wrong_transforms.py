"""Transforms that are wrong in one thing, and the promise that catches each."""

import random
import re
import socket
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import pytest

from service_core.plugin import ChangedColumns, DroppedEvent, StartupError
from service_core.testing.transform import TransformHarness
from tests.plugin_kits.examples import load_example
from tests.plugin_kits.wrong_plugin import WrongPlugin

EXAMPLE, TESTS = load_example("transform")
right_function = EXAMPLE.transform_columns


class WrongTransform(WrongPlugin, TESTS.TestRightTransform):
    """The right transform with another ``function``, or other ``changes`` of its declaration."""

    changes: ClassVar[Mapping[str, Any]] = {}

    @pytest.fixture
    def harness(self):
        changes = {"build": lambda settings: self.build_function(), **self.changes}
        return TransformHarness(replace(EXAMPLE.TRANSFORM, **changes), None, TESTS.SAMPLES)

    def build_function(self):
        return self.function

    def function(self, columns):
        return right_function(columns)


class TestIdCannotBeCounted(
    WrongTransform, promise="declaration_names_columns_that_exist", raises=StartupError
):
    changes: ClassVar[Mapping[str, Any]] = {"id": "Lower case!"}


class TestColumnDoesNotExist(
    WrongTransform, promise="declaration_names_columns_that_exist", raises=StartupError
):
    changes: ClassVar[Mapping[str, Any]] = {"reads": ("properties.plan", "properties.account", "channel")}


class TestReadOnlyColumnIsWritten(
    WrongTransform, promise="declaration_names_columns_that_exist", raises=StartupError
):
    changes: ClassVar[Mapping[str, Any]] = {"writes": ("ip",)}


class TestTestAccountsAreKept(WrongTransform, promise="samples_have_the_results_they_name"):
    def function(self, columns):
        result = right_function(columns)
        return None if isinstance(result, DroppedEvent) else result


class TestUndeclaredColumnIsWritten(WrongTransform, promise="any_value_has_a_declared_result_in_time"):
    def function(self, columns):
        result = right_function(columns)
        return result or ChangedColumns({"properties.checked": True})


class TestNumberIsAnError(WrongTransform, promise="any_value_has_a_declared_result_in_time"):
    def function(self, columns):
        return ChangedColumns({"properties.plan": columns["properties.plan"].lower()})


class TestReasonIsASentence(WrongTransform, promise="any_value_has_a_declared_result_in_time"):
    def function(self, columns):
        result = right_function(columns)
        return DroppedEvent("It is a test.") if isinstance(result, DroppedEvent) else result


class TestPatternBacktracksForEver(WrongTransform, promise="any_value_has_a_declared_result_in_time"):
    def function(self, columns):
        re.match(r"(a+)+$", f"{columns['properties.plan']}!")
        return right_function(columns)


class TestResultIsASet(WrongTransform, promise="any_value_has_a_declared_result_in_time"):
    def function(self, columns):
        return right_function(columns) or ChangedColumns({"properties.plan": {1}})


class TestEverySecondEventIsDropped(WrongTransform, promise="function_is_pure"):
    calls = 0

    def function(self, columns):
        self.calls += 1
        return DroppedEvent("sampled") if self.calls % 2 else right_function(columns)


class TestResultIsRandom(WrongTransform, promise="function_is_pure"):
    def function(self, columns):
        return ChangedColumns({"properties.plan": random.random()})


class TestColumnsAreChangedInPlace(WrongTransform, promise="function_is_pure"):
    def function(self, columns):
        if isinstance(columns["properties.plan"], list):
            columns["properties.plan"].append("seen")
        return right_function(columns)


class TestResultDependsOnEarlierEvents(WrongTransform, promise="batch_has_the_results_of_its_events_alone"):
    def build_function(self):
        plans = []

        def use_the_first_plan(columns):
            plans.append(columns["properties.plan"])
            return ChangedColumns({"properties.plan": plans[0]})

        return use_the_first_plan


class TestTableIsReadForEachEvent(WrongTransform, promise="function_reads_no_file_and_calls_nobody"):
    def function(self, columns):
        with tempfile.TemporaryFile():
            return right_function(columns)


class TestFunctionWaitsForAServer(
    WrongTransform, promise="function_reads_no_file_and_calls_nobody", raises=OSError
):
    def function(self, columns):
        socket.getaddrinfo("127.0.0.1", 1)
        return right_function(columns)
