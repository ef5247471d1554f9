"""ASGI servers, one module each with the same function `serve`; `hosts.asgi_runner` imports the one chosen."""

from typing import Final

DRAIN_TIMEOUT_SECONDS: Final = 30
"""How long what has begun may take after the signal to stop: longer than the longest read."""

IDLE_TIMEOUT_SECONDS: Final = 10
"""How long a connection may be silent between requests, and how long a header may take."""

REQUEST_TIMEOUT_SECONDS: Final = 30
"""How long a whole request may take to arrive, from its first byte to its last."""

LINGER_SECONDS: Final = 1.0
"""How long, after the signal to stop, a connection without a request may still send one: it may be on its way."""

BACKLOG: Final = 2048
"""Connections the kernel keeps waiting."""
