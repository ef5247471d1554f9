"""Builds the import worker of a deployment, and maintains its jobs."""

from collections.abc import Mapping
from typing import Any

from hosts.composition.ports import Ports
from service_core.delivery.imports.import_worker import ImportWorker
from service_core.delivery.imports.models import ImportJob
from service_core.delivery.imports.ports import ImportFileReader, SaveProgress
from service_core.kernel.file_response import ByteStreamOpener


class _LazyUploadedFiles:
    """The reader of uploaded files; its data frame library is loaded with the first file."""

    def __init__(self, ports: Ports) -> None:
        self._ports = ports

    async def check_file(
        self, job: ImportJob, open_file: ByteStreamOpener, save: SaveProgress
    ) -> Mapping[str, Any]:
        return await self._create_reader().check_file(job, open_file, save)

    async def import_file(self, job: ImportJob, open_file: ByteStreamOpener, save: SaveProgress) -> None:
        await self._create_reader().import_file(job, open_file, save)

    def _create_reader(self) -> ImportFileReader:
        from hosts.worker.import_files import UploadedFiles  # noqa: PLC0415 - see above

        return UploadedFiles(
            self._ports.queue,
            self._ports.workspace.credentials,
            self._ports.clock,
            self._ports.registry.import_sources,
        )


def build_import_worker(ports: Ports) -> ImportWorker:
    """Returns the import worker of a deployment."""
    return ImportWorker(ports.workspace.imports, ports.export_storage, _LazyUploadedFiles(ports), ports.clock)


async def maintain_imports(importer: ImportWorker, ports: Ports) -> None:
    """Ends what has timed out, and wakes workers for waiting jobs."""
    await importer.end_timed_out_imports()
    await importer.wake_workers_for_available_imports(ports.jobs)
