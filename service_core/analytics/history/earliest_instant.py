"""The earliest instant whose answers can be given again."""

from datetime import datetime, timedelta

from service_core.access.models import Workspace
from service_core.ingestion.ports import EventStoreRecord
from service_core.kernel.errors import BadRequest
from service_core.kernel.timestamps import format_timestamp


async def require_known_instant(
    workspace: Workspace,
    as_of: datetime,
    now: datetime,
    *,
    recording_start: datetime,
    workspace_start: datetime,
    retention: timedelta,
    event_store_record: EventStoreRecord,
) -> None:
    """Returns if everything that answers depend on is known as it was at an instant.

    Args:
        workspace: whose answers.
        as_of: the instant.
        now: the present.
        recording_start: when the event store was created.
        workspace_start: since when the workspace store knows the workspace.
        retention: how long replaced facts are kept.
        event_store_record: says since when the deployment uses the event store and these definitions of metrics.

    Raises:
        BadRequest: ``invalid_parameter``, for an instant in the future; ``as_of_unavailable``, before the earliest one.
    """
    if as_of > now:
        raise BadRequest("as_of must not be in the future", "invalid_parameter", field="as_of")
    store = await event_store_record.find_event_store()
    bounds = {
        "the workspace was created": max(workspace.created_at, workspace_start),
        "the event store was created": recording_start,
        "the deployment uses this event store": store.since if store else recording_start,
        "no metric was defined otherwise and no backup was restored": (
            store.answers_since if store and store.answers_since else recording_start
        ),
        "replaced facts are kept": now - retention,
    }
    reason, earliest = max(bounds.items(), key=lambda bound: bound[1])
    if as_of < earliest:
        raise history_unavailable_error(reason, earliest)


def history_unavailable_error(reason: str, earliest: datetime) -> BadRequest:
    """Returns the error for an instant before the earliest one, which it names."""
    at = format_timestamp(earliest + timedelta(milliseconds=1))
    return BadRequest(
        f"Answers can be given again from {at} on: since then {reason}",
        "as_of_unavailable",
        field="as_of",
        hint="Send this instant or a later one.",
        extra={"earliest": at},
    )
