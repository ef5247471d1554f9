"""Records calls that leave the process: files, connections, programs and sleeping."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

_EVENTS: Final = frozenset(
    {
        "open",
        "socket.connect",
        "socket.getaddrinfo",
        "subprocess.Popen",
        "os.system",
        "sqlite3.connect",
        "time.sleep",
    }
)
_recordings: Final[list[list[str]]] = []
_hooks: Final[list[Any]] = []


@contextmanager
def record_outside_calls() -> Iterator[list[str]]:
    """Gives the names of the calls that are made while the context is open, as of the audit events of Python."""
    if not _hooks:
        sys.addaudithook(
            _record_event
        )  # stays for the life of the process, and does nothing between recordings
        _hooks.append(_record_event)
    calls: list[str] = []
    _recordings.append(calls)
    try:
        yield calls
    finally:
        _recordings.pop()


def _record_event(event: str, _arguments: tuple[Any, ...]) -> None:
    if _recordings and event in _EVENTS:
        _recordings[-1].append(event)
