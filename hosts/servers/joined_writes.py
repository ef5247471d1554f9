"""Sends the head of an answer together with its body: two writes are two packets and two system calls."""

import asyncio
from collections.abc import Iterable
from typing import Any, Final

from hosts.servers.answer_deadline import AnswerDeadline

_HEAD_START: Final = b"HTTP/1."
_HEAD_END: Final = b"\r\n\r\n"
_HTTP2_FOLLOWS: Final = b"HTTP/1.1 101 "


class JoinedWrites:
    """A transport or stream writer that holds the head of an answer back until the next write of the same moment.

    A body that is not there yet keeps no head waiting: it is sent when the event loop goes on.

    Args:
        target: what is written to; it also answers everything else.
        answer_seconds: how long the client may take to read an answer; afterwards the connection is aborted.
    """

    def __init__(self, target: Any, answer_seconds: float) -> None:
        self._target = target
        self._deadline = AnswerDeadline(getattr(target, "transport", target), answer_seconds)
        self._held = b""
        self._is_http1 = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._target, name)

    def write(self, data: bytes) -> None:
        """Writes data behind a held head, or holds it when it is a head."""
        if data.startswith(_HEAD_START):
            self._is_http1 = not data.startswith(_HTTP2_FOLLOWS)
            self._deadline.start_answer()
        joined, self._held = self._held + data, b""
        if joined.startswith(_HEAD_START) and joined.endswith(_HEAD_END):
            self._held = joined
            asyncio.get_running_loop().call_soon(self._write_held)
        else:
            self._write_and_watch(joined)

    def writelines(self, list_of_data: Iterable[bytes]) -> None:
        """Writes several pieces as one, behind a held head."""
        self.write(b"".join(list_of_data))

    def write_eof(self) -> None:
        """Writes what is held, and ends the output."""
        self._write_held()
        self._target.write_eof()

    def close(self) -> None:
        """Writes what is held, and closes."""
        self._write_held()
        self._target.close()

    def cancel_deadline(self) -> None:
        """Forgets the connection, which has ended."""
        self._deadline.cancel()

    def _write_held(self) -> None:
        if self._held:
            held, self._held = self._held, b""
            self._write_and_watch(held)

    def _write_and_watch(self, data: bytes) -> None:
        """Writes data; that of HTTP/2, which shows no heads, has its time from when all before it was read."""
        if not self._is_http1:
            self._deadline.start_answer_if_all_is_read()
        self._target.write(data)
        self._deadline.watch_unsent_bytes()
