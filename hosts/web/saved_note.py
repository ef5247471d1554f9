"""The note "Saved · Undo" on the page that a saved form leads to."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final
from uuid import UUID

from quart import request

SAVED_TEXTS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "create": "Created.",
        "update": "Saved.",
        "reorder": "Saved.",
        "delete": "Deleted.",
        "undo": "Change undone.",
        "test": "A test e-mail is on its way. It arrives within a minute.",
        "test_message": "A test message is on its way. Reload the page in some seconds to see its result.",
        "unchanged": "No changes.",
    }
)
"""Action of a change -> what the note says."""

UNDOABLE_ACTIONS: Final = frozenset({"update", "reorder", "delete"})


@dataclass(frozen=True, slots=True)
class SavedNote:
    """A change that was just saved.

    Attributes:
        text: what happened.
        undo_id: id of the audit entry to undo; None when there is nothing to undo.
    """

    text: str
    undo_id: str | None


def saved_note_parameter(action: str, audit_id: str | None) -> str:
    """Returns the value of the parameter ``saved`` of the page that shows the note."""
    return f"{action}.{audit_id}" if audit_id else action


def read_saved_note() -> SavedNote | None:
    """Returns the note that the address of the request asks for; None for anything but a known action."""
    action, _, audit_id = request.args.get("saved", "").partition(".")
    if action not in SAVED_TEXTS:
        return None
    undoable = action in UNDOABLE_ACTIONS and _is_id(audit_id)
    return SavedNote(SAVED_TEXTS[action], audit_id if undoable else None)


def _is_id(text: str) -> bool:
    try:
        UUID(text)
    except ValueError:
        return False
    return True
