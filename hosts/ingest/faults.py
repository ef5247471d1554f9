"""What is answered and told when a request to the ingest host fails."""

import logging
import time
from collections.abc import Callable
from typing import Final
from uuid import uuid4

from service_core.intake import track
from service_core.intake.ports import QueueFailed
from service_core.intake.track import Answer
from service_core.kernel.errors import Unavailable503

_TOO_SLOW: Final = Answer(408, {"error": "Request body took too long"}, {"connection": "close"})

_TOLD_EVERY: Final = 10.0
"""Seconds between two lines about events that the queue refuses: there may be thousands a second."""

_log = logging.getLogger("touchpoint.ingest")


def answer_to(fault: Exception) -> Answer:
    """What failed is told with its id; of a store that is away, thousands of times a second, its kind is enough."""
    if isinstance(fault, TimeoutError):
        return _TOO_SLOW
    error_id = uuid4()
    away = isinstance(fault, Unavailable503)
    told = {"error_id": str(error_id), "fault": type(fault).__name__}
    _log.error("request failed", exc_info=None if away else fault, extra=told)
    return track.fault(error_id)


class QueueFaults:
    """Tells the log of events the queue does not take: of the first at once, of those after it together.

    Args:
        clock: seconds, from any point.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._events = 0
        self._next = float("-inf")

    def tell(self, failure: QueueFailed) -> None:
        """One more was refused."""
        self._events += 1
        now = self._clock()
        if now < self._next:
            return
        _log.error(
            "the queue takes no events; they are refused",
            extra={"events": self._events, "reason": reason_of(failure)},
        )
        self._events, self._next = 0, now + _TOLD_EVERY


def reason_of(failure: QueueFailed) -> str:
    """Why the queue did not take an event, for whoever runs the service."""
    if failure.__cause__ is None:
        return "too many wait already"
    first: BaseException = failure
    while first.__cause__ is not None:
        first = first.__cause__
    return f"{type(first).__name__}: {first}"
