"""Builds the export worker of a deployment, and maintains its jobs."""

from collections.abc import Sequence
from typing import Final

from hosts.composition.ports import Ports
from service_core.delivery.exports.export_rows import ExportRows
from service_core.delivery.exports.export_worker import ExportWorker
from service_core.delivery.exports.export_writer import ExportWriter
from service_core.delivery.exports.models import ExportFormat
from service_core.delivery.exports.table import ExportColumn, Renderer

MAINTENANCE_SECONDS: Final = 30
"""Interval of ending expired exports and of waking workers for jobs that a queue lost."""


def build_export_worker(ports: Ports) -> ExportWorker:
    """Returns the export worker of a deployment."""
    rows = ports.build_from_adapters(
        ExportRows,
        aggregates=ports.money_reader,
        paths=ports.events,
        models=ports.registry.models,
        catalog=ports.registry.catalog,
    )
    writer = ports.build_from_adapters(ExportWriter, export_rows=rows, render=_create_renderer)
    return ports.build_from_adapters(ExportWorker, writer=writer)


async def maintain_exports(exporter: ExportWorker, ports: Ports) -> None:
    """Ends what has expired, and wakes workers for waiting jobs."""
    await exporter.expire_due_exports()
    await exporter.wake_workers_for_available_exports(ports.jobs)


def _create_renderer(form: ExportFormat, columns: Sequence[ExportColumn]) -> Renderer:
    """Returns the renderer of a format; the data frame library is loaded with the first file."""
    from hosts.worker.export_formats import create_renderer  # noqa: PLC0415 - see above

    return create_renderer(form, columns)
