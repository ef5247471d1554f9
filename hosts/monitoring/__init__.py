"""What an operator watches: metrics, readiness of each process, and a canary through the real path.

Off unless ``monitoring.listen`` names an address. Then the process a person starts answers there for
itself and for its children, which all write to one folder of shared memory; where it is off, nothing
of it is loaded. What needs the metrics library is imported inside the functions below.
"""

import asyncio
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from hosts.composition.ports import Ports
from hosts.composition.wrapping import wrapped
from hosts.guard import App
from hosts.monitoring.canary import Canary
from hosts.serving import address_of, bind, serve
from service_core.delivery.exports.model import Status
from service_core.delivery.exports.ports import ExportWork
from service_core.extension.registry import Registry
from service_core.gateway.readiness import Readiness
from service_core.kernel.settings import MonitoringSettings

FOLDER: Final = "PROMETHEUS_MULTIPROC_DIR"
"""Environment variable with the folder all processes of a deployment's machine count in."""

BEAT_SECONDS: Final = 5.0


def is_on() -> bool:
    """Whether this process counts: it, or the one that started it, was told where to show metrics."""
    return FOLDER in os.environ


def watched(registry: Registry) -> Registry:
    """The registry, with what its adapters do counted and timed."""
    if not is_on():
        return registry
    from hosts.monitoring.watch import watch  # noqa: PLC0415 - see above

    return wrapped(registry, watch)


def counted(app: App, host: str, place: Callable[[str, str], str | None]) -> App:
    """The application, with its requests counted and timed.

    Args:
        app: the application.
        host: what it is called in metrics.
        place: method and path -> path template; None for a request of no operation.
    """
    if not is_on():
        return app
    from hosts.monitoring.requests import counting  # noqa: PLC0415 - see above

    return counting(app, host, place)


async def beating(role: str, readiness: Readiness, stop: asyncio.Event) -> None:
    """Tell every few seconds that this process lives, and what its probes see, until ``stop`` is set."""
    if is_on():
        from hosts.monitoring.heartbeat import beat  # noqa: PLC0415 - see above

        await beat(role, readiness, BEAT_SECONDS, stop)


async def sing(canary: Canary, ports: Ports, settings: MonitoringSettings, stop: asyncio.Event) -> None:
    """Send canaries until ``stop`` is set."""
    if is_on():
        from hosts.monitoring.canary_metrics import heard  # noqa: PLC0415 - see above

        await canary.sing(
            ports.queue, ports.events, ports.clock, seconds=settings.canary_seconds, stop=stop, told=heard
        )


async def count_exports(work: ExportWork) -> None:
    """See how many export jobs stand in each state."""
    if is_on():
        from hosts.monitoring.meters import EXPORTS  # noqa: PLC0415 - see above

        counts = await work.export_counts()
        for status in Status:
            EXPORTS.labels(status.value).set(counts.get(status, 0))


@asynccontextmanager
async def shown(address: str, stop: asyncio.Event) -> AsyncIterator[str | None]:
    """Answer ``/metrics``, ``/health`` and ``/ready`` for this process and its children inside the block.

    Args:
        address: ``HOST:PORT``; empty for nowhere.
        stop: set when the deployment stops; the listener drains then.

    Yields:
        Where it listens; None for nowhere.

    Raises:
        StartupError: the address is none, or it is taken.
    """
    if not address:
        yield None
        return
    listener = bind(address)
    listening_at = address_of(listener)
    folder = tempfile.mkdtemp(prefix="touchpoint-metrics-")
    os.environ[FOLDER] = folder  # before the metrics library is loaded: it looks once
    from hosts.monitoring.listener import listening  # noqa: PLC0415 - see above

    serving = asyncio.create_task(serve(listening(Path(folder)), listener, "hypercorn", stop))
    try:
        yield listening_at
    finally:
        stop.set()
        await serving
        del os.environ[FOLDER]
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)


def ended(name: str, process_id: int) -> None:
    """Count the end of a process, and leave out of the present what it said of it; its counts stay."""
    if is_on():
        from prometheus_client.multiprocess import mark_process_dead  # noqa: PLC0415 - see above

        from hosts.monitoring.meters import ENDED  # noqa: PLC0415 - see above

        ENDED.labels(name).inc()
        mark_process_dead(process_id)  # type: ignore[no-untyped-call]
