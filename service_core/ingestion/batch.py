"""Handles `POST /batch`: many events of one web page, sent with a public workspace id instead of a key.

The body names the workspace by its public id, which every page contains; its allowed origins limit which pages may send
events. The ledger counts each event under the workspace's id instead of a key id.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, NamedTuple
from uuid import UUID

from service_core.access.models import Workspace
from service_core.access.workspace_cache import WorkspaceCache
from service_core.ingestion import cors
from service_core.ingestion.models import IngestEndpoint, ReceivedEvent, RejectionReason
from service_core.ingestion.offer_events import offer_all_or_list_failures
from service_core.ingestion.ports import EnqueueFailed, EnqueueResult, IngestQueue
from service_core.ingestion.sanitize_json import sanitize_json_value
from service_core.ingestion.track import (
    INVALID_KEY,
    REJECTION_RESPONSES,
    IngestResponse,
    TrackHeaders,
    enqueue_failed_response,
)
from service_core.ingestion.validation import (
    REJECTION_MESSAGES,
    read_event_id_or_hash_of_long_one,
    text_of_string_or_number,
    validate_name_and_identity,
)
from service_core.kernel.clock import Clock
from service_core.kernel.ids import new_id

MAX_EVENTS: Final = 500

ORIGIN_NOT_ALLOWED: Final = IngestResponse(403, {"error": "Origin not allowed"})
_EVENTS_REQUIRED: Final = IngestResponse(400, {"error": "An events array is required"})
_TOO_MANY_EVENTS: Final = IngestResponse(
    413, {"error": f"Too many events. Maximum is {MAX_EVENTS} per batch."}
)
_RATE_LIMITED: Final = IngestResponse(
    429, {"error": "Rate limit exceeded. Maximum 1000 events per second."}, {"retry-after": "1"}
)

Encode = Callable[[object], bytes]
"""Value -> JSON bytes; raises TypeError for values that are nested too deeply."""

ConsumeBatchRateLimit = Callable[[UUID, datetime, int], bool]
"""Counts a number of events of a workspace; False, without counting, if they exceed the limit of the second."""


class BatchRequest(NamedTuple):
    """The parts of a batch request that its handler reads.

    Attributes:
        document: the decoded body.
        headers: the headers that ingestion reads.
        origin: web origin of the page, if sent.
        client_ip: IP address of the client, if known.
    """

    document: Mapping[str, Any]
    headers: TrackHeaders
    origin: str | None
    client_ip: str | None


@dataclass(frozen=True, slots=True)
class BatchEndpoint:
    """Handles the batch requests of browsers.

    Attributes:
        consume_rate_limit: counts events by workspace.
        encode: encodes one event of the batch as JSON.
        on_failure: called for each event that the queue did not store.
    """

    workspaces: WorkspaceCache
    queue: IngestQueue
    consume_rate_limit: ConsumeBatchRateLimit
    clock: Clock
    encode: Encode
    on_failure: Callable[[EnqueueFailed], None]

    async def check_and_enqueue_batch(self, request: BatchRequest) -> IngestResponse:
        """Checks workspace, origin, size and rate limit, then enqueues the valid events in one commit.

        Rejected events are counted in the ledger. The response lists accepted, duplicate and rejected events.
        """
        workspace = await find_active_workspace_named_in_body(self.workspaces, request.document)
        if workspace is None:
            return INVALID_KEY.response
        if not cors.is_origin_listed_or_none_listed(request.origin, workspace):
            return ORIGIN_NOT_ALLOWED
        now = self.clock()
        rejections = _Rejections(self.queue, workspace.id, now)
        events = request.document.get("events")
        if not isinstance(events, list):
            await rejections.count_rejected_in_ledger(RejectionReason.INVALID_JSON, 1)
            return _EVENTS_REQUIRED
        if len(events) > MAX_EVENTS:
            await rejections.count_rejected_in_ledger(RejectionReason.TOO_LARGE, len(events))
            return _TOO_MANY_EVENTS
        if events and not self.consume_rate_limit(workspace.id, now, len(events)):
            await rejections.count_rejected_in_ledger(RejectionReason.RATE_LIMITED, len(events))
            return _RATE_LIMITED
        return await self._enqueue_valid_events(events, request, workspace.public_id, rejections)

    async def count_unsupported_encoding_and_answer(self, request: BatchRequest) -> IngestResponse:
        """Refuses a batch whose encoding is unknown; counts its events when the body is readable all the same.

        Without a readable body there is no workspace in whose ledger it could be counted.
        """
        workspace = await find_active_workspace_named_in_body(self.workspaces, request.document)
        if workspace is not None and cors.is_origin_listed_or_none_listed(request.origin, workspace):
            events = request.document.get("events")
            count = len(events) if isinstance(events, list) and events else 1
            rejections = _Rejections(self.queue, workspace.id, self.clock())
            await rejections.count_rejected_in_ledger(RejectionReason.UNSUPPORTED_ENCODING, count)
        return REJECTION_RESPONSES[RejectionReason.UNSUPPORTED_ENCODING].response

    async def _enqueue_valid_events(
        self, events: list[Any], request: BatchRequest, public_id: str, rejections: "_Rejections"
    ) -> IngestResponse:
        """Enqueues the valid events; responds with 500 if there are some and none of them was stored."""
        arrivals: list[ReceivedEvent] = []
        indexes: list[int] = []
        each_names_its_workspace = _workspace_id(request.document) is None
        for index, event in enumerate(events):
            validated = (
                RejectionReason.OTHER_WORKSPACE
                if each_names_its_workspace and _names_other_workspace(event, public_id)
                else validate_name_and_identity(event)
            )
            if isinstance(validated, RejectionReason):
                rejections.record_rejection(index, event, validated)
            else:
                indexes.append(index)
                arrivals.append(self._build_received_event(event, validated.event_id, request, rejections))
        outcomes = await offer_all_or_list_failures(self.queue, arrivals)
        failures = [outcome for outcome in outcomes if isinstance(outcome, EnqueueFailed)]
        for index, outcome in zip(indexes, outcomes, strict=True):
            if isinstance(outcome, EnqueueFailed):
                self.on_failure(outcome)
                rejections.record_rejection(index, events[index], RejectionReason.ENQUEUE_FAILED)
        await rejections.count_recorded_in_ledger()
        if failures and len(failures) == len(arrivals):
            return enqueue_failed_response(failures[0].detail).response
        counts = outcomes.count(EnqueueResult.QUEUED), outcomes.count(EnqueueResult.DUPLICATE)
        return _build_batch_response(len(events), *counts, rejections.errors)

    def _build_received_event(
        self, event: object, event_id: str | None, request: BatchRequest, rejections: "_Rejections"
    ) -> ReceivedEvent:
        return ReceivedEvent(  # positional: keywords take three times as long
            rejections.workspace_id,
            rejections.workspace_id,
            IngestEndpoint.BATCH,
            event_id or str(new_id()),
            event_id is not None,
            rejections.at,
            self._encode_or_sanitize_event(event),
            request.headers.user_agent,
            request.client_ip,
            request.headers.stored_headers,
        )

    def _encode_or_sanitize_event(self, event: object) -> bytes:
        """Returns the event as a JSON body of its own; nesting that is too deep is cut off."""
        try:
            return self.encode(event)
        except TypeError:
            return self.encode(sanitize_json_value(event))


def _build_batch_response(
    received: int, accepted: int, duplicates: int, errors: list[dict[str, Any]]
) -> IngestResponse:
    body = {
        "success": True,
        "received": received,
        "accepted": accepted,
        "duplicates": duplicates,
        "rejected": sorted(errors, key=lambda error: error["index"]),
    }
    return IngestResponse(200, body)


async def find_active_workspace_named_in_body(
    workspaces: WorkspaceCache, document: Mapping[str, Any]
) -> Workspace | None:
    """Returns the active workspace whose public id the body names, or else its first event; None if there is none.

    While the store is unavailable, a cached workspace is used, because a page that is being left does not retry.
    """
    public_id = _workspace_id(document) or _first_workspace_id(document.get("events"))
    workspace = (
        await workspaces.find_by_public_id(public_id, serve_stale_during_outage=True) if public_id else None
    )
    return workspace if workspace is not None and workspace.active else None


def _workspace_id(named_by: Mapping[str, Any]) -> str | None:
    return text_of_string_or_number(named_by.get("workspace_id")) or text_of_string_or_number(
        named_by.get("workspaceId")
    )


def _first_workspace_id(events: object) -> str | None:
    """Returns the workspace id of the first event that names one: published libraries name it there only."""
    ids = (
        (_workspace_id(event) for event in events[:MAX_EVENTS] if isinstance(event, dict))
        if isinstance(events, list)
        else ()
    )
    return next((id_ for id_ in ids if id_), None)


def _names_other_workspace(event: object, public_id: str) -> bool:
    return isinstance(event, dict) and _workspace_id(event) not in {None, public_id}


@dataclass(slots=True)
class _Rejections:
    """The rejected events of one batch, for its response and for the ledger."""

    queue: IngestQueue
    workspace_id: UUID
    at: datetime
    errors: list[dict[str, Any]] = field(default_factory=list)
    reasons: dict[RejectionReason, int] = field(default_factory=dict)

    def record_rejection(self, event_index: int, event: object, reason: RejectionReason) -> None:
        """Records the rejection of one event."""
        event_id = read_event_id_or_hash_of_long_one(event) if isinstance(event, dict) else None
        self.errors.append({"index": event_index, "event_id": event_id, "error": REJECTION_MESSAGES[reason]})
        self.reasons[reason] = self.reasons.get(reason, 0) + 1

    async def count_recorded_in_ledger(self) -> None:
        """Adds all recorded rejections to the ledger."""
        for reason, events in self.reasons.items():
            await self.count_rejected_in_ledger(reason, events)

    async def count_rejected_in_ledger(self, reason: RejectionReason, event_count: int) -> None:
        """Adds rejected events to the ledger."""
        await self.queue.count_rejected(
            self.workspace_id,
            self.workspace_id,
            IngestEndpoint.BATCH,
            reason,
            self.at,
            event_count=event_count,
        )
