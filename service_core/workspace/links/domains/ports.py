"""What proving a domain needs from outside: the text records of the public DNS."""

from collections.abc import Collection
from typing import Protocol


class DnsUnavailable(Exception):
    """No name server answered; nothing is known of the name."""


class TxtRecords(Protocol):
    """The TXT records of names."""

    async def query_txt(self, name: str) -> Collection[str]:
        """What the records of a name say, each as one text; none when there is no such name or record.

        Raises:
            DnsUnavailable: no server answered in time, or it refused to.
        """
