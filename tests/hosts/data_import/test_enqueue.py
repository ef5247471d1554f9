"""Imported entries follow the rules of `/track`, once."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from hosts.data_import.enqueue import EventImporter
from hosts.data_import.time_shift import shift_that_moves_newest_to
from plugins.ingest_spool.adapter import SpoolQueue
from plugins.ingest_spool.settings import SpoolSettings
from service_core.access.models import Credential, CredentialKind
from service_core.ingestion.import_sources.models import ImportEntry

NOW = datetime(2026, 7, 1, 12, tzinfo=UTC)
KEY = Credential(UUID(int=2), UUID(int=1), CredentialKind.WRITE, "Write key", frozenset(), 100, "…", NOW)


@pytest.fixture
async def queue(tmp_path):
    spool = SpoolQueue(SpoolSettings(url="spool:///spool.db", path=tmp_path / "spool.db"))
    await spool.start()
    yield spool
    await spool.aclose()


async def enqueue_entries(queue, entries, **options):
    importer = EventImporter(queue, KEY, lambda: NOW, **options)
    lots = []
    await importer.enqueue_in_batches(entries, lambda lot: lots.append(len(lot)))
    return importer.outcomes, lots


async def test_every_entry_has_an_outcome_with_a_reason(queue):
    entries = [
        ImportEntry({"event": "a", "user_id": "1", "event_id": "x"}),
        ImportEntry({"event": "a", "user_id": "1", "event_id": "x"}),
        ImportEntry({"user_id": "1"}),
        ImportEntry({"event": "a"}),
        ImportEntry(None, "asset"),
    ]
    outcomes, lots = await enqueue_entries(queue, entries)
    assert outcomes == {"queued": 1, "duplicate": 1, "no_event_name": 1, "no_identity": 1, "asset": 1}
    assert lots == [5]


async def test_entry_without_an_id_is_imported_once_by_its_position(queue):
    entry = ImportEntry({"event": "a", "user_id": "1"}, event_id="import:0")
    assert (await enqueue_entries(queue, [entry]))[0] == {"queued": 1}
    assert (await enqueue_entries(queue, [entry]))[0] == {"duplicate": 1}


async def test_ledger_counts_an_import_under_the_write_key(queue):
    await enqueue_entries(queue, [ImportEntry({"event": "a", "user_id": "1"}), ImportEntry({"event": "a"})])
    (row,) = await queue.ledger_rows(KEY.workspace_id, NOW - timedelta(hours=1), NOW + timedelta(hours=1))
    assert (row.key_id, row.received, row.in_flight, row.rejected) == (KEY.id, 2, 1, 1)
    assert row.is_balanced


async def test_shifted_times_keep_distances_and_end_now(queue):
    entries = [
        ImportEntry({"event": "a", "user_id": "1", "timestamp": "2015-05-17T10:00:00Z"}),
        ImportEntry({"event": "a", "user_id": "1", "timestamp": "2015-05-17T11:30:00Z"}),
        ImportEntry({"event": "a", "user_id": "1"}),
    ]
    await enqueue_entries(queue, entries, shift=shift_that_moves_newest_to(NOW, entries))
    bodies = [queued.arrival.body.decode() for queued in await queue.take(10)]
    assert sum("2026-07-01T12:00:00+00:00" in body for body in bodies) == 1
    assert sum("2026-07-01T10:30:00+00:00" in body for body in bodies) == 1
    assert sum("timestamp" not in body for body in bodies) == 1


async def test_events_without_a_time_are_reported(queue):
    old, new = (
        {"event": "a", "user_id": "1", "timestamp": f"{year}-05-17T10:00:00Z"} for year in (2015, 2025)
    )
    importer = EventImporter(queue, KEY, lambda: NOW)
    await importer.enqueue_in_batches(
        [ImportEntry(old), ImportEntry(old | {"timestamp": "soon"}), ImportEntry(new)], lambda _: None
    )
    assert (importer.outcomes["queued"], importer.received_now) == (3, 2)
    moved = EventImporter(queue, KEY, lambda: NOW, shift_that_moves_newest_to(NOW, [ImportEntry(old)]))
    await moved.enqueue_in_batches([ImportEntry(old)], lambda _: None)
    assert moved.received_now == 0
