"""Listening sockets that the service manager opened, as systemd passes them to a service (``sd_listen_fds``).

They stay open while the service restarts: what connects meanwhile waits in their backlog instead of being refused.
"""

import os
import socket
from functools import cache
from typing import Final

from service_core.kernel.listen_address import parse_listen_address

FIRST_DESCRIPTOR: Final = 3
"""systemd passes its sockets as the descriptors from this one on."""


def duplicate_inherited_listener(address: str) -> socket.socket | None:
    """Returns a new descriptor of the inherited socket that listens on an address; None if there is none.

    Args:
        address: ``HOST:PORT`` as in the settings.
    """
    try:
        host, port = parse_listen_address(address)
    except ValueError:
        return None
    for listener in _take_inherited_sockets():
        if listener.getsockname()[:2] == (host.strip("[]"), port):
            return listener.dup()
    return None


@cache
def _take_inherited_sockets() -> tuple[socket.socket, ...]:
    """Returns the inherited sockets, and removes the variables that name them: children are not meant."""
    pid, count = os.environ.pop("LISTEN_PID", ""), os.environ.pop("LISTEN_FDS", "")
    os.environ.pop("LISTEN_FDNAMES", None)
    if pid != str(os.getpid()) or not count.isdigit():
        return ()
    sockets = tuple(
        socket.socket(fileno=number) for number in range(FIRST_DESCRIPTOR, FIRST_DESCRIPTOR + int(count))
    )
    for inherited in sockets:
        inherited.set_inheritable(False)
    return tuple(inherited for inherited in sockets if inherited.family in {socket.AF_INET, socket.AF_INET6})
