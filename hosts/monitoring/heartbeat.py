"""The heartbeat of a process, with the results of its probes."""

import asyncio
import time
from typing import Final

from hosts.monitoring import prometheus_metrics
from hosts.shutdown_sleep import sleep_unless_stopped
from service_core.api.readiness import ReadinessChecker

PROCESSES_PROBE_NAME: Final = "processes"
"""The probe that reads the heartbeats; no heartbeat has its result, or a process once degraded would stay so."""


async def write_heartbeats_with_probe_results(
    role: str, readiness: ReadinessChecker, interval_seconds: float, stop: asyncio.Event
) -> None:
    """Writes a heartbeat at once and then at an interval, until ``stop`` is set."""
    while True:
        reading = await readiness.report_at_most_one_second_old()
        for check, holds in reading.checks.items():
            if check == PROCESSES_PROBE_NAME:
                continue
            prometheus_metrics.PROBE_STATE.labels(role, check).set(holds)
        prometheus_metrics.HEARTBEAT_TIMESTAMP.labels(role).set(time.time())
        if not await sleep_unless_stopped(stop, interval_seconds):
            return
