"""What each role is made of can be built: a component that asks for what nothing provides stops the start."""

import asyncio
from datetime import UTC, datetime

import pytest

from hosts.composition.compose import compose, load_installed_registry_once
from hosts.composition.ports import Ports
from hosts.composition.providers import build_ad_sync, build_pollable_provider_sync
from hosts.ingest.run import create_ingest_host_app
from hosts.roles import tasks
from hosts.roles.api_app import create_api_host_app
from hosts.roles.models import Role
from hosts.worker.exports import build_export_worker
from hosts.worker.imports import build_import_worker
from service_core.kernel.settings import Settings


def now():
    return datetime(2026, 7, 8, 15, 0, tzinfo=UTC)


def build_api(ports, settings):
    return [create_api_host_app(compose(settings, ports.folder, registry=ports.registry, clock=now))]


def build_worker(ports, _):
    return [build_export_worker(ports), build_import_worker(ports)]


def build_consumer(ports, settings):
    consuming = tasks.consume_task(ports, settings, asyncio.Event())
    consuming.close()
    return [consuming]


def build_scheduler(ports, settings):
    stop, exporter = asyncio.Event(), build_export_worker(ports)
    syncs = (build_ad_sync(ports, settings), build_pollable_provider_sync(ports, settings))
    running = [
        *tasks.scheduled_tasks(ports, exporter, syncs, stop),
        tasks.quarantine_cleanup_task(ports, settings.ingest, stop),
        tasks.notification_task(ports, settings, stop),
        *tasks.postback_tasks(ports, settings.postbacks, stop),
        *tasks.lake_tasks(ports, settings.lake, stop),
    ]
    for work in running:
        work.close()
    return [*running, tasks.build_usage_alerts(ports), tasks.build_domain_verification(ports)]


BUILDERS = {
    Role.API: build_api,
    Role.INGEST: lambda ports, settings: [create_ingest_host_app(settings, ports)],
    Role.CONSUMER: build_consumer,
    Role.WORKER: build_worker,
    Role.SCHEDULER: build_scheduler,
}


@pytest.mark.parametrize("role", Role)
async def test_components_of_a_role_are_built(role, tmp_path):
    settings = Settings.model_validate(
        {"storage": {"events": "memory://"}, "lake": {"storage": "local:///lake"}}
    )
    built = BUILDERS[role](Ports(settings, tmp_path, load_installed_registry_once(), now), settings)
    assert built
    assert None not in built
