"""Runs one import from file to event store."""

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Final
from uuid import UUID

from hosts.composition.compose import load_registry_of_deployment
from hosts.composition.load_settings import load_settings_with_environment, settings_folder
from hosts.composition.ports import Ports, start_adapters
from hosts.consumer_lock import try_consumer_lock
from hosts.data_import.checkpoint import ImportCheckpoint
from hosts.data_import.enqueue import EventImporter
from hosts.data_import.time_shift import shift_that_moves_newest_to
from hosts.ingest.error_answers import describe_queue_failure_root_cause
from hosts.worker.consumer import build_ingest_pipeline, process_batches_until_queue_is_empty
from hosts.worker.import_record import ImportedFile, ImportRecord
from service_core.access.models import Credential, CredentialKind
from service_core.access.ports import CredentialStore
from service_core.delivery.imports.models import ImportJob
from service_core.ingestion.import_sources.models import ImportEntry
from service_core.ingestion.ports import EnqueueFailed, IngestQueue
from service_core.kernel.clock import system_clock
from service_core.kernel.errors import StartupError
from service_core.kernel.settings import Settings

POLL_SECONDS: Final = 0.1


@dataclass(frozen=True, slots=True)
class ImportTask:
    """The options of an import.

    Attributes:
        config: settings file of the deployment.
        file: the file, as the import job names it.
        entries: reads the file from its start; called once more to find the newest timestamp.
        shift_to_now: move the newest event to now.
        workspace: public id; None when there is only one.
    """

    config: Path
    file: ImportedFile
    entries: Callable[[], Iterable[ImportEntry]]
    shift_to_now: bool = False
    workspace: str | None = None


@dataclass(frozen=True, slots=True)
class ImportResult:
    """The result of an import.

    Attributes:
        counts: entries by outcome.
        previously_imported: how many an earlier run had brought in already.
        received_now: accepted ones that take the time of their receipt.
        job: the import job, with its reconciliation sheet.
    """

    counts: Counter[str]
    previously_imported: int
    received_now: int
    job: ImportJob


async def resume_import_and_wait_until_stored(
    task: ImportTask, on_bytes_read: Callable[[int], None], on_waiting: Callable[[int], None]
) -> ImportResult:
    """Enqueues every entry that is not imported yet, and waits until the queue is empty.

    When `touchpoint serve` runs, its consumer stores the events; otherwise this does, while it still reads the file.

    Args:
        task: what to import.
        on_bytes_read: called with the bytes of each chunk once it is durable.
        on_waiting: called with the number of events that wait to be stored.

    Raises:
        StartupError: the deployment cannot be used, or the queue takes no more.
    """
    folder = settings_folder(task.config)
    settings = load_settings_with_environment(task.config)
    ports = Ports(settings, folder, load_registry_of_deployment(settings, folder), system_clock)
    async with start_adapters([ports.workspace, ports.queue]):
        key = await find_active_write_key(ports.workspace.credentials, task.workspace)
        record = await ImportRecord.open_or_create(ports.workspace.imports, task.file, key, system_clock)
        checkpoint = ImportCheckpoint(folder, record.checkpoint_name())
        before = await record.skip_known_entries(checkpoint)
        shift = shift_that_moves_newest_to(system_clock(), task.entries()) if task.shift_to_now else None
        importer = EventImporter(
            ports.queue, key, system_clock, shift, mark=record.job.mark, sheet=record.job.sheet
        )
        remaining = iter(task.entries())
        on_bytes_read(sum(entry.byte_count for entry in islice(remaining, before)))

        async def save_record_and_checkpoint_after_batch(batch: list[ImportEntry]) -> None:
            read_bytes = sum(entry.byte_count for entry in batch)
            await record.save_batch(importer, len(batch), read_bytes)
            checkpoint.advance_and_save(len(batch))
            on_bytes_read(read_bytes)

        everything_enqueued = asyncio.Event()
        storing = asyncio.create_task(
            _store_queued_or_wait_for_running_service(
                ports, settings, folder, on_waiting, everything_enqueued
            )
        )
        try:
            await _enqueue_while_storing(
                importer.enqueue_in_batches(remaining, save_record_and_checkpoint_after_batch), storing
            )
            await record.complete()
        except EnqueueFailed as failure:
            await record.fail("The queue takes no more events.")
            raise StartupError(
                f"The queue takes no more events: {describe_queue_failure_root_cause(failure)}. What came before is kept; run the command again "
                "once that is solved."
            ) from failure
        except StartupError as fault:
            with suppress(StartupError):  # it was cancelled or removed meanwhile
                await record.fail(str(fault))
            raise
        finally:
            everything_enqueued.set()
            await storing
        return ImportResult(importer.outcomes, before, importer.received_now, record.job)


async def find_active_write_key(credential_store: CredentialStore, public_id: str | None) -> Credential:
    """Returns the active write key that an import uses.

    Raises:
        StartupError: no workspace, several without a choice, or one without a write key.
    """
    workspaces = [w for w in await credential_store.list_workspaces() if public_id in {None, w.public_id}]
    if len(workspaces) != 1:
        raise StartupError("Name one workspace with --workspace; `touchpoint key list` shows them.")
    if key := await find_active_write_key_of_workspace(credential_store, workspaces[0].id):
        return key
    raise StartupError(f"{workspaces[0].name} has no write key. `touchpoint key regenerate write` makes one.")


async def find_active_write_key_of_workspace(
    credential_store: CredentialStore, workspace_id: UUID
) -> Credential | None:
    """Returns the active write key of a workspace; None without one."""
    for credential in await credential_store.list_keys(workspace_id):
        if credential.kind is CredentialKind.WRITE and credential.revoked_at is None:
            return credential
    return None


async def _enqueue_while_storing(enqueueing: Coroutine[Any, Any, None], storing: asyncio.Task[None]) -> None:
    """Runs the first; ends early, with the error, if the second one fails meanwhile."""
    reading = asyncio.create_task(enqueueing)
    await asyncio.wait({reading, storing}, return_when=asyncio.FIRST_COMPLETED)
    if not reading.done():
        reading.cancel()
        await asyncio.wait({reading})
        storing.result()
    await reading


async def _store_queued_or_wait_for_running_service(
    ports: Ports,
    settings: Settings,
    folder: Path,
    on_waiting: Callable[[int], None],
    everything_enqueued: asyncio.Event,
) -> None:
    """Stores what is queued, or waits until the running service has stored it, until all is enqueued and stored."""
    with try_consumer_lock(folder) as consuming:
        if not consuming:
            await everything_enqueued.wait()
            await _poll_until_queue_empty(ports.queue, on_waiting)
            return
        events = ports.event_store_in_start_order()
        async with start_adapters([*events, ports.devices, ports.geo, ports.domains]):
            pipeline = build_ingest_pipeline(ports, settings)
            while not everything_enqueued.is_set():
                if not await pipeline.process_batch():
                    with suppress(TimeoutError):
                        await asyncio.wait_for(everything_enqueued.wait(), POLL_SECONDS)
            waiting = (await ports.queue.state()).waiting_count
            on_waiting(waiting)

            def show_remaining(count: int) -> None:
                nonlocal waiting
                waiting -= count
                on_waiting(waiting)

            await process_batches_until_queue_is_empty(pipeline, show_remaining)


async def _poll_until_queue_empty(queue: IngestQueue, on_waiting: Callable[[int], None]) -> None:
    while waiting := (await queue.state()).waiting_count:
        on_waiting(waiting)
        await asyncio.sleep(POLL_SECONDS)
    on_waiting(0)
