"""What the roles do, each as tasks over ports that are open; one process may do it all."""

import asyncio
import logging
from collections.abc import Coroutine, Iterable, Iterator
from datetime import timedelta
from typing import Any, Final

from hosts import monitoring
from hosts.composition.ports import Ports
from hosts.composition.postbacks import delivery_of
from hosts.worker.consumer import consume, pipeline_of
from hosts.worker.exports import KEEP_SECONDS, keep
from hosts.worker.periodic import every
from hosts.worker.postbacks import send_postbacks
from hosts.worker.rounds import go_round
from service_core.changes.write import Writes
from service_core.commerce.fx.keeping import RateKeeping
from service_core.commerce.rounds import Rounds
from service_core.delivery.exports.run import Exporter
from service_core.kernel.settings import IngestSettings, PostbacksSettings
from service_core.workspace.limits.watch import Watch
from service_core.workspace.links.domains.proofs import Proofs
from service_core.workspace.links.domains.resource import DOMAIN_KIND

MAINTAIN_SECONDS: Final = 60
FORGET_SECONDS: Final = 3600
USAGE_SECONDS: Final = 3600
PROOF_SECONDS: Final = 3600
RATES_SECONDS: Final = 60
"""How soon rates are there after the first start; the source itself is asked once an hour."""
ADDRESSES_KEPT: Final = timedelta(days=7)
"""How long clicks keep the address they came from (semantics 22)."""

_log: Final = logging.getLogger("touchpoint.quarantine")

Work = Coroutine[Any, Any, None]
"""A task that ends when its process is told to stop."""


def consuming(ports: Ports, settings: IngestSettings, stop: asyncio.Event) -> Work:
    """Move events from the queue into the store."""
    return consume(pipeline_of(ports, settings), stop)


def scheduled(
    ports: Ports, exporter: Exporter, rounds: Iterable[Rounds], stop: asyncio.Event
) -> Iterator[Work]:
    """What comes round: each turn is harmless when somebody else took it, too."""
    for each in rounds:
        yield go_round(each, stop)
    if ports.fx is not None:
        yield every(RATES_SECONDS, RateKeeping(ports.fx, ports.workspace, ports.clock).look, stop)
    yield every(MAINTAIN_SECONDS, ports.events.maintain, stop)
    yield every(KEEP_SECONDS, lambda: keep(exporter, ports), stop)
    yield every(FORGET_SECONDS, lambda: forget_clicks(ports), stop)
    yield every(USAGE_SECONDS, lambda: watch_of(ports).look(ports.clock()), stop)
    yield every(PROOF_SECONDS, lambda: proofs_of(ports).look(ports.clock()), stop)
    yield every(monitoring.BEAT_SECONDS, lambda: monitoring.count_exports(ports.workspace), stop)


def forgetting(ports: Ports, settings: IngestSettings, stop: asyncio.Event) -> Work:
    """Let go of events that could not be stored once they were kept for long enough."""
    return every(FORGET_SECONDS, lambda: forget_quarantine(ports, settings.quarantine_days), stop)


def sending(ports: Ports, settings: PostbacksSettings, stop: asyncio.Event) -> Iterator[Work]:
    """Send conversions, where anything is installed that does."""
    delivery = delivery_of(ports, settings)
    if delivery is not None:
        yield send_postbacks(delivery, stop)


def watch_of(ports: Ports) -> Watch:
    """What tells owners how much of their plan is used."""
    store = ports.workspace
    return Watch(store, store, store, ports.events, store, ports.mail)


def proofs_of(ports: Ports) -> Proofs:
    """What looks again whether the DNS says whose the link domains are."""
    store = ports.workspace
    return Proofs(store, store, store, Writes(store, [DOMAIN_KIND]), ports.dns, ports.mail)


async def forget_clicks(ports: Ports) -> None:
    """Let go of the addresses of clicks that are old enough."""
    await ports.workspace.forget_addresses(ports.clock() - ADDRESSES_KEPT)


async def forget_quarantine(ports: Ports, days: int) -> None:
    """Let go of what is older than so many days, 0 for nothing, and say of how much."""
    gone = await ports.quarantine.forget(ports.clock() - timedelta(days=days)) if days else {}
    for workspace_id, events in gone.items():
        _log.warning(
            "%d events of workspace %s that could not be stored are forgotten after %d days",
            events,
            workspace_id,
            days,
        )


def exporting(ports: Ports, exporter: Exporter, stop: asyncio.Event) -> Work:
    """Export jobs, where they are done by the process that answers requests."""
    return ports.jobs.work_here(exporter.run_next, stop)
