"""What proving a domain needs from outside: the text records of the public DNS."""

from collections.abc import Collection
from typing import Protocol


class RecordsDown(Exception):
    """No name server answered; nothing is known of the name."""


class TextRecords(Protocol):
    """The TXT records of names."""

    async def texts(self, name: str) -> Collection[str]:
        """What the records of a name say, each as one text; none when there is no such name or record.

        Raises:
            RecordsDown: no server answered in time, or it refused to.
        """
