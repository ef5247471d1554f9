"""The consumer: moves accepted events from the queue into the event store, batch by batch."""

import asyncio
import logging
from collections.abc import Callable
from typing import Final
from uuid import UUID

import orjson

from hosts.composition.ports import Ports
from hosts.composition.postbacks import matching_of
from hosts.monitoring import canary
from hosts.waiting import waited
from service_core.access.model import Workspace
from service_core.access.workspaces import Workspaces
from service_core.intake.classify import Classifier
from service_core.intake.enrich import Enricher
from service_core.intake.pipeline import Pipeline
from service_core.intake.transport import AgentTokens
from service_core.kernel.settings import IngestSettings

GATHER_SECONDS: Final = 0.2
"""Rest after the queue was found empty: what arrives meanwhile shares one append."""

FIRST_PAUSE_SECONDS: Final = 0.1
LONGEST_PAUSE_SECONDS: Final = 5.0

_log = logging.getLogger("touchpoint.consumer")


def pipeline_of(ports: Ports, settings: IngestSettings) -> Pipeline:
    """The pipeline over the ports of a deployment."""
    enricher = Enricher(
        ports.devices,
        ports.geo,
        Classifier(ports.domains),
        AgentTokens(mobile=settings.mobile_sdks, server=settings.server_sdks),
    )
    known = Workspaces(ports.workspace)

    async def find(workspace_id: UUID) -> Workspace | None:
        return canary.WORKSPACE if workspace_id == canary.WORKSPACE.id else await known.find(workspace_id)

    matching = matching_of(ports)
    return Pipeline(
        ports.queue,
        ports.events,
        find,
        enricher,
        orjson.loads,
        links=ports.workspace,
        triggered=matching.match if matching else None,
    )


async def consume(pipeline: Pipeline, stop: asyncio.Event) -> None:
    """Move batches until ``stop`` is set; the batch in hand is finished.

    A failing store is tried again, each time after a longer pause: nothing leaves the queue before
    it is durable, so nothing is lost by waiting. Where it failed is told once; that it still does, with
    every try.
    """
    pause = FIRST_PAUSE_SECONDS
    while not stop.is_set():
        try:
            moved = await pipeline.drain_once()
        except Exception as fault:  # noqa: BLE001 - whatever the store raised, the next try may succeed
            _log.error(
                "batch not stored; it stays in the queue",
                exc_info=fault if pause == FIRST_PAUSE_SECONDS else None,
                extra={"fault": type(fault).__name__, "pause": pause},
            )
            await waited(stop, pause)
            pause = min(2 * pause, LONGEST_PAUSE_SECONDS)
            continue
        pause = FIRST_PAUSE_SECONDS
        if moved == 0:
            await waited(stop, GATHER_SECONDS)


async def drain(pipeline: Pipeline, moved: Callable[[int], None]) -> None:
    """Empty the queue; ``moved`` is told the size of each batch.

    Raises:
        Exception: whatever the store raised; what was not stored stays in the queue.
    """
    while count := await pipeline.drain_once():
        moved(count)
