"""Old recordings moved into the present: the newest event becomes now, distances stay."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from hosts.importing.entries import Entry
from service_core.intake.event_time import instant_of


def shift_to(now: datetime, entries: Iterable[Entry]) -> timedelta:
    """How far to move the entries so that the newest lies at ``now``; nothing without timestamps."""
    found = [instant for entry in entries if entry.body and (instant := _instant(entry.body)) is not None]
    return now - max(found) if found else timedelta(0)


def shifted(body: Mapping[str, Any], shift: timedelta) -> Mapping[str, Any]:
    """The body with its timestamp moved."""
    instant = _instant(body)
    return body if instant is None else {**body, "timestamp": (instant + shift).astimezone(UTC).isoformat()}


def _instant(body: Mapping[str, Any]) -> datetime | None:
    return instant_of(body.get("timestamp"))
