"""The `Domains` port on publicsuffixlist."""

from functools import cache
from ipaddress import ip_address

from publicsuffixlist import PublicSuffixList


class PublicSuffixes:
    """Registrable domains; private suffixes count, so two sites on one hosting platform are two."""

    def registrable(self, host: str) -> str | None:
        """The registrable domain of a host; None for an address or a bare suffix."""
        if host.endswith("]") or _is_address(host):
            return None
        return _packaged().privatesuffix(host)


@cache
def _packaged() -> PublicSuffixList:
    """The list of the package, which takes 30 ms to read: once, and by a process that is asked for a domain."""
    return PublicSuffixList()


def _is_address(host: str) -> bool:
    if not host[-1:].isdigit():
        return False
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
