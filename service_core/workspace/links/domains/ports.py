"""Port to the TXT records of the public DNS."""

from collections.abc import Collection
from typing import Protocol


class DnsUnavailable(Exception):
    """No name server answered; the records of the name are unknown."""


class TxtRecords(Protocol):
    """Queries TXT records."""

    async def query_txt(self, name: str) -> Collection[str]:
        """Returns the values of the TXT records of a name; none when there is no such name or record.

        Raises:
            DnsUnavailable: no server answered in time, or it refused the query.
        """
