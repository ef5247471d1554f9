"""Entries of imports, and what an import source declares."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class ImportEntry:
    """One line or row of a file.

    Attributes:
        body: the object `/track` would have received; None when the row is no event.
        skip_reason: the named difference: why the row is no event.
        event_id: id of an entry whose body names none; the same row always has the same one, so a
            second import of a file finds duplicates instead of new events.
        user_agent, address: of the client, where the file knows them.
        byte_count: bytes the entry takes of the file, for the progress bar.
        day: day of the row as ``YYYY-MM-DD`` where ``body`` has no timestamp; None if the row names none.
        further_bodies: other events that the same row holds; the row counts as one.
    """

    body: Mapping[str, Any] | None
    skip_reason: str | None = None
    event_id: str | None = None
    user_agent: str | None = None
    address: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    byte_count: int = 0
    day: str | None = None
    further_bodies: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportSourceInfo:
    """What an import source declares about itself.

    Attributes:
        id: unique id in lower case; the command is ``touchpoint import ID FILE``.
        label: name of the product whose files it reads.
        homepage: where the vendor documents the format.
        files: which files it reads, in a few words.
    """

    id: str
    label: str
    homepage: str
    files: str
