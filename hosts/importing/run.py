"""One import from file to event store: where it goes, where it stopped, how far it is."""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final

from hosts.composition.compose import installed
from hosts.composition.load import folder_of, load_settings
from hosts.composition.ports import Ports, running
from hosts.importing.bookmark import Bookmark
from hosts.importing.entries import Entry
from hosts.importing.offering import Importer
from hosts.importing.shifting import shift_to
from hosts.ingest.faults import reason_of
from hosts.ownership import consumer_of
from hosts.worker.consumer import drain, pipeline_of
from service_core.access.model import Credential, CredentialKind
from service_core.access.ports import Directory
from service_core.intake.ports import IngestQueue, QueueFailed
from service_core.kernel.clock import system_clock
from service_core.kernel.errors import StartupError
from service_core.kernel.settings import IngestSettings

POLL_SECONDS: Final = 0.1


@dataclass(frozen=True, slots=True)
class Task:
    """What to import.

    Attributes:
        config: settings file of the deployment.
        digest: name of the file's content.
        entries: reads the file from its start; called once more to find the newest timestamp.
        shift_to_now: move the newest event to now.
        workspace: public id; None when there is only one.
    """

    config: Path
    digest: str
    entries: Callable[[], Iterable[Entry]]
    shift_to_now: bool = False
    workspace: str | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of the entries.

    Attributes:
        counts: entries by outcome.
        before: how many an earlier run had brought in already.
        retimed: accepted ones that take the time of their receipt.
    """

    counts: Counter[str]
    before: int
    retimed: int


async def bring_in(task: Task, progress: Callable[[int], None], storing: Callable[[int], None]) -> Outcome:
    """Offer every entry that is not in yet, then see the queue empty.

    When `touchpoint serve` runs, its consumer stores the events; otherwise this does.

    Args:
        task: what to import.
        progress: told the bytes of each lot once it is durable.
        storing: told how many events wait to be stored.

    Raises:
        StartupError: the deployment cannot be used, or the queue takes no more.
    """
    folder = folder_of(task.config)
    settings = load_settings(task.config)
    ports = Ports(settings, folder, installed(), system_clock)
    async with running([ports.workspace, ports.queue]):
        key = await write_key(ports.workspace, task.workspace)
        bookmark = Bookmark(folder, f"{task.digest}:{key.workspace_id}")
        shift = shift_to(system_clock(), task.entries()) if task.shift_to_now else None
        importer = Importer(ports.queue, key, system_clock, shift)
        before = bookmark.done
        remaining = iter(task.entries())
        progress(sum(entry.size for entry in islice(remaining, before)))

        def after_lot(lot: list[Entry]) -> None:
            bookmark.advance(len(lot))
            progress(sum(entry.size for entry in lot))

        try:
            await importer.run(remaining, after_lot)
        except QueueFailed as failure:
            raise StartupError(
                f"The queue takes no more events: {reason_of(failure)}. What came before is kept; run the command again "
                "once that is mended."
            ) from failure
        await _see_stored(ports, settings.ingest, folder, storing)
        return Outcome(importer.outcomes, before, importer.retimed)


async def write_key(directory: Directory, public_id: str | None) -> Credential:
    """The live write key an import goes under.

    Raises:
        StartupError: no workspace, several without a choice, or one without a write key.
    """
    workspaces = [w for w in await directory.workspaces() if public_id in {None, w.public_id}]
    if len(workspaces) != 1:
        raise StartupError("Name one workspace with --workspace; `touchpoint key list` shows them.")
    for credential in await directory.keys(workspaces[0].id):
        if credential.kind is CredentialKind.WRITE and credential.revoked_at is None:
            return credential
    raise StartupError(f"{workspaces[0].name} has no write key. `touchpoint key regenerate write` makes one.")


async def _see_stored(
    ports: Ports, settings: IngestSettings, folder: Path, storing: Callable[[int], None]
) -> None:
    """Store what waits, or watch the running service store it."""
    with consumer_of(folder) as consuming:
        if not consuming:
            await _watch(ports.queue, storing)
            return
        async with running([ports.events, ports.devices, ports.geo, ports.domains]):
            waiting = (await ports.queue.state()).waiting
            storing(waiting)

            def moved(count: int) -> None:
                nonlocal waiting
                waiting -= count
                storing(waiting)

            await drain(pipeline_of(ports, settings), moved)


async def _watch(queue: IngestQueue, storing: Callable[[int], None]) -> None:
    while waiting := (await queue.state()).waiting:
        storing(waiting)
        await asyncio.sleep(POLL_SECONDS)
    storing(0)
