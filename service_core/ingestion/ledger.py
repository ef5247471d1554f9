"""Sums ledger rows and checks that they balance."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from service_core.ingestion.models import LedgerRow


@dataclass(frozen=True, slots=True)
class LedgerTotals:
    """Sums over several ledger rows."""

    received: int
    stored: int
    duplicate: int
    rejected: int
    quarantined: int
    in_flight: int
    late: int
    bots: int
    rejected_by_reason: Mapping[str, int]
    ignored_by_reason: Mapping[str, int]


def sum_ledger_rows(rows: Iterable[LedgerRow]) -> LedgerTotals:
    """Returns the sums over the rows; all zero without rows."""
    counts: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    ignored: Counter[str] = Counter()
    for row in rows:
        reasons.update(row.rejected_by_reason)
        ignored.update(row.ignored_by_reason)
        for name in _COUNTS:
            counts[name] += getattr(row, name)
    return LedgerTotals(
        **{name: counts[name] for name in _COUNTS},
        rejected_by_reason=dict(sorted(reasons.items())),
        ignored_by_reason=dict(sorted(ignored.items())),
    )


def all_balanced(rows: Iterable[LedgerRow]) -> bool:
    """Returns whether every received event of every row is accounted for."""
    return all(row.is_balanced for row in rows)


def start_of_hour(moment: datetime) -> datetime:
    """Returns the start of the UTC hour of an instant."""
    return moment - timedelta(minutes=moment.minute, seconds=moment.second, microseconds=moment.microsecond)


_COUNTS = ("received", "stored", "duplicate", "rejected", "quarantined", "in_flight", "late", "bots")
