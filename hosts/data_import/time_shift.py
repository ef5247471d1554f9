"""Moves old recordings to the present: the newest event becomes now, and distances stay."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from service_core.ingestion.event_time import parse_iso_or_epoch_time
from service_core.ingestion.import_sources.models import ImportEntry


def shift_that_moves_newest_to(now: datetime, entries: Iterable[ImportEntry]) -> timedelta:
    """Returns the shift that moves the newest entry to ``now``; zero without timestamps."""
    instants = [
        instant for entry in entries if entry.body and (instant := _parse_timestamp(entry.body)) is not None
    ]
    return now - max(instants) if instants else timedelta(0)


def shift_timestamp(body: Mapping[str, Any], shift: timedelta) -> Mapping[str, Any]:
    """Returns the body with its timestamp shifted."""
    instant = _parse_timestamp(body)
    return body if instant is None else {**body, "timestamp": (instant + shift).astimezone(UTC).isoformat()}


def _parse_timestamp(body: Mapping[str, Any]) -> datetime | None:
    return parse_iso_or_epoch_time(body.get("timestamp"))
