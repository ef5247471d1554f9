"""What the roles do, each as tasks over ports that are open; one process may do it all."""

import asyncio
import logging
from collections.abc import Coroutine, Iterable, Iterator
from datetime import timedelta
from typing import Any, Final

from hosts import monitoring
from hosts.composition.ports import Ports
from hosts.composition.postbacks import build_postback_delivery
from hosts.worker.consumer import build_pipeline, consume_queue
from hosts.worker.exports import MAINTENANCE_SECONDS, maintain_exports
from hosts.worker.periodic import run_periodically
from hosts.worker.postbacks import send_postbacks
from hosts.worker.sync_scheduler import run_sync_scheduler
from service_core.changes.change_executor import ChangeExecutor
from service_core.commerce.fx.sync_rates import ExchangeRateSync
from service_core.commerce.sync.connection_sync import ConnectionSync
from service_core.delivery.exports.export_worker import ExportWorker
from service_core.kernel.settings import IngestSettings, PostbacksSettings
from service_core.workspace.links.domains.models import LINK_DOMAIN_TYPE
from service_core.workspace.links.domains.reverify import DomainReverification
from service_core.workspace.usage_alerts.send_alerts import UsageAlerts

MAINTAIN_SECONDS: Final = 60
CLEANUP_SECONDS: Final = 3600
USAGE_SECONDS: Final = 3600
DOMAIN_CHECK_SECONDS: Final = 3600
RATES_SECONDS: Final = 60
"""How soon rates are there after the first start; the source itself is asked once an hour."""
CLICK_ADDRESS_RETENTION: Final = timedelta(days=7)
"""How long clicks keep the address they came from (semantics 22)."""

_log: Final = logging.getLogger("touchpoint.quarantine")

Work = Coroutine[Any, Any, None]
"""A task that ends when its process is told to stop."""


def consume_task(ports: Ports, settings: IngestSettings, stop: asyncio.Event) -> Work:
    """Move events from the queue into the store."""
    return consume_queue(build_pipeline(ports, settings), stop)


def scheduled_tasks(
    ports: Ports, exporter: ExportWorker, rounds: Iterable[ConnectionSync], stop: asyncio.Event
) -> Iterator[Work]:
    """What comes round: each turn is harmless when somebody else took it, too."""
    for each in rounds:
        yield run_sync_scheduler(each, stop)
    if ports.fx is not None:
        yield run_periodically(
            RATES_SECONDS, ExchangeRateSync(ports.fx, ports.workspace, ports.clock).sync_if_due, stop
        )
    yield run_periodically(MAINTAIN_SECONDS, ports.events.maintain, stop)
    yield run_periodically(MAINTENANCE_SECONDS, lambda: maintain_exports(exporter, ports), stop)
    yield run_periodically(CLEANUP_SECONDS, lambda: delete_old_click_addresses(ports), stop)
    yield run_periodically(
        USAGE_SECONDS, lambda: build_usage_watch(ports).send_due_alerts(ports.clock()), stop
    )
    yield run_periodically(
        DOMAIN_CHECK_SECONDS, lambda: build_domain_verification(ports).recheck_all(ports.clock()), stop
    )
    yield run_periodically(
        monitoring.HEARTBEAT_SECONDS, lambda: monitoring.update_export_gauges(ports.workspace), stop
    )


def quarantine_cleanup_task(ports: Ports, settings: IngestSettings, stop: asyncio.Event) -> Work:
    """Let go of events that could not be stored once they were kept for long enough."""
    return run_periodically(
        CLEANUP_SECONDS, lambda: delete_old_quarantine(ports, settings.quarantine_days), stop
    )


def postback_tasks(ports: Ports, settings: PostbacksSettings, stop: asyncio.Event) -> Iterator[Work]:
    """Send conversions, where anything is installed that does."""
    delivery = build_postback_delivery(ports, settings)
    if delivery is not None:
        yield send_postbacks(delivery, stop)


def build_usage_watch(ports: Ports) -> UsageAlerts:
    """What tells owners how much of their plan is used."""
    store = ports.workspace
    return UsageAlerts(store, store, store, ports.events, store, ports.mail)


def build_domain_verification(ports: Ports) -> DomainReverification:
    """What looks again whether the DNS says whose the link domains are."""
    store = ports.workspace
    return DomainReverification(
        store, store, store, ChangeExecutor(store, [LINK_DOMAIN_TYPE]), ports.dns, ports.mail
    )


async def delete_old_click_addresses(ports: Ports) -> None:
    """Let go of the addresses of clicks that are old enough."""
    await ports.workspace.purge_click_ips(ports.clock() - CLICK_ADDRESS_RETENTION)


async def delete_old_quarantine(ports: Ports, days: int) -> None:
    """Let go of what is older than so many days, 0 for nothing, and say of how much."""
    gone = await ports.quarantine.delete_before(ports.clock() - timedelta(days=days)) if days else {}
    for workspace_id, events in gone.items():
        _log.warning(
            "%d events of workspace %s that could not be stored are forgotten after %d days",
            events,
            workspace_id,
            days,
        )


def export_task(ports: Ports, exporter: ExportWorker, stop: asyncio.Event) -> Work:
    """Export jobs, where they are done by the process that answers requests."""
    return ports.jobs.run_worker(exporter.run_next, stop)
