"""``/metrics``, ``/health`` and ``/ready`` of a deployment's processes on this machine."""

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import orjson
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.multiprocess import MultiProcessCollector

from hosts.guard import App, Receive, Scope, Send, guarded

SILENT_SECONDS: Final = 30.0
"""A process that gave no sign of life for so long cannot be relied on."""

TEXT: Final = b"text/plain; version=0.0.4; charset=utf-8"
JSON: Final = b"application/json"


def listening(folder: Path) -> App:
    """The application over the folder the processes count in."""
    registry = CollectorRegistry()
    MultiProcessCollector(registry, str(folder))  # type: ignore[no-untyped-call]

    async def application(scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG001 - no body is read
        if scope["type"] != "http":
            return
        if scope["path"] == "/metrics":
            await _answer(send, 200, TEXT, await asyncio.to_thread(generate_latest, registry))
        elif scope["path"] == "/health":
            await _answer(send, 200, JSON, b'{"status":"ok"}')
        elif scope["path"] == "/ready":
            state = await asyncio.to_thread(readiness, registry, time.time())
            await _answer(send, 200 if state["status"] == "ok" else 503, JSON, orjson.dumps(state))
        else:
            await _answer(send, 404, JSON, b'{"error":"Not found"}')

    return guarded(application)


def readiness(registry: CollectorRegistry, now: float) -> dict[str, object]:
    """What the processes last said of themselves, by role; a silent one is degraded.

    Args:
        registry: collects what they wrote.
        now: seconds since 1970.
    """
    roles: dict[str, dict[str, str]] = {}
    for name, labels, value in _samples(registry):
        checks = roles.setdefault(labels["role"], {})
        if name == "touchpoint_check":
            checks[labels["check"]] = _state(holds=value > 0)
        else:
            checks["alive"] = _state(holds=now - value < SILENT_SECONDS)
    fine = bool(roles) and all(state == "ok" for checks in roles.values() for state in checks.values())
    return {"status": _state(holds=fine), "roles": roles}


def _samples(registry: CollectorRegistry) -> Iterator[tuple[str, dict[str, str], float]]:
    metrics: list[Metric] = [
        metric
        for metric in registry.collect()
        if metric.name in {"touchpoint_check", "touchpoint_heartbeat_timestamp_seconds"}
    ]
    for metric in metrics:
        for sample in metric.samples:
            yield sample.name, sample.labels, sample.value


def _state(*, holds: bool) -> str:
    return "ok" if holds else "degraded"


async def _answer(send: Send, status: int, kind: bytes, body: bytes) -> None:
    headers = [
        (b"content-type", kind),
        (b"content-length", b"%d" % len(body)),
        (b"cache-control", b"no-store"),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
