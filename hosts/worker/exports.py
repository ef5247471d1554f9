"""Export jobs of a deployment: put together from its ports, and kept going by two periodic tasks."""

from collections.abc import Sequence
from typing import Final

from hosts.composition.ports import Ports
from service_core.access.workspace_cache import WorkspaceCache
from service_core.delivery.exports.export_rows import ExportRows
from service_core.delivery.exports.export_worker import ExportWorker
from service_core.delivery.exports.export_writer import ExportWriter
from service_core.delivery.exports.models import ExportFormat
from service_core.delivery.exports.table import ExportColumn, Renderer
from service_core.extensions.registry import Registry

MAINTENANCE_SECONDS: Final = 30
"""How often is looked for what time ended, and for jobs a queue forgot."""


def build_exporter(ports: Ports, registry: Registry) -> ExportWorker:
    """The exporter over the ports of a deployment."""
    contents = ExportRows(ports.events, ports.ledger, ports.rated, ports.events, registry.models, ports.queue)
    writer = ExportWriter(ports.sink, WorkspaceCache(ports.workspace), contents, _create_renderer)
    return ExportWorker(ports.workspace, ports.sink, writer, ports.clock)


async def maintain_exports(exporter: ExportWorker, ports: Ports) -> None:
    """One round of upkeep: end what time ended, wake workers for what is free."""
    await exporter.expire_due()
    await exporter.wake_workers(ports.jobs)


def _create_renderer(form: ExportFormat, columns: Sequence[ExportColumn]) -> Renderer:
    """The renderer of a format; the data frame library loads with the first file."""
    from hosts.worker.export_formats import create_renderer  # noqa: PLC0415 - see above

    return create_renderer(form, columns)
