"""`GET /ledger`: counts of received, stored, rejected and queued events."""

from datetime import datetime, timedelta
from typing import ClassVar, Final
from uuid import UUID

from pydantic import ConfigDict, Field

from service_core.access.models import Caller
from service_core.ingestion import ledger
from service_core.ingestion.models import IngestEndpoint
from service_core.ingestion.ports import IngestQueue
from service_core.kernel.date_range import RangeResponse, parse_inclusive_start_end_dates
from service_core.kernel.errors import BadRequest
from service_core.kernel.operations import operation
from service_core.kernel.row_selection import RowSelection
from service_core.kernel.schemas import ResponseModel

MAX_RANGE: Final = timedelta(days=31, hours=1)
"""31 local days; one of them may have 25 hours."""


class LedgerQuery(RowSelection):
    """Parameters of `GET /ledger`."""

    required_params: ClassVar = ("start_date", "end_date")
    start_date: str | None = Field(default=None, description="Start by receipt, inclusive.")
    end_date: str | None = Field(
        default=None, description="End by receipt, inclusive; at most 31 days after the start."
    )
    key_id: UUID | None = Field(default=None, description="Only events sent with this write key.")


class LedgerCounts(ResponseModel):
    """``received`` is the sum of ``stored``, ``duplicate``, ``rejected``, ``quarantined`` and ``in_flight``."""

    model_config = ConfigDict(frozen=True, extra="forbid", from_attributes=True)

    received: int = Field(description="Events of requests whose key was known.")
    stored: int = Field(description="Durable in the event store, bots included.")
    duplicate: int = Field(description="Answered as a repeat.")
    rejected: int = Field(description="Answered with an error, or dropped by a transform.")
    quarantined: int = Field(description="Accepted, but not storable; kept raw.")
    in_flight: int = Field(description="Accepted, not stored yet.")
    late: int = Field(description="Of the stored ones, received more than 24 hours after their time.")
    bots: int = Field(description="Of the stored ones, those of bots.")
    rejected_by_reason: dict[str, int]
    ignored_by_reason: dict[str, int] = Field(
        description="Of the stored ones, those with a part that could not be used, such as `money_ignored`."
    )


class LedgerRowKey(ResponseModel):
    """Grouping of the rows."""

    hour: datetime
    key_id: UUID
    channel: IngestEndpoint


class LedgerHour(LedgerCounts, LedgerRowKey):
    """One key, channel and UTC hour of receipt; the base named last gives the first fields."""


class Ledger(ResponseModel):
    """The ledger over a range. ``balanced`` is false when an event is unaccounted for."""

    rows: list[LedgerHour]
    totals: LedgerCounts
    balanced: bool
    oldest_queued_at: datetime | None = Field(description="Receipt of the event that waits longest.")
    range: RangeResponse
    complete: bool


@operation("GET /ledger", tag="workspace", tool_title="Ingest ledger", is_aggregate=True)
async def get_ledger(query: LedgerQuery, *, caller: Caller, queue: IngestQueue) -> Ledger:
    """Account for every event received, by key, channel and hour.

    Hours that the range only touches are whole in the answer.
    """
    date_range = parse_inclusive_start_end_dates(
        query.start_date, query.end_date, caller.workspace.zone, caller.now
    )
    if date_range.span.end - date_range.span.start > MAX_RANGE:
        raise BadRequest("The range may cover 31 days", "range_too_long", field="end_date")
    ledger_rows = await queue.ledger_rows(
        caller.workspace.id, ledger.start_of_hour(date_range.span.start), date_range.span.end
    )
    rows = [row for row in ledger_rows if query.key_id in {None, row.key_id}]
    totals = ledger.sum_ledger_rows(rows)
    oldest = (await queue.state()).oldest_received_at if totals.in_flight else None
    return Ledger(
        rows=[LedgerHour.model_validate(row) for row in rows],
        totals=LedgerCounts.model_validate(totals),
        balanced=ledger.all_balanced(rows),
        oldest_queued_at=oldest,
        range=RangeResponse.from_range(date_range),
        complete=True,
    )


OPERATIONS = (get_ledger,)
