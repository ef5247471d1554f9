"""Reserves a loopback port for a server that binds it later, also again after a test has killed it."""

import os
import socket
from weakref import finalize


def reserve_loopback_port(owner: object) -> int:
    """Returns a free loopback port that stays bound, without listening, until its owner is garbage-collected.

    The system gives a bound port to no other process, but a server that sets `SO_REUSEADDR` can listen on it.

    Args:
        owner: the object whose end releases the port.
    """
    with socket.socket() as reserved:
        reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        reserved.bind(("127.0.0.1", 0))
        port = int(reserved.getsockname()[1])
        finalize(owner, os.close, reserved.detach())
    return port
