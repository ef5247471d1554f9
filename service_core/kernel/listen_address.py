"""Addresses a process listens on, as settings and commands write them."""

from typing import Final

MAX_PORT: Final = 65535


def parse_listen_address(address: str) -> tuple[str, int]:
    """Host and port of an address.

    Args:
        address: ``HOST:PORT``, a literal IPv6 host in brackets; port 0 stands for a free one.

    Raises:
        ValueError: it is none; the message says how to write one.
    """
    host, _, port = address.rpartition(":")
    if not host or not (port.isascii() and port.isdecimal()) or int(port) > MAX_PORT:
        raise ValueError(f"{address!r} is no address to listen on; write HOST:PORT")
    return host, int(port)
