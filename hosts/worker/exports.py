"""Export jobs of a deployment: put together from its ports, and kept going by two periodic tasks."""

from collections.abc import Sequence
from typing import Final

from hosts.composition.ports import Ports
from service_core.access.workspaces import Workspaces
from service_core.delivery.exports.contents import Contents
from service_core.delivery.exports.model import Format
from service_core.delivery.exports.run import Exporter
from service_core.delivery.exports.table import Column, Renderer
from service_core.delivery.exports.write import ExportWriter
from service_core.extension.registry import Registry

KEEP_SECONDS: Final = 30
"""How often is looked for what time ended, and for jobs a queue forgot."""


def exporter_of(ports: Ports, registry: Registry) -> Exporter:
    """The exporter over the ports of a deployment."""
    contents = Contents(ports.events, ports.ledger, ports.rated, ports.events, registry.models, ports.queue)
    writer = ExportWriter(ports.sink, Workspaces(ports.workspace), contents, _renderer)
    return Exporter(ports.workspace, ports.sink, writer, ports.clock)


async def keep(exporter: Exporter, ports: Ports) -> None:
    """One round of upkeep: end what time ended, wake workers for what is free."""
    await exporter.sweep()
    await exporter.rouse(ports.jobs)


def _renderer(form: Format, columns: Sequence[Column]) -> Renderer:
    """The renderer of a format; the data frame library loads with the first file."""
    from hosts.worker.sheets import renderer  # noqa: PLC0415 - see above

    return renderer(form, columns)
