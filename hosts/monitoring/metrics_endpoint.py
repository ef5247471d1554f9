"""The endpoint for ``/metrics``, ``/health`` and ``/ready`` of the processes on this machine."""

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import orjson
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.multiprocess import MultiProcessCollector

from hosts.asgi import App, Receive, Scope, Send
from hosts.compression import compress_responses
from hosts.monitoring.heartbeat import PROCESSES_PROBE_NAME
from hosts.request_smuggling import reject_ambiguous_requests
from service_core.api.readiness import Probe, ProbeResult

HEARTBEAT_TIMEOUT_SECONDS: Final = 30.0
"""A process that gave no sign of life for so long cannot be relied on."""

METRICS_MEDIA_TYPE: Final = b"text/plain; version=0.0.4; charset=utf-8"
JSON_MEDIA_TYPE: Final = b"application/json"


def create_metrics_app(folder: Path) -> App:
    """Returns the application over the folder in which the processes write their metrics."""
    registry = CollectorRegistry()
    MultiProcessCollector(registry, str(folder))  # type: ignore[no-untyped-call]

    async def serve_metrics_health_and_readiness(scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG001 - no body is read
        if scope["type"] != "http":
            return
        if scope["path"] == "/metrics":
            await _send_uncached_response(
                send, 200, METRICS_MEDIA_TYPE, await asyncio.to_thread(generate_latest, registry)
            )
        elif scope["path"] == "/health":
            await _send_uncached_response(send, 200, JSON_MEDIA_TYPE, b'{"status":"ok"}')
        elif scope["path"] == "/ready":
            state = await asyncio.to_thread(summarize_readiness_by_role, registry, time.time())
            await _send_uncached_response(
                send, 200 if state["status"] == "ok" else 503, JSON_MEDIA_TYPE, orjson.dumps(state)
            )
        else:
            await _send_uncached_response(send, 404, JSON_MEDIA_TYPE, b'{"error":"Not found"}')

    return reject_ambiguous_requests(compress_responses(serve_metrics_health_and_readiness))


def build_processes_probe(folder: Path) -> Probe:
    """Returns the probe that succeeds while ``/ready`` of this machine's metrics endpoint does."""
    registry = CollectorRegistry()
    MultiProcessCollector(registry, str(folder))  # type: ignore[no-untyped-call]

    async def read_heartbeats() -> ProbeResult:
        state = await asyncio.to_thread(summarize_readiness_by_role, registry, time.time())
        return ProbeResult(ok=state["status"] == "ok")

    return Probe(PROCESSES_PROBE_NAME, read_heartbeats)


def summarize_readiness_by_role(registry: CollectorRegistry, now: float) -> dict[str, object]:
    """Returns the readiness of the processes by role, from their heartbeats; a missing heartbeat is degraded.

    Args:
        registry: collects what they wrote.
        now: seconds since 1970.
    """
    roles: dict[str, dict[str, str]] = {}
    for name, labels, value in _collect_probe_and_heartbeat_samples(registry):
        checks = roles.setdefault(labels["role"], {})
        if name == "touchpoint_check":
            checks[labels["check"]] = _format_state(holds=value > 0)
        else:
            checks["alive"] = _format_state(holds=now - value < HEARTBEAT_TIMEOUT_SECONDS)
    fine = bool(roles) and all(state == "ok" for checks in roles.values() for state in checks.values())
    return {"status": _format_state(holds=fine), "roles": roles}


def _collect_probe_and_heartbeat_samples(
    registry: CollectorRegistry,
) -> Iterator[tuple[str, dict[str, str], float]]:
    metrics: list[Metric] = [
        metric
        for metric in registry.collect()
        if metric.name in {"touchpoint_check", "touchpoint_heartbeat_timestamp_seconds"}
    ]
    for metric in metrics:
        for sample in metric.samples:
            yield sample.name, sample.labels, sample.value


def _format_state(*, holds: bool) -> str:
    return "ok" if holds else "degraded"


async def _send_uncached_response(send: Send, status: int, media_type: bytes, body: bytes) -> None:
    headers = [
        (b"content-type", media_type),
        (b"content-length", b"%d" % len(body)),
        (b"cache-control", b"no-store"),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
