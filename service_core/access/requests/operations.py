"""``POST /keys``, ``POST /keys/requests`` and its poll (contract 7.2, 7.3)."""

from datetime import datetime
from typing import Any, Final
from uuid import UUID

from pydantic import Field

from service_core.access.keys import DEFAULT_RATE, mint_key
from service_core.access.model import Applicant, Caller
from service_core.access.places import Places
from service_core.access.ports import Directory
from service_core.access.requests.file import Filing, file_request, follow
from service_core.access.requests.model import KeyRequest, RequestStatus
from service_core.access.requests.ports import KeyRequests
from service_core.access.roles import Ability, require_ability, require_grantor
from service_core.access.scopes import parse_scopes
from service_core.access.texts import Line, Sentence
from service_core.kernel.errors import BadRequest, Forbidden, NotFound
from service_core.kernel.operations import ANY_SCOPE, Budget, Entry, Reply, Scope, operation
from service_core.kernel.params import Answer, BodyModel

POLL_SECONDS: Final = 5


class RequestBody(BodyModel):
    """The key a program asks a person for."""

    name: Line = Field(description="Name of the key.")
    scopes: list[str] = Field(description="What it may do; the approval is the grant.")
    reason: Sentence | None = Field(None, description="Why, for the person who decides.")
    client_name: Line | None = Field(None, description="What the program calls itself.")


class Filed(Answer):
    """A request that waits for a person."""

    request_id: UUID
    status: RequestStatus
    name: str
    scopes: list[str]
    approval_url: str
    poll_url: str
    expires_at: datetime
    poll_interval_seconds: int


class Followed(Answer):
    """Where a request stands; the key is there once."""

    request_id: UUID
    status: RequestStatus
    name: str
    scopes: list[str]
    expires_at: datetime
    decided_at: datetime | None


class Collected(Followed):
    """The first answer after an approval."""

    key: str
    key_id: UUID
    key_hint: str


class RequestPath(BodyModel):
    """Path parameters."""

    request_id: UUID = Field(alias="requestId")


class KeyBody(BodyModel):
    """The key an access token is exchanged for."""

    name: Line = Field(description="Name of the key.")
    scopes: list[str] = Field(description="What it may do: at most what the token may.")
    rate_limit: int | None = Field(
        None,
        description="Requests per 60 seconds, at most the cap of the plan; an owner alone may choose it.",
    )


class MintedKey(Answer):
    """A new key; its value is shown this once."""

    id: UUID
    key: str
    key_hint: str
    name: str
    scopes: list[str]
    rate_limit: int
    created_at: datetime


@operation(
    "POST /keys/requests",
    scope=ANY_SCOPE,
    entry=Entry.KEY_OR_OAUTH,
    budget=Budget.KEYS,
    tag="keys",
    statuses=(202,),
    replays=True,
)
async def request_key(
    body: RequestBody, *, who: Caller, requests: KeyRequests, places: Places
) -> Reply[Filed]:
    """Ask an owner or admin for a key.

    The approval page shows who asks, the workspace and each scope. Its link works once, for 24 hours.
    """
    filing = Filing(
        filer=who.credential.id,
        requester=_requester(who),
        name=body.name,
        scopes=_scopes(body.scopes),
        reason=body.reason or None,
        client_name=body.client_name,
    )
    filed = await file_request(requests, who.workspace, filing, who.now, once=who.once)
    request = filed.request
    answer = Filed(
        request_id=request.id,
        status=RequestStatus.PENDING,
        name=request.name,
        scopes=_names(request.scopes),
        approval_url=places.approval(filed.token),
        poll_url=places.poll("keys/requests", request.id),
        expires_at=request.expires_at,
        poll_interval_seconds=POLL_SECONDS,
    )
    return Reply(answer, 202, {"Idempotent-Replay": "true"} if filed.replayed else {})


@operation(
    "GET /keys/requests/{requestId}",
    scope=ANY_SCOPE,
    entry=Entry.FILER,
    budget=Budget.POLL,
    tag="keys",
)
async def get_key_request(
    path: RequestPath, *, who: Caller | Applicant, requests: KeyRequests
) -> Collected | Followed:
    """Follow a request with the credential that filed it.

    The first answer after the approval makes the key and holds it; no later one does. An answer that
    was lost cannot be repeated: revoke the key and ask again.
    """
    filer = who.signup_id if isinstance(who, Applicant) else who.credential.id
    followed = await follow(requests, path.request_id, filer, who.workspace, who.now)
    if followed is None:
        raise NotFound
    request, minted = followed
    if minted is None:
        return Followed(**_state(request, who.now))
    return Collected(
        **_state(request, who.now),
        key=minted.secret,
        key_id=minted.credential.id,
        key_hint=minted.credential.hint,
    )


@operation("POST /keys", scope=ANY_SCOPE, entry=Entry.OAUTH, budget=Budget.KEYS, tag="keys")
async def create_key(body: KeyBody, *, who: Caller, directory: Directory) -> MintedKey:
    """Exchange an OAuth access token for a named key.

    The key holds at most the scopes of the token. The person behind it has to be owner or admin, and
    owner for a write scope or a limit of its own.
    """
    wanted = _scopes(body.scopes)
    for scope in Scope:
        if scope in wanted - who.credential.scopes:
            raise Forbidden(
                f"Missing scope {scope.value}", "insufficient_scope", extra={"required_scope": scope.value}
            )
    role = None if who.delegate is None else who.delegate.role
    require_grantor(role, wanted)
    if body.rate_limit not in (None, DEFAULT_RATE):
        require_ability(role, Ability.GRANT_WRITES)
    minted = await mint_key(
        directory,
        who.workspace,
        who.now,
        name=body.name,
        scopes=wanted,
        rate_limit=DEFAULT_RATE if body.rate_limit is None else body.rate_limit,
    )
    credential = minted.credential
    return MintedKey(
        id=credential.id,
        key=minted.secret,
        key_hint=credential.hint,
        name=credential.name,
        scopes=_names(credential.scopes),
        rate_limit=credential.rate_limit,
        created_at=credential.created_at,
    )


def _scopes(names: list[str]) -> frozenset[Scope]:
    scopes = parse_scopes(names)
    if not scopes:
        raise BadRequest("A key needs at least one scope", "missing_field", field="scopes")
    return scopes


def _names(scopes: frozenset[Scope]) -> list[str]:
    return [scope.value for scope in Scope if scope in scopes]


def _requester(who: Caller) -> str:
    """Who asks, as far as it has been checked."""
    if who.delegate is not None:
        return f"{who.delegate.email} through {who.delegate.grant.client_name}"
    return f"{who.credential.name} ({who.credential.hint})"


def _state(request: KeyRequest, now: datetime) -> dict[str, Any]:
    return {
        "request_id": request.id,
        "status": request.status_at(now),
        "name": request.name,
        "scopes": _names(request.scopes),
        "expires_at": request.expires_at,
        "decided_at": request.decided_at,
    }


OPERATIONS = (request_key, get_key_request, create_key)
