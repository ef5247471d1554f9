"""Which processes a deployment may be split into, by what its stores allow."""

from dataclasses import replace

import pytest

from hosts.composition.compose import load_installed_registry_once
from hosts.roles.models import Role, require_shareable_stores
from hosts.roles.supervise import count_processes_by_role
from service_core.extensions.adapters import Adapter
from service_core.kernel.errors import StartupError
from service_core.kernel.settings import Settings


@pytest.fixture(scope="module")
def registry():
    """What is installed, and beside it a server for each port."""
    names = {"workspace": "base", "queue": "stream", "events": "lake", "limits": "counter"}
    servers = {(port, scheme): Adapter(port, scheme, lambda _: None) for port, scheme in names.items()}
    found = load_installed_registry_once()
    return replace(found, adapters={**found.adapters, **servers})


def make_settings(**urls):
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
def test_embedded_event_store_allows_only_ingest_as_separate_role(role):
    if role is Role.INGEST:
        require_shareable_stores(Settings(), load_installed_registry_once(), {role: 4})
        return
    with pytest.raises(StartupError, match=r"storage\.events names duckdb://, which belongs to one process"):
        require_shareable_stores(Settings(), load_installed_registry_once(), {role: 1})


@pytest.mark.parametrize("role", Role)
def test_every_role_can_run_on_shared_stores(role, registry):
    assert require_shareable_stores(make_settings(), registry, {role: 3}) is None


def test_memory_limits_allow_one_api_process(registry):
    in_memory = make_settings(rate_limits_store="memory://")
    require_shareable_stores(in_memory, registry, count_processes_by_role(None, 1))
    with pytest.raises(StartupError, match=r"rate_limits\.store names memory://.*redis://localhost"):
        require_shareable_stores(in_memory, registry, count_processes_by_role(None, 2))


def test_multiple_workers_have_one_consumer_and_one_scheduler():
    assert count_processes_by_role(None, 3) == {
        Role.INGEST: 3,
        Role.API: 3,
        Role.CONSUMER: 1,
        Role.SCHEDULER: 1,
    }
    assert count_processes_by_role(Role.API, 2) == {Role.API: 2}


@pytest.mark.parametrize("role", [Role.CONSUMER, Role.SCHEDULER])
def test_role_that_runs_once_takes_no_number_of_workers(role):
    with pytest.raises(StartupError, match="without --workers"):
        count_processes_by_role(role, 2)
