"""Limits the time in which a client may read an answer, counted from the first byte of its header."""

import asyncio
from typing import Any


class AnswerDeadline:
    """Aborts a connection when its client has not read an answer in time.

    An answer counts as read when the transport holds none of its bytes any more: those in the buffers of the system
    are out of the hands of this process.

    Args:
        transport: of the connection.
        seconds: how long an answer may take.
    """

    def __init__(self, transport: Any, seconds: float) -> None:
        self._transport = transport
        self._seconds = seconds
        self._loop = asyncio.get_running_loop()
        self._due = self._loop.time() + seconds
        self._timer: asyncio.TimerHandle | None = None

    def start_answer(self) -> None:
        """Begins the time of another answer."""
        self._due = self._loop.time() + self._seconds

    def start_answer_if_all_is_read(self) -> None:
        """Begins the time of another answer unless the client has not read all that was written before."""
        if not self._transport.get_write_buffer_size():
            self.start_answer()

    def watch_unsent_bytes(self) -> None:
        """Sees to it that bytes the client does not read end the connection; call it after each write."""
        if self._timer is None and self._transport.get_write_buffer_size():
            self._timer = self._loop.call_at(self._due, self._abort_if_unread)

    def cancel(self) -> None:
        """Forgets the connection, which has ended."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _abort_if_unread(self) -> None:
        self._timer = None
        if not self._transport.get_write_buffer_size():
            return
        if self._loop.time() < self._due:
            self.watch_unsent_bytes()
        else:
            self._transport.abort()
