"""A port of the loopback for a server that takes it later, and again after a test has killed it."""

import os
import socket
from weakref import finalize


def reserve_tcp_port(holder: object) -> int:
    """A port that the system gives to nobody else as long as the holder lives.

    A port that was merely found free may be given to any other process until the server takes it. This one
    stays bound, and nobody listens: who names it and reuses addresses, as servers do, may listen there.

    Args:
        holder: whoever starts the server.
    """
    with socket.socket() as kept:
        kept.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        kept.bind(("127.0.0.1", 0))
        port = int(kept.getsockname()[1])
        finalize(holder, os.close, kept.detach())
    return port
