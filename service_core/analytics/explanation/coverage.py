"""Finds days on which events were missing, by the ingest ledger."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta
from statistics import median
from typing import Final, Literal
from zoneinfo import ZoneInfo

from service_core.ingestion.models import LedgerRow
from service_core.kernel.wall_clock import local_date

CoverageReason = Literal[
    "no_events_received", "events_rejected", "events_quarantined", "events_in_flight", "late_source"
]

_SILENT_HOURS: Final = 3
_MIN_USUAL_EVENTS: Final = 10
_MIN_REJECTED_SHARE: Final = 0.05
_HOUR: Final = timedelta(hours=1)


def find_days_with_missing_events(
    rows: Iterable[LedgerRow], last_hour: datetime, zone: ZoneInfo
) -> list[tuple[date, CoverageReason]]:
    """Returns local days of receipt with a reason why events are missing, by day.

    ``no_events_received``: 3 hours in a row without an event, at hours that usually bring 10 or more.
    ``events_rejected``: a twentieth of the events of the day or more. ``events_quarantined`` and ``events_in_flight``: any.

    Args:
        rows: the ledger from its first event on.
        last_hour: the hour after the last one to judge.
        zone: time zone of the days.
    """
    received: Counter[datetime] = Counter()
    by_day: dict[date, Counter[str]] = defaultdict(Counter)
    for row in rows:
        received[row.hour] += row.received
        counts = by_day[local_date(row.hour, zone)]
        counts["received"] += row.received
        counts["rejected"] += row.rejected
        counts["quarantined"] += row.quarantined
        counts["in_flight"] += row.in_flight
    found: set[tuple[date, CoverageReason]] = {
        (local_date(hour, zone), "no_events_received")
        for hour in _hours_of_unusual_silence(received, last_hour)
    }
    for day, counts in by_day.items():
        found.update((day, reason) for reason in _missing_event_reasons_of_day(counts))
    return sorted(found)


def _missing_event_reasons_of_day(counts: Mapping[str, int]) -> Iterable[CoverageReason]:
    if counts["rejected"] and counts["rejected"] >= _MIN_REJECTED_SHARE * counts["received"]:
        yield "events_rejected"
    if counts["quarantined"]:
        yield "events_quarantined"
    if counts["in_flight"]:
        yield "events_in_flight"


def _hours_of_unusual_silence(received: Mapping[datetime, int], last_hour: datetime) -> Sequence[datetime]:
    """Returns the hours of each run of hours without events that usually have some."""
    if not received:
        return ()
    first = min(received)
    hours = [first + number * _HOUR for number in range(max(0, (last_hour - first) // _HOUR))]
    by_hour_of_day: dict[int, list[int]] = defaultdict(list)
    for hour in hours:
        by_hour_of_day[hour.hour].append(received.get(hour, 0))
    usual = {hour_of_day: median(counts) for hour_of_day, counts in by_hour_of_day.items()}
    silent: list[datetime] = []
    run: list[datetime] = []
    for hour in hours:
        if not received.get(hour, 0) and usual[hour.hour] >= _MIN_USUAL_EVENTS:
            run.append(hour)
            continue
        silent += run if len(run) >= _SILENT_HOURS else []
        run = []
    return [*silent, *(run if len(run) >= _SILENT_HOURS else [])]
