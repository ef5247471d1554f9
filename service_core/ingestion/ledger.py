"""Sums over ledger rows: what became of every event, and whether that adds up (semantics 20)."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from service_core.ingestion.models import LedgerRow


@dataclass(frozen=True, slots=True)
class LedgerTotals:
    """The counts of several ledger rows together."""

    received: int
    stored: int
    duplicate: int
    rejected: int
    quarantined: int
    in_flight: int
    late: int
    bots: int
    rejected_by_reason: Mapping[str, int]


def sum_ledger_rows(rows: Iterable[LedgerRow]) -> LedgerTotals:
    """The rows added up; all zero without rows."""
    counts: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    for row in rows:
        reasons.update(row.rejected_by_reason)
        for name in _COUNTS:
            counts[name] += getattr(row, name)
    return LedgerTotals(
        **{name: counts[name] for name in _COUNTS}, rejected_by_reason=dict(sorted(reasons.items()))
    )


def all_balanced(rows: Iterable[LedgerRow]) -> bool:
    """Whether every received event of every row is accounted for."""
    return all(row.is_balanced for row in rows)


def start_of_hour(moment: datetime) -> datetime:
    """Start of the UTC hour an instant lies in: a local midnight may lie inside one."""
    return moment - timedelta(minutes=moment.minute, seconds=moment.second, microseconds=moment.microsecond)


_COUNTS = ("received", "stored", "duplicate", "rejected", "quarantined", "in_flight", "late", "bots")
