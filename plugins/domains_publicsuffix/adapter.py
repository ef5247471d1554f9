"""The `PublicSuffixList` port on publicsuffixlist."""

from functools import cache
from ipaddress import ip_address

from publicsuffixlist import PublicSuffixList


class PackagedSuffixList:
    """Finds registrable domains. Private suffixes count, so two sites of one hosting platform differ."""

    def registrable_domain(self, host: str) -> str | None:
        """Returns the registrable domain of a host; None for an IP address or a bare suffix."""
        if host.endswith("]") or _is_ip_address(host):
            return None
        return _load_packaged_list().privatesuffix(host)


@cache
def _load_packaged_list() -> PublicSuffixList:
    """Returns the packaged list; loading takes 30 ms, so it is loaded once when first used."""
    return PublicSuffixList()


def _is_ip_address(host: str) -> bool:
    if not host[-1:].isdigit():
        return False
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
