"""Which processes a deployment may be split into, by what its stores allow."""

from dataclasses import replace

import pytest

from hosts.composition.compose import load_installed_registry
from hosts.roles.models import Role, check_store_sharing
from hosts.roles.supervise import process_counts
from service_core.extensions.adapters import Adapter
from service_core.kernel.errors import StartupError
from service_core.kernel.settings import Settings


@pytest.fixture(scope="module")
def registry():
    """What is installed, and beside it a server for each port."""
    names = {"workspace": "base", "queue": "stream", "events": "lake", "limits": "counter"}
    servers = {(port, scheme): Adapter(port, scheme, lambda _: None) for port, scheme in names.items()}
    found = load_installed_registry()
    return replace(found, adapters={**found.adapters, **servers})


def settings(**urls):
    shared = {
        "storage": {"workspace": "base://h", "events": "lake://h"},
        "ingest": {"queue": "stream://h"},
        "rate_limits": {"store": "counter://h"},
    }
    for name, url in urls.items():
        section, _, key = name.rpartition("_")
        shared[section][key] = url
    return Settings(**shared)


@pytest.mark.parametrize("role", Role)
def test_one_process_owns_the_embedded_event_store_so_only_ingest_runs_apart(role):
    if role is Role.INGEST:
        check_store_sharing(Settings(), load_installed_registry(), {role: 4})
        return
    with pytest.raises(StartupError, match=r"storage\.events names duckdb://, which belongs to one process"):
        check_store_sharing(Settings(), load_installed_registry(), {role: 1})


@pytest.mark.parametrize("role", Role)
def test_every_role_runs_on_stores_that_processes_share(role, registry):
    check_store_sharing(settings(), registry, {role: 3})


def test_budgets_counted_in_memory_serve_one_process_of_the_api(registry):
    in_memory = settings(rate_limits_store="memory://")
    check_store_sharing(in_memory, registry, process_counts(None, 1))
    with pytest.raises(StartupError, match=r"rate_limits\.store names memory://.*redis://localhost"):
        check_store_sharing(in_memory, registry, process_counts(None, 2))


def test_several_workers_are_api_and_ingest_processes_with_one_consumer_and_one_scheduler():
    assert process_counts(None, 3) == {Role.INGEST: 3, Role.API: 3, Role.CONSUMER: 1, Role.SCHEDULER: 1}
    assert process_counts(Role.API, 2) == {Role.API: 2}


@pytest.mark.parametrize("role", [Role.CONSUMER, Role.SCHEDULER])
def test_a_role_that_runs_once_takes_no_number_of_workers(role):
    with pytest.raises(StartupError, match="without --workers"):
        process_counts(role, 2)
