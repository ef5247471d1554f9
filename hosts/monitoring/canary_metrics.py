"""What is heard of the canary, as metrics."""

import time
from datetime import timedelta

from hosts.monitoring import prometheus_metrics


def record_canary(lag: timedelta, seen: bool) -> None:
    """Keep how long the latest took, or takes so far, and when one was last seen."""
    prometheus_metrics.CANARY_LAG_SECONDS.set(lag.total_seconds())
    if seen:
        prometheus_metrics.CANARY_SEEN_TIMESTAMP.set(time.time())
