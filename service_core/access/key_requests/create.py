"""Creates key requests and lets their requesters poll them."""

import hashlib
import hmac
import json
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final
from uuid import UUID

from service_core.access.api_keys import KeyWithSecret, build_named_key_clamping_rate_limit_to_plan
from service_core.access.key_requests.models import REQUEST_LIFETIME, KeyRequest, RequestStatus
from service_core.access.key_requests.ports import KeyRequests
from service_core.access.models import IdempotentRequest, Workspace
from service_core.kernel.errors import BadRequest
from service_core.kernel.ids import encode_base64url, new_id, new_token, sha256_hex
from service_core.kernel.operations import Scope

MAX_IDEMPOTENCY_KEY_LENGTH: Final = 255


@dataclass(frozen=True, slots=True)
class KeyRequestInput:
    """The requested key, and who requests it.

    Attributes:
        requester_id: id of the credential, grant or signup that requests the key.
        requester: description of the requester for people.
    """

    requester_id: UUID
    requester: str
    name: str
    scopes: frozenset[Scope]
    reason: str | None = None
    client_name: str | None = None


@dataclass(frozen=True, slots=True)
class CreatedKeyRequest:
    """A key request and the token of its approval link. ``replayed`` is set if a retry returned an earlier request."""

    request: KeyRequest
    token: str = field(repr=False)
    replayed: bool = False


async def create_or_replay_key_request(
    requests: KeyRequests,
    workspace: Workspace,
    key_input: KeyRequestInput,
    now: datetime,
    *,
    idempotency: IdempotentRequest | None = None,
) -> CreatedKeyRequest:
    """Creates a key request. With an ``Idempotency-Key``, an identical retry within 24 hours returns the first request.

    Raises:
        BadRequest: ``invalid_idempotency_key``.
    """
    request = build_pending_request_for_24_hours(key_input, now, workspace_id=workspace.id)
    if idempotency is None:
        token = new_token()
        return CreatedKeyRequest(
            await requests.add_key_request_or_get_retried(request, sha256_hex(token), None), token
        )
    if len(idempotency.key) > MAX_IDEMPOTENCY_KEY_LENGTH:
        raise BadRequest("Idempotency-Key has at most 255 characters", "invalid_idempotency_key")
    stored = await requests.add_key_request_or_get_retried(
        request,
        sha256_hex(_derive_approval_token(workspace, idempotency, request.id)),
        _digest_of_requester_and_request(key_input.requester_id, idempotency),
    )
    return CreatedKeyRequest(
        stored, _derive_approval_token(workspace, idempotency, stored.id), replayed=stored.id != request.id
    )


def build_pending_request_for_24_hours(
    key_input: KeyRequestInput, now: datetime, *, workspace_id: UUID | None
) -> KeyRequest:
    """Returns a key request that can be decided for 24 hours, without storing it."""
    return KeyRequest(
        id=new_id(),
        requester_id=key_input.requester_id,
        requester=key_input.requester,
        name=key_input.name,
        scopes=key_input.scopes,
        reason=key_input.reason,
        client_name=key_input.client_name,
        created_at=now,
        expires_at=now + REQUEST_LIFETIME,
        workspace_id=workspace_id,
    )


async def poll_and_collect_approved_key_once(
    requests: KeyRequests, request_id: UUID, requester_id: UUID, workspace: Workspace | None, now: datetime
) -> tuple[KeyRequest, KeyWithSecret | None] | None:
    """Returns the current state of a key request; the first call after an approval creates the key and returns its secret.

    Returns:
        The request and, once, the key. None if another credential made the request.
    """
    request = await requests.get_key_request(request_id)
    if request is None or request.requester_id != requester_id:
        return None
    if request.status_at(now) is not RequestStatus.APPROVED or workspace is None:
        return request, None
    key = build_named_key_clamping_rate_limit_to_plan(
        workspace,
        now,
        name=request.name,
        scopes=request.scopes,
        requested_rate_limit=request.rate_limit,
        granted_by=request.decided_by,
    )
    if await requests.collect_approved_key_once(request, key.credential, sha256_hex(key.secret)):
        collected = replace(request, status=RequestStatus.COLLECTED, key_id=key.credential.id)
        return collected, key
    return await requests.get_key_request(request_id) or request, None


def _derive_approval_token(workspace: Workspace, idempotency: IdempotentRequest, request_id: UUID) -> str:
    """Returns the approval token of a request, so that a retry can return it although only its digest is stored.

    It is derived from the ``Idempotency-Key``, which is not stored, with the secret of the workspace.
    """
    message = f"approval:{request_id}:{idempotency.key}".encode("utf-8", "surrogatepass")
    return encode_base64url(hmac.digest(workspace.secret, message, "sha256"))


def _digest_of_requester_and_request(requester_id: UUID, idempotency: IdempotentRequest) -> str:
    """Returns a digest of everything an identical retry repeats."""
    parts = (
        requester_id.hex,
        idempotency.key,
        idempotency.method,
        idempotency.path,
        json.dumps(idempotency.content, sort_keys=True),
    )
    return hashlib.sha256("\x1f".join(parts).encode("utf-8", "surrogatepass")).hexdigest()
