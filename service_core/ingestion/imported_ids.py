"""Event ids of imported events, which no event of a client has."""

import re
from typing import Final

FILE_OF_EVENTS: Final = "events"
"""Source in the event ids of files that no import source reads."""

_IMPORTED_ID: Final = re.compile(r"imported(?:~\d+)?:[^:]*:(.*)", re.DOTALL)
_PREFIX: Final = re.compile(r"imported(?:~\d+)?:")


def queue_id_of_imported_row(source: str, row_id: str, generation: int) -> str:
    """Returns the id under which the queue claims an imported row.

    Args:
        source: id of the import source; rows of two sources with the same id are two events.
        row_id: id of the row; that of an event which was imported before, exported and is imported again is the same row.
        generation: as `ImportMark` has it; above 0, the row can be claimed again after a removal.
    """
    prefix = f"imported~{generation}" if generation else "imported"
    return f"{prefix}:{source}:{row_id_of_import(row_id)}"


def stored_import_id(claimed_id: str) -> str:
    """Returns the event id of an imported row, which is the same in each generation."""
    return _PREFIX.sub("imported:", claimed_id, count=1)


def row_id_of_import(event_id: str) -> str:
    """Returns the id of the row that became an event; any other id as it is."""
    found = _IMPORTED_ID.fullmatch(event_id)
    return found[1] if found else event_id


def is_reserved_for_imports(event_id: str) -> bool:
    """Returns whether an id looks like that of an imported event."""
    return event_id.startswith("imported") and _PREFIX.match(event_id) is not None
