"""The tasks of each role over open ports; one process may run all of them."""

import asyncio
import logging
from collections.abc import Coroutine, Iterable, Iterator
from datetime import timedelta
from functools import partial
from typing import Any, Final

from hosts import monitoring
from hosts.backup.tombstones import add_tombstone_beside_backups
from hosts.composition.ports import Ports
from hosts.composition.providers import build_delivery_worker_if_any_sender
from hosts.data_import.file_search import build_personal_import_files
from hosts.worker.consumer import build_ingest_pipeline, consume_queue_until_stopped
from hosts.worker.event_webhooks import build_event_webhook_worker
from hosts.worker.exports import MAINTENANCE_SECONDS, maintain_exports
from hosts.worker.imports import build_import_worker, maintain_imports
from hosts.worker.lake import LAKE_SECONDS, build_lake_writer, write_and_log_due_lakes
from hosts.worker.notifications import NOTIFICATION_SECONDS, build_notifications
from hosts.worker.periodic import run_periodically_until_stopped
from hosts.worker.plugin_tasks import build_plugin_tasks, run_due_until_stopped
from hosts.worker.postbacks import send_due_postbacks_until_stopped
from hosts.worker.reenrichment import run_requested_reenrichments
from hosts.worker.sync_scheduler import sync_due_workspaces_until_stopped
from service_core.changes.change_executor import ChangeExecutor
from service_core.commerce.fx.sync_rates import ExchangeRateSync
from service_core.commerce.sync.connection_sync import ConnectionSync
from service_core.delivery.exports.export_worker import ExportWorker
from service_core.delivery.imports.removal import ImportRemoval
from service_core.kernel.settings import IngestSettings, LakeSettings, PostbacksSettings, Settings
from service_core.privacy.data_ageing import PersonalDataAgeing
from service_core.privacy.erase_person import PersonErasure
from service_core.privacy.models import Erasure
from service_core.workspace.links.domains.models import LINK_DOMAIN_TYPE
from service_core.workspace.links.domains.reverify import DomainReverification
from service_core.workspace.usage_alerts.send_alerts import UsageAlerts

MAINTAIN_SECONDS: Final = 60
CLEANUP_SECONDS: Final = 3600
USAGE_SECONDS: Final = 3600
ERASURE_SECONDS: Final = 10
REENRICHMENT_SECONDS: Final = 5
DOMAIN_CHECK_SECONDS: Final = 3600
RATES_SECONDS: Final = 60
"""Delay of the first read of exchange rates after a start; later reads are hourly."""

_log: Final = logging.getLogger("touchpoint.quarantine")
_privacy_log: Final = logging.getLogger("touchpoint.privacy")

Work = Coroutine[Any, Any, None]
"""A task that ends when its process is told to stop."""


def consume_task(ports: Ports, settings: Settings, stop: asyncio.Event) -> Work:
    """Moves events from the queue into the event store."""
    return consume_queue_until_stopped(build_ingest_pipeline(ports, settings), stop)


def scheduled_tasks(
    ports: Ports, exporter: ExportWorker, syncs: Iterable[ConnectionSync], stop: asyncio.Event
) -> Iterator[Work]:
    """Yields the periodic tasks; each may run in two processes at once without harm."""
    for sync in syncs:
        yield sync_due_workspaces_until_stopped(sync, stop)
    if ports.fx is not None:
        rate_sync = ports.build_from_adapters(ExchangeRateSync, source=ports.fx)
        yield run_periodically_until_stopped(RATES_SECONDS, rate_sync.sync_if_due_or_back_off, stop)
    yield run_periodically_until_stopped(MAINTAIN_SECONDS, ports.events.maintain, stop)
    yield run_periodically_until_stopped(MAINTENANCE_SECONDS, lambda: maintain_exports(exporter, ports), stop)
    importer = build_import_worker(ports)
    yield run_periodically_until_stopped(MAINTENANCE_SECONDS, lambda: maintain_imports(importer, ports), stop)
    yield run_periodically_until_stopped(
        CLEANUP_SECONDS, partial(age_personal_data, build_data_ageing(ports)), stop
    )
    yield run_periodically_until_stopped(CLEANUP_SECONDS, ports.event_store_recorder().start, stop)
    yield run_periodically_until_stopped(
        ERASURE_SECONDS, partial(complete_requested_erasures, build_person_erasure(ports)), stop
    )
    removal = ports.build_from_adapters(ImportRemoval)
    yield run_periodically_until_stopped(ERASURE_SECONDS, partial(remove_requested_imports, removal), stop)
    yield run_periodically_until_stopped(
        REENRICHMENT_SECONDS, lambda: run_requested_reenrichments(ports), stop
    )
    yield run_periodically_until_stopped(
        USAGE_SECONDS, lambda: build_usage_alerts(ports).send_due_alerts(ports.clock()), stop
    )
    yield run_periodically_until_stopped(
        DOMAIN_CHECK_SECONDS,
        lambda: build_domain_verification(ports).recheck_and_notify_all(ports.clock()),
        stop,
    )
    yield run_periodically_until_stopped(
        monitoring.HEARTBEAT_SECONDS,
        lambda: monitoring.update_export_gauges_if_enabled(ports.workspace.export_jobs),
        stop,
    )


def quarantine_cleanup_task(ports: Ports, settings: IngestSettings, stop: asyncio.Event) -> Work:
    """Deletes quarantined events once their retention is over."""
    return run_periodically_until_stopped(
        CLEANUP_SECONDS,
        lambda: delete_and_log_old_quarantine_unless_kept_forever(ports, settings.quarantine_retention_days),
        stop,
    )


def event_version_cleanup_task(ports: Ports, retention_days: int, stop: asyncio.Event) -> Work:
    """Deletes earlier versions of events once their retention is over."""
    return run_periodically_until_stopped(
        CLEANUP_SECONDS, lambda: delete_old_event_versions(ports, retention_days), stop
    )


def postback_tasks(ports: Ports, settings: PostbacksSettings, stop: asyncio.Event) -> Iterator[Work]:
    """Yields the task that sends conversions, where a plugin sends any."""
    delivery = build_delivery_worker_if_any_sender(ports, settings)
    if delivery is not None:
        yield send_due_postbacks_until_stopped(delivery, stop)


def lake_tasks(ports: Ports, settings: LakeSettings, stop: asyncio.Event) -> Iterator[Work]:
    """Yields the task that writes the lakes of workspaces, where there is a storage for them."""
    if ports.lake is not None:
        write = partial(
            write_and_log_due_lakes, build_lake_writer(ports), timedelta(minutes=settings.interval_minutes)
        )
        yield run_periodically_until_stopped(LAKE_SECONDS, write, stop)


def notification_task(ports: Ports, settings: Settings, stop: asyncio.Event) -> Work:
    """Queues due e-mails and alerts, and sends what is in the outbox."""
    return run_periodically_until_stopped(
        NOTIFICATION_SECONDS, build_notifications(ports, settings).run, stop
    )


def plugin_task(ports: Ports, settings: Settings, stop: asyncio.Event) -> Work:
    """Runs reactions and jobs of plugins."""
    return run_due_until_stopped(build_plugin_tasks(ports, settings.plugins).run, stop)


def event_webhook_task(ports: Ports, settings: Settings, stop: asyncio.Event) -> Work:
    """Sends events to webhooks."""
    return run_due_until_stopped(build_event_webhook_worker(ports, settings).send_all_due, stop)


def build_person_erasure(ports: Ports) -> PersonErasure:
    """Returns the component that completes requested erasures, and writes their tombstones beside the backups."""

    async def keep_tombstone(erasure: Erasure) -> None:
        await asyncio.to_thread(add_tombstone_beside_backups, ports.folder, erasure)

    import_files = build_personal_import_files(ports)
    return ports.build_from_adapters(PersonErasure, import_files=import_files, keep_tombstone=keep_tombstone)


async def complete_requested_erasures(erasure: PersonErasure) -> None:
    """Completes requested erasures, and logs their ids."""
    for completed in await erasure.complete_requested_removals():
        _privacy_log.info("erasure %s of workspace %s is completed", completed.id, completed.workspace_id)


async def remove_requested_imports(removal: ImportRemoval) -> None:
    """Removes the imports whose removal is requested, and logs their ids."""
    for job in await removal.complete_requested_removals():
        _privacy_log.info("import %s of workspace %s is removed", job.id, job.workspace_id)


def build_usage_alerts(ports: Ports) -> UsageAlerts:
    """Returns the component that mails owners that their plan is nearly used."""
    return ports.build_from_adapters(UsageAlerts)


def build_domain_verification(ports: Ports) -> DomainReverification:
    """Returns the component that checks the DNS records of verified link domains again."""
    return ports.build_from_adapters(
        DomainReverification,
        changes=ports.build_from_adapters(ChangeExecutor, resource_types=[LINK_DOMAIN_TYPE]),
    )


def build_data_ageing(ports: Ports) -> PersonalDataAgeing:
    """Returns the component that removes personal data whose retention is over."""
    return ports.build_from_adapters(PersonalDataAgeing)


async def age_personal_data(ageing: PersonalDataAgeing) -> None:
    """Removes personal data whose retention is over, and logs deleted events."""
    aged = await ageing.run()
    for workspace_id, events in aged.deleted_events.items():
        _privacy_log.info("%d events of workspace %s were deleted by age", events, workspace_id)


async def delete_old_event_versions(ports: Ports, retention_days: int) -> None:
    """Deletes the earlier versions of events, and of rows of the workspace store, whose retention is over."""
    before = ports.clock() - timedelta(days=retention_days)
    await ports.events.delete_event_versions(before)
    await ports.workspace.history.delete_replaced_rows(before)


async def delete_and_log_old_quarantine_unless_kept_forever(ports: Ports, retention_days: int) -> None:
    """Deletes events that have been quarantined for longer than some days, and logs how many; 0 deletes none."""
    deleted = (
        await ports.queue.delete_quarantined_before(ports.clock() - timedelta(days=retention_days))
        if retention_days
        else {}
    )
    for workspace_id, events in deleted.items():
        _log.warning(
            "%d quarantined events of workspace %s are deleted after %d days",
            events,
            workspace_id,
            retention_days,
        )


def export_task(ports: Ports, exporter: ExportWorker, stop: asyncio.Event) -> Work:
    """Runs export jobs, where the process that answers requests runs them."""
    return ports.jobs.run_worker(exporter.run_next_job, stop)


def import_task(ports: Ports, stop: asyncio.Event) -> Work:
    """Runs import jobs, where the process that answers requests runs them."""
    return ports.jobs.run_worker(build_import_worker(ports).run_next_job, stop)
