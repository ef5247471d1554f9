"""Records what the code under test does with sockets: requests that it sends, and calls that block the event loop."""

import asyncio
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import pytest

_BLOCKING_METHODS: Final = ("connect", "recv", "recv_into", "sendall")
_SENDING_METHODS: Final = ("send", "sendall", "sendmsg")
_HTTP_METHODS: Final = (b"GET ", b"POST ", b"PUT ", b"PATCH ")


@dataclass
class SocketCalls:
    """Calls of sockets.

    Attributes:
        requests: head of each HTTP request that was sent, in order.
        blocking: names of the calls that stopped the event loop.
    """

    requests: list[bytes] = field(default_factory=list)
    blocking: list[str] = field(default_factory=list)

    def assert_no_request_is_repeated(self) -> None:
        """Asserts that no request was sent a second time."""
        repeated = {head.partition(b"\r\n")[0] for head in self.requests if self.requests.count(head) > 1}
        assert not repeated, f"sent again within one call: {repeated}"


@contextmanager
def record_socket_calls() -> Iterator[SocketCalls]:
    """Records the calls of all sockets of this process, and those of `time.sleep`, while the context is open."""
    calls = SocketCalls()
    with pytest.MonkeyPatch.context() as patch:
        for name in {*_BLOCKING_METHODS, *_SENDING_METHODS}:
            patch.setattr(
                socket.socket, name, _recorded_socket_method(getattr(socket.socket, name), name, calls)
            )
        patch.setattr(time, "sleep", _recorded_sleep(time.sleep, calls))
        yield calls


def _recorded_socket_method(method: Callable[..., Any], name: str, calls: SocketCalls) -> Callable[..., Any]:
    def call(self: socket.socket, *arguments: Any) -> Any:
        if name in _BLOCKING_METHODS and self.gettimeout() != 0 and _is_in_event_loop():
            calls.blocking.append(f"socket.{name}")
        if name in _SENDING_METHODS:
            head = bytes(arguments[0] if name != "sendmsg" else b"".join(arguments[0]))
            if head.startswith(_HTTP_METHODS):
                calls.requests.append(head)
        return method(self, *arguments)

    return call


def _recorded_sleep(sleep: Callable[[float], None], calls: SocketCalls) -> Callable[[float], None]:
    def call(seconds: float) -> None:
        if _is_in_event_loop():
            calls.blocking.append("time.sleep")
        sleep(seconds)

    return call


def _is_in_event_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
