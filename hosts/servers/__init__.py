"""ASGI servers, one module each with the same function `serve`; `hosts.asgi_runner` imports the one chosen."""

from dataclasses import dataclass
from typing import Final

DRAIN_TIMEOUT_SECONDS: Final = 30
"""How long what has begun may take after the signal to stop: longer than the longest read."""


@dataclass(frozen=True, slots=True)
class TimeLimits:
    """How long the parts of an exchange may take, in seconds; afterwards the connection is closed.

    Attributes:
        idle: silence between requests, and a header from the moment its connection is open or its predecessor answered.
        request: a whole request, from its first byte to its last; uploads of imports have none.
        answer: an answer, until the client has read it: as long as the link to a download works.
    """

    idle: float = 10
    request: float = 30
    answer: float = 3_600


LINGER_SECONDS: Final = 1.0
"""How long, after the signal to stop, a connection without a request may still send one: it may be on its way."""

BACKLOG: Final = 2048
"""Connections the kernel keeps waiting."""
