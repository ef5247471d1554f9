"""Limits the time in which a whole request has to arrive."""

import asyncio


class RequestDeadline:
    """Aborts a connection on which a request is incomplete for too long.

    Args:
        transport: of the connection.
        seconds: how long a request may take, from its first byte to its last.
    """

    def __init__(self, transport: asyncio.BaseTransport, seconds: float) -> None:
        self._transport = transport
        self._seconds = seconds
        self._timer: asyncio.TimerHandle | None = None

    def start_unless_started(self) -> None:
        """Begins the time of a request of which a part has come."""
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._seconds, self._transport.close)

    def stop(self) -> None:
        """Ends the time: the request is complete, or the connection has ended."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
