"""The consumer: moves events from the queue to the event store in batches."""

import asyncio
import logging
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

import orjson

from hosts.composition.ports import Ports
from hosts.composition.providers import build_message_store, build_rule_trigger
from hosts.composition.transforms import build_event_transforms
from hosts.monitoring import canary, count_transform_if_enabled
from hosts.shutdown_sleep import sleep_unless_stopped
from hosts.worker.plugin_tasks import build_reaction_trigger
from service_core.access.models import Workspace
from service_core.access.workspace_cache import WorkspaceCache
from service_core.analytics.event_rules.revenue_events import is_revenue_event
from service_core.analytics.scope import own_conversions_or_builtin_with_triggers
from service_core.commerce.providers.unverified_messages import UnverifiedMessages
from service_core.delivery.plugin_tasks.event_webhooks import WebhookTrigger
from service_core.delivery.plugin_tasks.queue_tasks import ReactionTrigger
from service_core.delivery.postbacks.rule_trigger import RuleTrigger
from service_core.ingestion.enrichment import Enricher
from service_core.ingestion.event_source import SdkUserAgents
from service_core.ingestion.models import UNVERIFIED_HEADER, ReceivedEvent
from service_core.ingestion.pipeline import IngestPipeline, RuleCandidate
from service_core.ingestion.ports import TransformGap
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
        return canary.CANARY_WORKSPACE if _is_canary(workspace_id) else await known.find_by_id(workspace_id)

    messages = build_message_store(ports, settings)
    reactions = _build_reactions(ports, settings)

    async def record_gaps_of_stored_workspaces(gaps: Collection[TransformGap]) -> None:
        if own := [gap for gap in gaps if not _is_canary(gap.workspace_id)]:
            await ports.workspace.transform_gaps.add_gaps(own)

    webhook_providers = ports.registry.webhook_providers

    unverified = ports.build_from_adapters(UnverifiedMessages)

    async def map_kept_message(arrival: ReceivedEvent) -> ReceivedEvent | None:
        if UNVERIFIED_HEADER in arrival.headers:
            arrival = await unverified.verify_raw_message(arrival, webhook_providers)
            if UNVERIFIED_HEADER in arrival.headers:
                return arrival
        return await messages.map_raw_message_again_and_store_facts(arrival, webhook_providers)

    return IngestPipeline(
        ports.queue,
        ports.events,
        find_canary_or_workspace,
        enricher,
        orjson.loads,
        links=ports.workspace.links,
        on_stored=reactions.queue,
        external_id_events={
            name: event
            for provider in webhook_providers.values()
            for name, event in provider.info.external_id_events.items()
        },
        map_kept_message=map_kept_message,
        is_paid_event=is_paid_event_of_workspace,
        data_version=ports.workspace.credentials.change_version,
        transforms=build_event_transforms(ports.registry, settings.plugins, count_transform_if_enabled),
        reaction_names=reactions.find_event_names,
        on_transform_gaps=record_gaps_of_stored_workspaces,
        clock=ports.clock,
    )


@dataclass(frozen=True, slots=True)
class _Reactions:
    """Everything that stored events set off.

    Attributes:
        rules: queues conversions; None where no plugin sends any.
        plugins: queues reactions of plugins.
        webhooks: queues events for webhooks.
    """

    rules: RuleTrigger | None
    plugins: ReactionTrigger
    webhooks: WebhookTrigger

    async def queue(self, candidates: Sequence[RuleCandidate]) -> None:
        """Puts what stored events set off into the outboxes; repeating it has no effect."""
        if self.rules is not None:
            await self.rules.enqueue_postbacks(candidates)
        of_stored_workspaces = [one for one in candidates if not _is_canary(one.event.workspace_id)]
        await self.plugins.queue_reactions(of_stored_workspaces)
        await self.webhooks.queue_webhooks(of_stored_workspaces)

    async def find_event_names(self, workspace_id: UUID) -> Collection[str]:
        """Returns the names of the events that set off something besides conversion rules."""
        if _is_canary(workspace_id):
            return ()
        return self.plugins.event_names | await self.webhooks.list_event_names(workspace_id)


def _build_reactions(ports: Ports, settings: Settings) -> _Reactions:
    return _Reactions(
        build_rule_trigger(ports, settings.postbacks),
        build_reaction_trigger(ports, settings.plugins),
        ports.build_from_adapters(WebhookTrigger),
    )


def _is_canary(workspace_id: UUID) -> bool:
    """Returns whether a workspace is the reserved one, which is in no store."""
    return workspace_id == canary.CANARY_WORKSPACE.id


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
