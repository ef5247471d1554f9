"""Metrics of the canary."""

import time
from datetime import timedelta

from hosts.monitoring import prometheus_metrics


def record_canary(lag: timedelta, seen: bool) -> None:
    """Records the lag of the latest canary event, and when one was last visible."""
    prometheus_metrics.CANARY_LAG_SECONDS.set(lag.total_seconds())
    if seen:
        prometheus_metrics.CANARY_SEEN_TIMESTAMP.set(time.time())
