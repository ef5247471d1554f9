"""Which processes a deployment may be split into, by what its stores allow."""

from dataclasses import replace

import pytest

from hosts.composition.compose import installed
from hosts.roles.model import Role, check
from hosts.roles.supervise import processes_of
from service_core.extension.adapters import Adapter
from service_core.kernel.errors import StartupError
from service_core.kernel.settings import Settings


@pytest.fixture(scope="module")
def registry():
    """What is installed, and beside it a server for each port."""
    names = {"workspace": "base", "queue": "stream", "events": "lake", "limits": "counter"}
    servers = {(port, scheme): Adapter(port, scheme, lambda _: None) for port, scheme in names.items()}
    found = installed()
    return replace(found, adapters={**found.adapters, **servers})


def settings(**urls):
    shared = {
        "storage": {"workspace": "base://h", "events": "lake://h"},
        "ingest": {"queue": "stream://h"},
        "limits": {"store": "counter://h"},
    }
    for name, url in urls.items():
        section, _, key = name.partition("_")
        shared[section][key] = url
    return Settings(**shared)


@pytest.mark.parametrize("role", Role)
def test_one_process_owns_the_embedded_event_store_so_only_ingest_runs_apart(role):
    if role is Role.INGEST:
        check(Settings(), installed(), {role: 4})
        return
    with pytest.raises(StartupError, match=r"storage\.events names duckdb://, which belongs to one process"):
        check(Settings(), installed(), {role: 1})


@pytest.mark.parametrize("role", Role)
def test_every_role_runs_on_stores_that_processes_share(role, registry):
    check(settings(), registry, {role: 3})


def test_budgets_counted_in_memory_serve_one_process_of_the_api(registry):
    in_memory = settings(limits_store="memory://")
    check(in_memory, registry, processes_of(None, 1))
    with pytest.raises(StartupError, match=r"limits\.store names memory://.*redis://localhost"):
        check(in_memory, registry, processes_of(None, 2))


def test_several_workers_are_api_and_ingest_processes_with_one_consumer_and_one_scheduler():
    assert processes_of(None, 3) == {Role.INGEST: 3, Role.API: 3, Role.CONSUMER: 1, Role.SCHEDULER: 1}
    assert processes_of(Role.API, 2) == {Role.API: 2}


@pytest.mark.parametrize("role", [Role.CONSUMER, Role.SCHEDULER])
def test_a_role_that_runs_once_takes_no_number_of_workers(role):
    with pytest.raises(StartupError, match="without --workers"):
        processes_of(role, 2)
