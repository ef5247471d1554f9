"""The `HOST:PORT` form in which settings and commands name a listen address."""

from typing import Final

MAX_PORT: Final = 65535


def parse_listen_address(address: str) -> tuple[str, int]:
    """Returns the host and the port of a listen address.

    Args:
        address: ``HOST:PORT``, with a literal IPv6 host in brackets. Port 0 lets the system choose a free port.

    Raises:
        ValueError: the text has another form; the message shows the right one.
    """
    host, _, port = address.rpartition(":")
    if not host or not (port.isascii() and port.isdecimal()) or int(port) > MAX_PORT:
        raise ValueError(f"{address!r} is not a listen address; write HOST:PORT")
    return host, int(port)
