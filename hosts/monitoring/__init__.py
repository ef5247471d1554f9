"""Monitoring: metrics, readiness of each process, and a canary event.

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
from typing import TYPE_CHECKING, Final

from hosts.asgi import App
from hosts.asgi_runner import bind_listener, listener_address, serve_until_shutdown
from hosts.composition.adapter_wrappers import wrap_adapters
from hosts.composition.plugin_watch import watch_plugins
from hosts.composition.ports import Ports
from hosts.composition.watched_calls import PluginCall
from hosts.monitoring.canary import Canary
from service_core.api.readiness import Probe, ReadinessChecker
from service_core.delivery.exports.models import ExportStatus
from service_core.delivery.exports.ports import ExportJobs
from service_core.extensions.registry import Registry
from service_core.ingestion.transforms.run_transforms import TransformUse
from service_core.kernel.settings import MonitoringSettings

if TYPE_CHECKING:
    from hosts.subprocesses import Subprocess

METRICS_FOLDER_VARIABLE: Final = "PROMETHEUS_MULTIPROC_DIR"
"""Environment variable with the folder all processes of a deployment's machine count in."""

HEARTBEAT_SECONDS: Final = 5.0


def is_enabled() -> bool:
    """Returns whether metrics are collected in this process, by its environment."""
    return METRICS_FOLDER_VARIABLE in os.environ


def instrument_registry_if_enabled(registry: Registry) -> Registry:
    """Returns the registry with its adapters instrumented.

    Plugins are watched in any case: one that blocks the event loop is named in the log.
    """
    if not is_enabled():
        return watch_plugins(registry, _ignore_call)
    from hosts.monitoring.instrumentation import (  # noqa: PLC0415 - see above
        instrument_queue_or_event_store,
        record_plugin_call,
    )

    watched = watch_plugins(registry, record_plugin_call)
    return wrap_adapters(watched, instrument_queue_or_event_store)


def _ignore_call(_: PluginCall) -> None:
    pass


def count_transform_if_enabled(plugin: str, use: TransformUse) -> None:
    """Counts and times what a transform did in a batch, and sets whether it is left out."""
    if is_enabled():
        from hosts.monitoring.instrumentation import record_transform_use  # noqa: PLC0415 - see above

        record_transform_use(plugin, use)


def instrument_event_appends_if_enabled(store: object) -> object:
    """Returns what a consumer appends to with its appends instrumented."""
    if not is_enabled():
        return store
    from hosts.monitoring.instrumentation import instrument_event_appends  # noqa: PLC0415 - see above

    return instrument_event_appends(store)


def instrument_app_if_enabled(
    app: App, metrics_host_label: str, route_template: Callable[[str, str], str | None]
) -> App:
    """Returns the application with its requests counted and timed.

    Args:
        app: the application.
        metrics_host_label: what it is called in metrics.
        route_template: method and path -> path template; None for a request of no operation.
    """
    if not is_enabled():
        return app
    from hosts.monitoring.request_metrics import count_and_time_requests  # noqa: PLC0415 - see above

    return count_and_time_requests(app, metrics_host_label, route_template)


async def send_heartbeats_if_enabled(role: str, readiness: ReadinessChecker, stop: asyncio.Event) -> None:
    """Writes a heartbeat with the results of the probes every few seconds, until ``stop`` is set."""
    if is_enabled():
        from hosts.monitoring.heartbeat import write_heartbeats_with_probe_results  # noqa: PLC0415 - see above

        await write_heartbeats_with_probe_results(role, readiness, HEARTBEAT_SECONDS, stop)


def processes_probe_if_enabled() -> list[Probe]:
    """Returns the probe of all processes that report to this machine's metrics endpoint; none where it is off.

    With it, ``/ready`` of the API and of the metrics endpoint are degraded by the same facts.
    """
    if not is_enabled():
        return []
    from hosts.monitoring.metrics_endpoint import build_processes_probe  # noqa: PLC0415 - see above

    return [build_processes_probe(Path(os.environ[METRICS_FOLDER_VARIABLE]))]


async def run_canary_if_enabled(
    canary: Canary, ports: Ports, settings: MonitoringSettings, stop: asyncio.Event
) -> None:
    """Sends canary events until ``stop`` is set."""
    if is_enabled():
        from hosts.monitoring.canary_metrics import record_canary  # noqa: PLC0415 - see above

        await canary.send_and_time_until_stopped(
            ports.queue,
            ports.events,
            ports.clock,
            interval_seconds=settings.canary_interval_seconds,
            stop=stop,
            on_lag_and_arrival=record_canary,
        )


async def update_export_gauges_if_enabled(export_jobs: ExportJobs) -> None:
    """Sets the gauges of export jobs by state."""
    if is_enabled():
        from hosts.monitoring.prometheus_metrics import EXPORT_JOBS  # noqa: PLC0415 - see above

        counts = await export_jobs.count_exports_by_status()
        for status in ExportStatus:
            EXPORT_JOBS.labels(status.value).set(counts.get(status, 0))


@asynccontextmanager
async def serve_metrics_if_address_given(address: str, stop: asyncio.Event) -> AsyncIterator[str | None]:
    """Serves ``/metrics``, ``/health`` and ``/ready`` for this process and its children inside the block.

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
    listener = bind_listener(address)
    listening_at = listener_address(listener)
    folder = tempfile.mkdtemp(prefix="touchpoint-metrics-")
    os.environ[METRICS_FOLDER_VARIABLE] = folder  # before the metrics library is loaded: it looks once
    from hosts.monitoring.metrics_endpoint import create_metrics_app  # noqa: PLC0415 - see above

    serving = asyncio.create_task(
        serve_until_shutdown(create_metrics_app(Path(folder)), listener, "hypercorn", stop)
    )
    try:
        yield listening_at
    finally:
        stop.set()
        await serving
        del os.environ[METRICS_FOLDER_VARIABLE]
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)


def count_process_end_if_enabled(ended: "Subprocess") -> None:
    """Counts the end of a child process, and removes its gauges; its counters stay."""
    if is_enabled():
        from prometheus_client.multiprocess import mark_process_dead  # noqa: PLC0415 - see above

        from hosts.monitoring.prometheus_metrics import PROCESSES_ENDED  # noqa: PLC0415 - see above

        PROCESSES_ENDED.labels(ended.name).inc()
        mark_process_dead(ended.process.pid)  # type: ignore[no-untyped-call]
