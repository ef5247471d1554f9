"""The `Domains` port on publicsuffixlist."""

from functools import cache
from ipaddress import ip_address

from publicsuffixlist import PublicSuffixList


class PackagedSuffixList:
    """Registrable domains; private suffixes count, so two sites on one hosting platform are two."""

    def registrable_domain(self, host: str) -> str | None:
        """The registrable domain of a host; None for an address or a bare suffix."""
        if host.endswith("]") or _is_ip_address(host):
            return None
        return _load_packaged_list().privatesuffix(host)


@cache
def _load_packaged_list() -> PublicSuffixList:
    """The list of the package, which takes 30 ms to read: once, and by a process that is asked for a domain."""
    return PublicSuffixList()


def _is_ip_address(host: str) -> bool:
    if not host[-1:].isdigit():
        return False
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
