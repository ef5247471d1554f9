"""Marks an exception with the plugin that raised it, so that a message can name the plugin."""

from typing import Final

_PREFIX: Final = "Raised by plugin "


def mark_as_fault_of_plugin(error: BaseException, plugin: str) -> None:
    """Adds the plugin to the notes of an exception, which logs show; the first mark stays.

    Args:
        error: what the plugin raised.
        plugin: the plugin and its package, as in messages.
    """
    if plugin_of_fault(error) is None:
        error.add_note(f"{_PREFIX}{plugin}")


def plugin_of_fault(error: BaseException) -> str | None:
    """Returns the plugin and package that an exception is marked with; None without a mark."""
    notes = (note for note in getattr(error, "__notes__", ()) if note.startswith(_PREFIX))
    return next((note.removeprefix(_PREFIX) for note in notes), None)
