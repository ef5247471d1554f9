"""What is heard of the canary, as metrics."""

import time
from datetime import timedelta

from hosts.monitoring import meters


def heard(lag: timedelta, seen: bool) -> None:
    """Keep how long the latest took, or takes so far, and when one was last seen."""
    meters.CANARY.set(lag.total_seconds())
    if seen:
        meters.CANARY_SEEN.set(time.time())
