"""A deployment in a folder, its ingest host as a real process, and how hard to try."""

import os
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest

from hosts.composition.compose import load_installed_registry_once
from hosts.composition.load_settings import load_settings_with_environment
from hosts.composition.ports import Ports, start_adapters
from hosts.ingest.ingest_process import IngestProcess
from plugins.ingest_spool.adapter import SpoolQueue
from plugins.ingest_spool.settings import SpoolSettings
from service_core.access.api_keys import create_workspace_with_keys
from service_core.access.models import Workspace
from service_core.kernel.clock import system_clock

FULL = os.environ.get("TOUCHPOINT_FAULTS") == "full"


@pytest.fixture(scope="session")
def is_full_run() -> bool:
    """Whether to try as hard as before a release: ``TOUCHPOINT_FAULTS=full``."""
    return FULL


@dataclass
class Deployment:
    """A settings file, and workspaces with their write keys."""

    config: Path
    workspaces: list[Workspace]
    keys: list[str]

    @asynccontextmanager
    async def ingest(self, **options):
        """The ingest host as a process of its own, on a free port."""
        child = await IngestProcess.start_and_wait_until_listening(
            self.config, **{"listen": "127.0.0.1:0"} | options
        )
        try:
            yield child
        finally:
            await child.terminate_or_kill_after_timeout()

    @asynccontextmanager
    async def spool(self):
        """The queue, as another process sees it."""
        queue = SpoolQueue(SpoolSettings(url="spool:///spool.db", path=self.config.parent / "spool.db"))
        await queue.start()
        try:
            yield queue
        finally:
            await queue.aclose()

    async def kept(self) -> list[str]:
        """Event ids in the queue, repeats included."""
        async with self.spool() as queue:
            return [queued.arrival.event_id for queued in await queue.take(10_000_000)]


@pytest.fixture
async def deployment(tmp_path) -> Deployment:
    config = tmp_path / "touchpoint.toml"
    config.write_text("")
    ports = Ports(
        load_settings_with_environment(config), tmp_path, load_installed_registry_once(), system_clock
    )
    async with start_adapters([ports.workspace]):
        initialized_deployment = [
            await create_workspace_with_keys(ports.workspace.credentials, datetime.now(UTC), name=f"W{n}")
            for n in range(4)
        ]
    return Deployment(
        config,
        [f.workspace for f in initialized_deployment],
        [f.write_key.secret for f in initialized_deployment],
    )
