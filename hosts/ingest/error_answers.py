"""Answers and log records for failed requests to the ingest host."""

import logging
import time
from collections.abc import Callable
from typing import Final
from uuid import uuid4

from service_core.ingestion import track
from service_core.ingestion.ports import EnqueueFailed
from service_core.ingestion.track import IngestResponse
from service_core.kernel.errors import ServiceUnavailable

_TOO_SLOW: Final = IngestResponse(408, {"error": "Request body took too long"}, {"connection": "close"})

_LOG_INTERVAL_SECONDS: Final = 10.0
"""Seconds between two lines about events that the queue refuses: there may be thousands a second."""

_log = logging.getLogger("touchpoint.ingest")


def answer_timeout_or_log_server_error(fault: Exception) -> IngestResponse:
    """Returns 408 for a timeout, which is not logged; otherwise logs the error and returns 500 with its id.

    A `ServiceUnavailable` is logged by its type alone, without a traceback.
    """
    if isinstance(fault, TimeoutError):
        return _TOO_SLOW
    error_id = uuid4()
    is_unavailable = isinstance(fault, ServiceUnavailable)
    log_fields = {"error_id": str(error_id), "fault": type(fault).__name__}
    _log.error("request failed", exc_info=None if is_unavailable else fault, extra=log_fields)
    return track.server_error_response(error_id)


class QueueFailureLog:
    """Logs events that the queue does not accept: the first at once, later ones as a sum.

    Args:
        clock: seconds, from any point.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._events = 0
        self._next = float("-inf")

    def record_and_log_every_ten_seconds(self, failure: EnqueueFailed) -> None:
        """Records one more failure."""
        self._events += 1
        now = self._clock()
        if now < self._next:
            return
        _log.error(
            "the queue takes no events; they are refused",
            extra={"events": self._events, "reason": describe_queue_failure_root_cause(failure)},
        )
        self._events, self._next = 0, now + _LOG_INTERVAL_SECONDS


def describe_queue_failure_root_cause(failure: EnqueueFailed) -> str:
    """Returns why the queue did not accept an event, for the operator."""
    if failure.__cause__ is None:
        return "too many wait already"
    first: BaseException = failure
    while first.__cause__ is not None:
        first = first.__cause__
    return f"{type(first).__name__}: {first}"
