"""The consumer: moves events from the queue to the event store in batches."""

import asyncio
import logging
from collections.abc import Callable
from typing import Final
from uuid import UUID

import orjson

from hosts.composition.ports import Ports
from hosts.composition.providers import build_message_store, build_rule_trigger
from hosts.monitoring import canary
from hosts.shutdown_sleep import sleep_unless_stopped
from service_core.access.models import Workspace
from service_core.access.workspace_cache import WorkspaceCache
from service_core.analytics.event_rules.revenue_events import is_revenue_event
from service_core.analytics.scope import own_conversions_or_builtin_with_triggers
from service_core.commerce.providers.unverified_messages import UnverifiedMessages
from service_core.ingestion.enrichment import Enricher
from service_core.ingestion.event_source import SdkUserAgents
from service_core.ingestion.models import UNVERIFIED_HEADER, ReceivedEvent
from service_core.ingestion.pipeline import IngestPipeline
from service_core.ingestion.traffic_classification import TrafficClassifier
from service_core.kernel.settings import Settings

BATCH_WAIT_SECONDS: Final = 0.2
"""Rest after the queue was found empty: what arrives meanwhile shares one append."""

INITIAL_BACKOFF_SECONDS: Final = 0.1
MAX_BACKOFF_SECONDS: Final = 5.0

_log = logging.getLogger("touchpoint.consumer")


def is_paid_event_of_workspace(event_name: str, workspace: Workspace) -> bool:
    """Returns whether the amount of an event of this name is revenue of the workspace."""
    return is_revenue_event(event_name, own_conversions_or_builtin_with_triggers(workspace.rules))


def build_ingest_pipeline(ports: Ports, settings: Settings) -> IngestPipeline:
    """Returns the ingest pipeline over the ports of a deployment."""
    enricher = Enricher(
        ports.devices,
        ports.geo,
        TrafficClassifier(ports.domains),
        SdkUserAgents(mobile=settings.ingest.mobile_sdks, server=settings.ingest.server_sdks),
    )
    known = WorkspaceCache(ports.workspace.credentials)

    async def find_canary_or_workspace(workspace_id: UUID) -> Workspace | None:
        return (
            canary.CANARY_WORKSPACE
            if workspace_id == canary.CANARY_WORKSPACE.id
            else await known.find_by_id(workspace_id)
        )

    matching, messages = build_rule_trigger(ports, settings.postbacks), build_message_store(ports, settings)
    revenue_providers = ports.registry.revenue_providers

    unverified = ports.build_from_adapters(UnverifiedMessages)

    async def map_kept_message(arrival: ReceivedEvent) -> ReceivedEvent | None:
        if UNVERIFIED_HEADER in arrival.headers:
            arrival = await unverified.verify(arrival, revenue_providers)
            if UNVERIFIED_HEADER in arrival.headers:
                return arrival
        return await messages.map_kept_message_again(arrival, revenue_providers)

    return IngestPipeline(
        ports.queue,
        ports.events,
        find_canary_or_workspace,
        enricher,
        orjson.loads,
        links=ports.workspace.links,
        on_stored=matching.enqueue_postbacks if matching else None,
        external_id_events={
            name: event
            for provider in revenue_providers.values()
            for name, event in provider.info.external_id_events.items()
        },
        map_kept_message=map_kept_message,
        is_paid_event=is_paid_event_of_workspace,
        data_version=ports.workspace.credentials.change_version,
    )


async def consume_queue_until_stopped(pipeline: IngestPipeline, stop: asyncio.Event) -> None:
    """Moves batches until ``stop`` is set; the batch under way is finished.

    A failing store is tried again, each time after a longer pause: nothing leaves the queue before
    it is durable, so nothing is lost by waiting. The first failure is logged with its stack trace, each
    further one in a line.
    """
    pause = INITIAL_BACKOFF_SECONDS
    while not stop.is_set():
        try:
            moved = await pipeline.process_batch()
        except Exception as fault:  # noqa: BLE001 - whatever the store raised, the next try may succeed
            _log.error(
                "batch not stored; it stays in the queue",
                exc_info=fault if pause == INITIAL_BACKOFF_SECONDS else None,
                extra={"fault": type(fault).__name__, "pause": pause},
            )
            await sleep_unless_stopped(stop, pause)
            pause = min(2 * pause, MAX_BACKOFF_SECONDS)
            continue
        pause = INITIAL_BACKOFF_SECONDS
        if moved == 0:
            await sleep_unless_stopped(stop, BATCH_WAIT_SECONDS)


async def process_batches_until_queue_is_empty(
    pipeline: IngestPipeline, on_batch: Callable[[int], None]
) -> None:
    """Moves batches until the queue is empty; ``on_batch`` gets the size of each.

    Raises:
        Exception: whatever the store raised; what was not stored stays in the queue.
    """
    while count := await pipeline.process_batch():
        on_batch(count)
