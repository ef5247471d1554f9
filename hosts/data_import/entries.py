"""The entries of an import: one per line or row, in order, for every file format."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class ImportEntry:
    """One line or row of a file.

    Attributes:
        body: the object `/track` would have received; None when the line is no event.
        skip_reason: why the line is no event.
        event_id: id of an entry whose body names none; the same line always has the same one, so a
            second import of a file finds duplicates instead of new events.
        user_agent, address: of the client, where the file knows them.
        byte_count: bytes the entry takes of the file, for the progress bar.
    """

    body: Mapping[str, Any] | None
    skip_reason: str | None = None
    event_id: str | None = None
    user_agent: str | None = None
    address: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    byte_count: int = 0
