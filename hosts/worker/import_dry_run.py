"""Reads a file of an import to its end without importing anything."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Final

from service_core.delivery.imports.models import ACCEPTED
from service_core.ingestion.import_sources.models import ImportEntry
from service_core.ingestion.import_sources.reconciliation import SheetDays, add_row_outcomes_by_day
from service_core.ingestion.models import RejectionReason
from service_core.ingestion.validation import validate_name_and_identity

_BATCH: Final = 1_000
_FIRST_ENTRIES: Final = 5


@dataclass(frozen=True, slots=True)
class DryRun:
    """What a file would become: its first events, and its reconciliation sheet without duplicates."""

    first_entries: list[ImportEntry]
    sheet: SheetDays


def outcome_without_import(entry: ImportEntry) -> str:
    """Returns what would become of an entry that is no duplicate."""
    if entry.body is None:
        return entry.skip_reason or "not an event"
    verdict = validate_name_and_identity(entry.body)
    return verdict.value if isinstance(verdict, RejectionReason) else ACCEPTED


def read_without_importing(entries: Iterable[ImportEntry]) -> DryRun:
    """Returns what the entries would become; holds one batch of them at a time."""
    remaining, first, sheet = iter(entries), list[ImportEntry](), dict[str, dict[str, int]]()
    while batch := list(islice(remaining, _BATCH)):
        events = (entry for entry in batch if entry.body is not None)
        first += islice(events, max(0, _FIRST_ENTRIES - len(first)))
        sheet = add_row_outcomes_by_day(sheet, batch, map(outcome_without_import, batch))
    return DryRun(first, sheet)
