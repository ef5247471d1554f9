"""Filing a request and following it (contract 7.2)."""

import hashlib
import hmac
import json
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final
from uuid import UUID

from service_core.access.api_keys import KeyWithSecret, build_named_key
from service_core.access.key_requests.models import REQUEST_LIFETIME, KeyRequest, RequestStatus
from service_core.access.key_requests.ports import KeyRequests
from service_core.access.models import IdempotentRequest, Workspace
from service_core.kernel.errors import BadRequest
from service_core.kernel.ids import encode_base64url, new_id, new_token, sha256_hex
from service_core.kernel.operations import Scope

MAX_IDEMPOTENCY_KEY_LENGTH: Final = 255


@dataclass(frozen=True, slots=True)
class KeyRequestInput:
    """What a program asks for, and for whom it says it asks."""

    filer: UUID
    requester: str
    name: str
    scopes: frozenset[Scope]
    reason: str | None = None
    client_name: str | None = None


@dataclass(frozen=True, slots=True)
class CreatedKeyRequest:
    """A request and the token of its approval link; ``replayed`` when an earlier answer is given again."""

    request: KeyRequest
    token: str = field(repr=False)
    replayed: bool = False


async def create_key_request(
    requests: KeyRequests,
    workspace: Workspace,
    filing: KeyRequestInput,
    now: datetime,
    *,
    idempotency: IdempotentRequest | None = None,
) -> CreatedKeyRequest:
    """File a request; with an ``Idempotency-Key`` an identical retry of 24 hours finds the first one.

    Raises:
        BadRequest: ``invalid_idempotency_key``.
    """
    request = build_pending_request(filing, now, workspace_id=workspace.id)
    if idempotency is None:
        token = new_token()
        return CreatedKeyRequest(await requests.add_key_request(request, sha256_hex(token), None), token)
    if len(idempotency.key) > MAX_IDEMPOTENCY_KEY_LENGTH:
        raise BadRequest("Idempotency-Key has at most 255 characters", "invalid_idempotency_key")
    kept = await requests.add_key_request(
        request,
        sha256_hex(_derive_approval_token(workspace, idempotency, request.id)),
        _idempotency_digest(filing.filer, idempotency),
    )
    return CreatedKeyRequest(
        kept, _derive_approval_token(workspace, idempotency, kept.id), replayed=kept.id != request.id
    )


def build_pending_request(filing: KeyRequestInput, now: datetime, *, workspace_id: UUID | None) -> KeyRequest:
    """A request that can be decided for 24 hours."""
    return KeyRequest(
        id=new_id(),
        filer=filing.filer,
        requester=filing.requester,
        name=filing.name,
        scopes=filing.scopes,
        reason=filing.reason,
        client_name=filing.client_name,
        created_at=now,
        expires_at=now + REQUEST_LIFETIME,
        workspace_id=workspace_id,
    )


async def poll_key_request(
    requests: KeyRequests, request_id: UUID, filer: UUID, workspace: Workspace | None, now: datetime
) -> tuple[KeyRequest, KeyWithSecret | None] | None:
    """Where a request stands; the first call after an approval mints the key and has its secret.

    Returns:
        The request and, once, the key; None for a request somebody else filed.
    """
    request = await requests.get_key_request(request_id)
    if request is None or request.filer != filer:
        return None
    if request.status_at(now) is not RequestStatus.APPROVED or workspace is None:
        return request, None
    minted = build_named_key(
        workspace, now, name=request.name, scopes=request.scopes, rate_limit=request.rate_limit
    )
    if await requests.collect_key(request, minted.credential, sha256_hex(minted.secret)):
        collected = replace(request, status=RequestStatus.COLLECTED, key_id=minted.credential.id)
        return collected, minted
    return await requests.get_key_request(request_id) or request, None


def _derive_approval_token(workspace: Workspace, once: IdempotentRequest, request_id: UUID) -> str:
    """The token a retry can be told again though only its digest is kept.

    It follows from the ``Idempotency-Key``, which is kept nowhere, under the secret of the workspace.
    """
    message = f"approval:{request_id}:{once.key}".encode("utf-8", "surrogatepass")
    return encode_base64url(hmac.digest(workspace.secret, message, "sha256"))


def _idempotency_digest(filer: UUID, once: IdempotentRequest) -> str:
    """What an identical retry has in common with the first request (contract 2.12)."""
    parts = (filer.hex, once.key, once.method, once.path, json.dumps(once.content, sort_keys=True))
    return hashlib.sha256("\x1f".join(parts).encode("utf-8", "surrogatepass")).hexdigest()
