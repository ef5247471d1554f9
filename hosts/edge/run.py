"""The link host over the ports of a deployment."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

from hosts.composition.ports import Ports, running
from hosts.edge.app import ClientOf, LinkDoor
from hosts.edge.associations import associations
from hosts.edge.recording import Recorder
from service_core.kernel.settings import Settings
from service_core.workspace.links.clicks import ClickEnricher
from service_core.workspace.links.domains.resource import is_link_host
from service_core.workspace.links.edge import LinkTable, SharedMap
from service_core.workspace.links.resource import domain_of


@asynccontextmanager
async def link_door(settings: Settings, ports: Ports, client: ClientOf) -> AsyncIterator[LinkDoor | None]:
    """What the link host stands on while it serves; None in a deployment without a link domain.

    Args:
        settings: the deployment.
        ports: its ports, the workspace store running.
        client: finds the client's address.
    """
    domain = domain_of(settings)
    if domain is None:
        yield None
        return
    async with running([ports.edge, ports.geo, ports.devices]):
        await asyncio.to_thread(ports.devices.describe, "Mozilla/5.0")  # what it loads, no click waits for
        recorder = Recorder(ports.workspace)
        try:
            yield LinkDoor(
                host=domain.host,
                claimed=partial(is_link_host, ports.workspace),
                routes=SharedMap(LinkTable(ports.workspace), ports.edge),
                enricher=ClickEnricher(ports.devices, ports.geo),
                recorder=recorder,
                clock=ports.clock,
                client=client,
                files=associations(settings.links),
            )
        finally:
            await recorder.aclose()
