"""Servers and databases that any test may ask for, each started only when one does; and how examples are generated."""

import os
import sys

import pytest
from hypothesis import HealthCheck, Phase, settings

from hosts.asgi_runner import freeze_objects_and_raise_gc_threshold

pytest_plugins = [
    "service_core.testing.redis_server",
    "service_core.testing.postgres_server",
    "tests.fixtures.databases",
    "tests.fixtures.recorded_tables",
    "tests.fixtures.s3_server",
    "tests.xdist_scheduling",
]

os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # tests start hundreds of processes: the first one compiles
sys.dont_write_bytecode = False
os.environ["PYTHONFAULTHANDLER"] = "1"  # a process that hangs tells where, see `tests.fixtures.processes`

settings.register_profile(
    "touchpoint",
    # The same examples each time, however busy the machine: a change passes or it does not.
    derandomize=True,
    deadline=None,
    # To explain a failure each line is traced and hundreds of examples are tried: for hours, where one takes seconds.
    phases=set(Phase) - {Phase.explain},
    # An example that writes keeps to records of its own.
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
settings.load_profile("touchpoint")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    """To hypothesis the end of a test's time is an example that fails, and it tries the next: so that ends its process."""
    for item in items:
        if item.get_closest_marker("hypothesis"):
            item.add_marker(pytest.mark.timeout(method="thread"))


def pytest_collection_finish():
    """What is loaded by now stays, as in a service that has started: to look through it took a fifth of the time."""
    freeze_objects_and_raise_gc_threshold()
