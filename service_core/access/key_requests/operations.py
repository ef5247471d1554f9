"""Endpoints for key requests and for the exchange of access tokens into keys."""

from datetime import datetime
from typing import Any, Final

from service_core.access.api_keys import DEFAULT_RATE_LIMIT, create_named_key_clamping_rate_limit_to_plan
from service_core.access.key_requests.create import (
    KeyRequestInput,
    create_or_replay_key_request,
    poll_and_collect_approved_key_once,
)
from service_core.access.key_requests.models import KeyRequest, RequestStatus
from service_core.access.key_requests.ports import KeyRequests
from service_core.access.key_requests.schemas import (
    CollectedKeyResponse,
    CreatedKeyResponse,
    CreateKeyBody,
    CreateKeyRequestBody,
    KeyRequestPath,
    KeyRequestResponse,
    KeyRequestStatusResponse,
)
from service_core.access.models import Caller, SignupCaller
from service_core.access.ports import CredentialStore
from service_core.access.public_urls import PublicUrls
from service_core.access.roles import Permission, require_can_grant_key_scopes, require_permission
from service_core.access.scopes import parse_scopes_rejecting_unknown
from service_core.kernel.errors import BadRequest, Forbidden, NotFound
from service_core.kernel.operations import (
    ANY_SCOPE,
    CredentialRequirement,
    HandlerResponse,
    RateLimitClass,
    Scope,
    operation,
)

POLL_SECONDS: Final = 5


@operation(
    "POST /keys/requests",
    scope=ANY_SCOPE,
    credential=CredentialRequirement.KEY_OR_OAUTH,
    rate_limit=RateLimitClass.KEY_CREATION,
    tag="keys",
    statuses=(202,),
    idempotent=True,
)
async def request_key(
    body: CreateKeyRequestBody, *, caller: Caller, requests: KeyRequests, public_urls: PublicUrls
) -> HandlerResponse[KeyRequestResponse]:
    """Ask an owner or admin for a key.

    The approval page shows the requester, the workspace and each scope. Its link works once, within 24 hours.
    """
    key_input = KeyRequestInput(
        requester_id=caller.credential.id,
        requester=_describe_requester(caller),
        name=body.name,
        scopes=_parse_required_scopes(body.scopes),
        reason=body.reason or None,
        client_name=body.client_name,
    )
    created = await create_or_replay_key_request(
        requests, caller.workspace, key_input, caller.now, idempotency=caller.idempotency
    )
    request = created.request
    response = KeyRequestResponse(
        request_id=request.id,
        status=RequestStatus.PENDING,
        name=request.name,
        scopes=_scope_names(request.scopes),
        approval_url=public_urls.approval_url(created.token),
        poll_url=public_urls.poll_url("keys/requests", request.id),
        expires_at=request.expires_at,
        poll_interval_seconds=POLL_SECONDS,
    )
    return HandlerResponse(response, 202, {"Idempotent-Replay": "true"} if created.replayed else {})


@operation(
    "GET /keys/requests/{requestId}",
    scope=ANY_SCOPE,
    credential=CredentialRequirement.KEY_REQUESTER,
    rate_limit=RateLimitClass.POLL,
    tag="keys",
)
async def get_key_request(
    path: KeyRequestPath, *, caller: Caller | SignupCaller, requests: KeyRequests
) -> CollectedKeyResponse | KeyRequestStatusResponse:
    """Poll a key request with the credential that made it.

    The first response after the approval creates the key and contains it; later ones do not. A lost response cannot be
    repeated: revoke the key and ask again.
    """
    requester_id = caller.signup_id if isinstance(caller, SignupCaller) else caller.credential.id
    polled = await poll_and_collect_approved_key_once(
        requests, path.request_id, requester_id, caller.workspace, caller.now
    )
    if polled is None:
        raise NotFound
    request, new_key = polled
    if new_key is None:
        return KeyRequestStatusResponse(**_status_response_fields(request, caller.now))
    return CollectedKeyResponse(
        **_status_response_fields(request, caller.now),
        key=new_key.secret,
        key_id=new_key.credential.id,
        key_hint=new_key.credential.hint,
    )


@operation(
    "POST /keys",
    scope=ANY_SCOPE,
    credential=CredentialRequirement.OAUTH,
    rate_limit=RateLimitClass.KEY_CREATION,
    tag="keys",
)
async def create_key(
    body: CreateKeyBody, *, caller: Caller, credential_store: CredentialStore
) -> CreatedKeyResponse:
    """Exchange an OAuth access token for a named key.

    The key has at most the scopes of the token. The person behind the token has to be an owner or admin, and an owner
    for a write scope or a rate limit of its own.
    """
    scopes = _parse_required_scopes(body.scopes)
    held = caller.credential.scopes
    held = held | {Scope.READ_AGGREGATES} if Scope.READ in held else held
    for scope in Scope:
        if scope in scopes - held:
            raise Forbidden(
                f"Missing scope {scope.value}", "insufficient_scope", extra={"required_scope": scope.value}
            )
    role = None if caller.acting_user is None else caller.acting_user.role
    require_can_grant_key_scopes(role, scopes)
    if body.rate_limit not in (None, DEFAULT_RATE_LIMIT):
        require_permission(role, Permission.GRANT_WRITES)
    new_key = await create_named_key_clamping_rate_limit_to_plan(
        credential_store,
        caller.workspace,
        caller.now,
        name=body.name,
        scopes=scopes,
        requested_rate_limit=DEFAULT_RATE_LIMIT if body.rate_limit is None else body.rate_limit,
        granted_by=None if caller.acting_user is None else caller.acting_user.grant.account_id,
    )
    credential = new_key.credential
    return CreatedKeyResponse(
        id=credential.id,
        key=new_key.secret,
        key_hint=credential.hint,
        name=credential.name,
        scopes=_scope_names(credential.scopes),
        rate_limit=credential.rate_limit,
        created_at=credential.created_at,
    )


def _parse_required_scopes(scope_names: list[str]) -> frozenset[Scope]:
    scopes = parse_scopes_rejecting_unknown(scope_names)
    if not scopes:
        raise BadRequest("A key needs at least one scope", "missing_field", field="scopes")
    return scopes


def _scope_names(scopes: frozenset[Scope]) -> list[str]:
    return [scope.value for scope in Scope if scope in scopes]


def _describe_requester(caller: Caller) -> str:
    """Returns a description of the requester, as far as it is verified."""
    if caller.acting_user is not None:
        return f"{caller.acting_user.email} through {caller.acting_user.grant.client_name}"
    return f"{caller.credential.name} ({caller.credential.hint})"


def _status_response_fields(request: KeyRequest, now: datetime) -> dict[str, Any]:
    return {
        "request_id": request.id,
        "status": request.status_at(now),
        "name": request.name,
        "scopes": _scope_names(request.scopes),
        "expires_at": request.expires_at,
        "decided_at": request.decided_at,
    }


OPERATIONS = (request_key, get_key_request, create_key)
