"""The `Domains` port on publicsuffixlist."""

from ipaddress import ip_address

from publicsuffixlist import PublicSuffixList


class PublicSuffixes:
    """Registrable domains; private suffixes count, so two sites on one hosting platform are two."""

    def __init__(self) -> None:
        self._list = PublicSuffixList()

    def registrable(self, host: str) -> str | None:
        """The registrable domain of a host; None for an address or a bare suffix."""
        if host.endswith("]") or _is_address(host):
            return None
        return self._list.privatesuffix(host)


def _is_address(host: str) -> bool:
    if not host[-1:].isdigit():
        return False
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
