"""Checks and enqueues the events of ingest protocols, with the limits and the ledger of `/track` and `/batch`."""

import hashlib
import hmac
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, NamedTuple
from uuid import UUID

from service_core.access.models import AuthContext, Workspace
from service_core.access.workspace_cache import WorkspaceCache
from service_core.ingestion import cors
from service_core.ingestion.models import (
    UNREAD_FIELDS_HEADER,
    IngestEndpoint,
    ReceivedEvent,
    RejectionReason,
)
from service_core.ingestion.offer_events import offer_all_or_list_failures
from service_core.ingestion.ports import EnqueueFailed, EnqueueResult, IngestQueue
from service_core.ingestion.protocols.models import (
    MAX_EVENTS,
    ProtocolEvent,
    ProtocolInfo,
    ProtocolOutcome,
    ProtocolRequest,
    ProtocolResponse,
    RequestRefusal,
    UnreadableRequest,
)
from service_core.ingestion.protocols.ports import IngestProtocol
from service_core.ingestion.sanitize_json import replace_nul_and_surrogates, sanitize_json_value
from service_core.ingestion.track import MAX_BODY_BYTES as MAX_EVENT_BYTES
from service_core.ingestion.validation import (
    has_any_identity,
    text_of_string_or_number,
    validate_name_and_identity,
)
from service_core.kernel.ids import new_id

_MAX_UNREAD_TEXT: Final = 500

FindWriteKey = Callable[[str], Awaitable[AuthContext | None]]
"""Returns the write key of an active workspace; None for any other text."""

ConsumeEventRateLimit = Callable[[UUID, datetime, int], bool]
"""Counts a number of events of a sender; False, without counting, if they exceed the limit of the second."""


class ProtocolSender(NamedTuple):
    """Who sends a request: the owner of a write key, or pages that name a public id.

    Attributes:
        id: of the credential, or of the workspace.
        endpoint: where the ledger counts the events: those with a key as `/track`, others as `/batch`.
    """

    workspace: Workspace
    id: UUID
    endpoint: IngestEndpoint


class ClientContext(NamedTuple):
    """What is known of the client besides its request."""

    user_agent: str | None
    ip: str | None
    origin: str | None
    stored_headers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ProtocolEndpoint:
    """Handles requests to the routes of ingest protocols.

    Attributes:
        site_ids: public ids of workspaces by the id that a site's tracking code names.
        consume_rate_limit: counts events by sender.
        encode: encodes an event as JSON; raises TypeError for values that are nested too deeply.
        on_failure: called for each event that the queue did not store.
    """

    workspaces: WorkspaceCache
    find_write_key: FindWriteKey
    site_ids: Mapping[str, str]
    queue: IngestQueue
    consume_rate_limit: ConsumeEventRateLimit
    encode: Callable[[object], bytes]
    on_failure: Callable[[EnqueueFailed], None]

    async def check_and_enqueue_events(
        self,
        protocol: IngestProtocol,
        request: ProtocolRequest,
        client: ClientContext,
        refusal: RequestRefusal | None = None,
    ) -> ProtocolResponse:
        """Enqueues the valid events of a request in one commit; counts the others in the ledger.

        Args:
            protocol: translates the request.
            request: to one of its routes.
            client: who sent it.
            refusal: why the host refuses the request already; it is counted if the key is known.
        """
        return protocol.respond(request, await self._handle_request(protocol, request, client, refusal))

    async def _handle_request(
        self,
        protocol: IngestProtocol,
        request: ProtocolRequest,
        client: ClientContext,
        refusal: RequestRefusal | None,
    ) -> ProtocolOutcome:
        try:
            key = protocol.find_key(request)
        except UnreadableRequest:
            return ProtocolOutcome(refusal=refusal or RequestRefusal.UNREADABLE)
        sender = await self._sender_of_site_id_or_write_key(key)
        if sender is None:
            return ProtocolOutcome(refusal=refusal or RequestRefusal.UNKNOWN_KEY)
        is_public = sender.endpoint is IngestEndpoint.BATCH
        if is_public and not cors.is_origin_listed_or_none_listed(client.origin, sender.workspace):
            return ProtocolOutcome(refusal=RequestRefusal.ORIGIN_NOT_ALLOWED)
        delivery = _Delivery(protocol.info, key, sender, client, request.received_at)
        if refusal is not None:
            await self._count_rejected(delivery, RejectionReason(refusal.value), 1)
            return ProtocolOutcome(refusal=refusal)
        try:
            events = protocol.read_events(request)
        except UnreadableRequest as fault:
            await self._count_rejected(delivery, fault.reason, fault.event_count)
            is_too_large = fault.reason is RejectionReason.TOO_LARGE
            return ProtocolOutcome(
                refusal=RequestRefusal.TOO_LARGE if is_too_large else RequestRefusal.UNREADABLE
            )
        return await self._refuse_excess_or_enqueue(events, delivery)

    async def _refuse_excess_or_enqueue(
        self, events: Sequence[ProtocolEvent], delivery: "_Delivery"
    ) -> ProtocolOutcome:
        """Refuses more events than a request or a second may have; enqueues the others."""
        if len(events) > MAX_EVENTS:
            await self._count_rejected(delivery, RejectionReason.TOO_LARGE, len(events))
            return ProtocolOutcome(refusal=RequestRefusal.TOO_LARGE)
        if events and not self.consume_rate_limit(delivery.sender.id, delivery.received_at, len(events)):
            await self._count_rejected(delivery, RejectionReason.RATE_LIMITED, len(events))
            return ProtocolOutcome(refusal=RequestRefusal.RATE_LIMITED)
        return await self._enqueue_valid_events(events, delivery)

    async def _enqueue_valid_events(
        self, events: Sequence[ProtocolEvent], delivery: "_Delivery"
    ) -> ProtocolOutcome:
        checked = [self._received_event_or_rejection(event, delivery) for event in events]
        rejected = [(i, c) for i, c in enumerate(checked) if isinstance(c, RejectionReason)]
        arrivals = [(i, c) for i, c in enumerate(checked) if isinstance(c, ReceivedEvent)]
        outcomes = await offer_all_or_list_failures(self.queue, [arrival for _, arrival in arrivals])
        for (index, _), outcome in zip(arrivals, outcomes, strict=True):
            if isinstance(outcome, EnqueueFailed):
                self.on_failure(outcome)
                rejected.append((index, RejectionReason.ENQUEUE_FAILED))
        for reason, count in Counter(reason for _, reason in rejected).items():
            await self._count_rejected(delivery, reason, count)
        has_failed = any(isinstance(outcome, EnqueueFailed) for outcome in outcomes)
        return ProtocolOutcome(
            accepted=outcomes.count(EnqueueResult.QUEUED),
            duplicates=outcomes.count(EnqueueResult.DUPLICATE),
            rejected=sorted(rejected),
            refusal=RequestRefusal.ENQUEUE_FAILED if has_failed else None,
        )

    async def _sender_of_site_id_or_write_key(self, key: str | None) -> ProtocolSender | None:
        """Returns who a key belongs to: a site id of the settings, a write key, or a public id of a workspace."""
        if not key:
            return None
        identity = None if key in self.site_ids else await self.find_write_key(key)
        if identity is not None:
            return ProtocolSender(identity.workspace, identity.credential.id, IngestEndpoint.TRACK)
        workspace = await self.workspaces.find_by_public_id(
            self.site_ids.get(key, key), serve_stale_during_outage=True
        )
        if workspace is None or not workspace.active:
            return None
        return ProtocolSender(workspace, workspace.id, IngestEndpoint.BATCH)

    def _received_event_or_rejection(
        self, event: ProtocolEvent, delivery: "_Delivery"
    ) -> ReceivedEvent | RejectionReason:
        if event.key not in {None, delivery.key}:
            return RejectionReason.OTHER_WORKSPACE
        body, sender, client = event.body, delivery.sender, delivery.client
        if delivery.info.derives_visitor_id and not has_any_identity(body):
            visitor = _client_as_reported(body, client)
            derived = derive_daily_visitor_id(sender.workspace, visitor, delivery.received_at)
            body = {**body, "anonymous_id": derived}
        validated = validate_name_and_identity(body)
        if isinstance(validated, RejectionReason):
            return validated
        encoded = self._encode_or_sanitize_event(body)
        if len(encoded) > MAX_EVENT_BYTES:
            return RejectionReason.TOO_LARGE
        headers = dict(client.stored_headers)
        if event.unread_fields:
            unread = ",".join(event.unread_fields)[:_MAX_UNREAD_TEXT]
            headers[UNREAD_FIELDS_HEADER] = replace_nul_and_surrogates(unread)
        return ReceivedEvent(
            sender.workspace.id,
            sender.id,
            sender.endpoint,
            validated.event_id or str(new_id()),
            validated.event_id is not None,
            delivery.received_at,
            encoded,
            client.user_agent,
            client.ip,
            headers,
        )

    def _encode_or_sanitize_event(self, body: Mapping[str, Any]) -> bytes:
        """Returns the event as JSON; what JSON cannot hold, and nesting that is too deep, is cut off."""
        try:
            return self.encode(body)
        except (TypeError, ValueError):
            return self.encode(sanitize_json_value(dict(body)))

    async def _count_rejected(self, delivery: "_Delivery", reason: RejectionReason, event_count: int) -> None:
        sender = delivery.sender
        await self.queue.count_rejected(
            sender.workspace.id,
            sender.id,
            sender.endpoint,
            reason,
            delivery.received_at,
            event_count=event_count,
        )


class _Delivery(NamedTuple):
    """The parts of a request that apply to each of its events."""

    info: ProtocolInfo
    key: str | None
    sender: ProtocolSender
    client: ClientContext
    received_at: datetime


def _client_as_reported(body: Mapping[str, Any], client: ClientContext) -> ClientContext:
    """Returns the client with the address and user agent that a server reports of its visitor."""
    context, ip = body.get("context"), text_of_string_or_number(body.get("ip"))
    agent = text_of_string_or_number(context.get("userAgent")) if isinstance(context, Mapping) else None
    return client._replace(ip=client.ip if ip in {None, "0"} else ip, user_agent=agent or client.user_agent)


def derive_daily_visitor_id(workspace: Workspace, client: ClientContext, received_at: datetime) -> str:
    """Returns the id of a visitor whose client names none: the same for one UTC day, address and user agent.

    It is keyed by the workspace's secret, so that nobody else can compute it, and two workspaces never share one.
    """
    message = f"{received_at:%Y%m%d}|{client.ip}|{client.user_agent}".encode()
    return "day_" + hmac.digest(workspace.secret, message, hashlib.sha256).hex()[:24]
