"""What a request that failed is answered on every route of the ingest host."""

import logging
from typing import Final
from uuid import uuid4

from service_core.intake import track
from service_core.intake.track import Answer
from service_core.kernel.errors import Unavailable503

_TOO_SLOW: Final = Answer(408, {"error": "Request body took too long"}, {"connection": "close"})

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
