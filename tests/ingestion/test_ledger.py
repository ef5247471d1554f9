"""`GET /ledger`."""

from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import pytest

from service_core.access.models import Caller, Credential, CredentialKind, Workspace
from service_core.ingestion.models import IngestEndpoint, LedgerRow
from service_core.ingestion.operations import LedgerHour, LedgerQuery, get_ledger
from service_core.kernel.errors import BadRequest
from tests.fixtures.stub_queues import StubIngestQueue

NOW = datetime(2026, 7, 8, 15, tzinfo=UTC)
ONE, TWO = uuid4(), uuid4()


def ledger_row(hour: datetime, key: UUID = ONE, **counts: object) -> LedgerRow:
    none = dict.fromkeys(("received", "stored", "duplicate", "quarantined", "in_flight", "late", "bots"), 0)
    return LedgerRow(
        **{"hour": hour, "key_id": key, "channel": IngestEndpoint.TRACK, **none, "rejected_by_reason": {}}
        | counts
    )


def make_queue(*rows):
    return StubIngestQueue(rows=rows, oldest=NOW - timedelta(minutes=1))


def make_caller(zone: str = "UTC") -> Caller:
    workspace = Workspace(
        id=uuid4(), public_id="k3Jx9QmZ2aPr", name="W", domain=None, timezone=zone, currency="USD",
        plan="unlimited", active=True, created_at=NOW, secret=b"s",
    )  # fmt: skip
    credential = Credential(
        id=uuid4(), workspace_id=workspace.id, kind=CredentialKind.AGENT, name="A", scopes=frozenset(),
        rate_limit=100, hint="", created_at=NOW,
    )  # fmt: skip
    return Caller(workspace, credential, NOW)


def ledger_query(**more) -> LedgerQuery:
    return LedgerQuery(start_date="2026-07-08", end_date="2026-07-08", **more)


FULL = ledger_row(
    NOW - timedelta(hours=1),
    received=15, stored=5, duplicate=1, quarantined=1, in_flight=2, late=1, bots=1,
    rejected_by_reason={"no_body": 4, "too_large": 2},
)  # fmt: skip


async def test_rows_carry_every_count_and_the_totals_add_them_up():
    queue, owner = make_queue(FULL, ledger_row(NOW, TWO, received=3, stored=3)), make_caller()
    answer = await get_ledger(ledger_query(), caller=owner, queue=queue)
    assert [(r.key_id, r.received, r.rejected) for r in answer.rows] == [(ONE, 15, 6), (TWO, 3, 0)]
    totals = answer.totals
    assert (totals.received, totals.stored, totals.rejected, totals.in_flight) == (18, 8, 6, 2)
    assert totals.rejected_by_reason == {"no_body": 4, "too_large": 2}
    assert answer.balanced
    assert queue.ledger_requests[-1][0] == owner.workspace.id


async def test_missing_event_is_reported():
    answer = await get_ledger(
        ledger_query(), caller=make_caller(), queue=make_queue(FULL, ledger_row(NOW, received=2, stored=1))
    )
    assert not answer.balanced


async def test_ledger_filters_by_key():
    answer = await get_ledger(
        ledger_query(key_id=TWO),
        caller=make_caller(),
        queue=make_queue(FULL, ledger_row(NOW, TWO, received=1)),
    )
    assert [r.key_id for r in answer.rows] == [TWO]
    assert answer.totals.received == 1


async def test_longest_wait_is_null_when_the_queue_is_empty():
    waiting = await get_ledger(ledger_query(), caller=make_caller(), queue=make_queue(FULL))
    idle = await get_ledger(
        ledger_query(), caller=make_caller(), queue=make_queue(ledger_row(NOW, received=1, stored=1))
    )
    assert (waiting.oldest_queued_at, idle.oldest_queued_at) == (NOW - timedelta(minutes=1), None)


async def test_local_day_includes_the_hour_of_its_midnight():
    queue = make_queue()
    await get_ledger(ledger_query(), caller=make_caller("Asia/Kolkata"), queue=queue)
    assert queue.ledger_requests[-1][1:] == (
        datetime(2026, 7, 7, 18, tzinfo=UTC), datetime(2026, 7, 8, 18, 30, tzinfo=UTC),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("start", "end", "code"),
    [(None, "2026-07-08", None), ("2026-07-08", "x", None), ("2026-06-01", "2026-07-02", "range_too_long")],
)
async def test_invalid_range_is_refused(start, end, code):
    with pytest.raises(BadRequest) as refusal:
        await get_ledger(
            LedgerQuery(start_date=start, end_date=end), caller=make_caller(), queue=make_queue()
        )
    assert refusal.value.code == code


async def test_range_of_31_days_is_accepted_across_a_clock_change():
    request = LedgerQuery(start_date="2026-10-15", end_date="2026-11-14")
    assert (await get_ledger(request, caller=make_caller("America/New_York"), queue=make_queue())).rows == []


def test_row_begins_with_its_key_columns():
    assert list(LedgerHour.model_fields) == [
        "hour", "key_id", "channel", "received", "stored", "duplicate", "rejected", "quarantined", "in_flight",
        "late", "bots", "rejected_by_reason", "ignored_by_reason",
    ]  # fmt: skip
