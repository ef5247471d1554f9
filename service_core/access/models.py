"""Workspaces, credentials and the caller of a request."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, Final
from uuid import UUID
from zoneinfo import ZoneInfo

from service_core.access.analytics_settings import AnalyticsSettings
from service_core.access.roles import Role
from service_core.access.write_policy import WritePolicy
from service_core.kernel.operations import Scope


@dataclass(frozen=True, slots=True)
class Workspace:
    """A workspace: one customer's data and settings. ``public_id`` is its id in the API.

    ``secret`` keys the generated session ids of the workspace; it is never part of an answer. ``triggers`` are the event
    names its active conversion rules wait for, derived from those rules.
    """

    id: UUID
    public_id: str
    name: str
    domain: str | None
    timezone: str
    currency: str
    plan: str
    active: bool
    created_at: datetime
    secret: bytes = field(repr=False)
    allowed_origins: tuple[str, ...] = ()
    rules: AnalyticsSettings = field(default=AnalyticsSettings())
    triggers: frozenset[str] = frozenset()
    write_policy: WritePolicy = field(default=WritePolicy())

    @property
    def zone(self) -> ZoneInfo:
        """The time zone that defines the workspace's days, weeks and buckets."""
        return ZoneInfo(self.timezone)


class CredentialKind(StrEnum):
    """Kinds of credentials."""

    AGENT = "agent"
    NAMED = "named"
    WRITE = "write"
    OAUTH = "oauth"


@dataclass(frozen=True, slots=True)
class Credential:
    """A stored credential. Only the digest of its secret is stored.

    An OAuth grant is represented as a credential with the grant's id, scopes and rate limit.

    ``granted_by`` is the account whose membership a named key depends on: it is revoked when that person leaves the
    workspace. None for the agent key, the write key and keys of the command line, which depend on nobody.
    """

    id: UUID
    workspace_id: UUID
    kind: CredentialKind
    name: str
    scopes: frozenset[Scope]
    rate_limit: int
    hint: str
    created_at: datetime
    revoked_at: datetime | None = None
    granted_by: UUID | None = None


@dataclass(frozen=True, slots=True)
class OAuthGrant:
    """The permission a person gave an OAuth client in one workspace.

    ``scopes`` are those the person consented to; a token has those that the person's current role also allows.
    ``requires_plan`` is whether the person demands that each write is planned first and applied with the plan's token.
    """

    id: UUID
    account_id: UUID
    client_id: str
    client_name: str
    workspace_id: UUID
    scopes: frozenset[Scope]
    created_at: datetime
    ended_at: datetime | None = None
    requires_plan: bool = False

    def narrowed_to_later_consent(self, later: "OAuthGrant") -> "OAuthGrant":
        """Returns this grant without what a later consent of the same person for the same client left out.

        Args:
            later: the later grant. Whoever reads everything keeps to totals if the later one reads totals.
        """
        reads = {Scope.READ, Scope.READ_AGGREGATES} if Scope.READ in self.scopes else set()
        allowed = later.scopes | ({Scope.READ_AGGREGATES} if Scope.READ in later.scopes else set())
        scopes = (self.scopes | reads) & allowed
        if Scope.READ in scopes:
            scopes -= {Scope.READ_AGGREGATES}
        return replace(
            self,
            scopes=frozenset(scopes),
            requires_plan=self.requires_plan or later.requires_plan,
            ended_at=self.ended_at if scopes else later.created_at,
        )


@dataclass(frozen=True, slots=True)
class ActingUser:
    """The person behind an OAuth token, with the grant of the token."""

    grant: OAuthGrant
    email: str
    role: Role


@dataclass(frozen=True, slots=True)
class AuthContext:
    """The credential of a request and its workspace.

    Attributes:
        acting_user: set for OAuth tokens.
    """

    credential: Credential
    workspace: Workspace
    acting_user: ActingUser | None = None

    @property
    def rate_limit_key(self) -> UUID:
        """Id under which rate limits are counted."""
        return self.credential.id

    @property
    def rate_limit(self) -> int:
        """Requests per 60 seconds."""
        return self.credential.rate_limit


SIGNUP_RATE_LIMIT: Final = 100


@dataclass(frozen=True, slots=True)
class SignupCaller:
    """The caller with the secret of a signup. The workspace exists once the signup is paid."""

    signup_id: UUID
    workspace: Workspace | None
    now: datetime

    @property
    def rate_limit_key(self) -> UUID:
        """Id under which rate limits are counted."""
        return self.signup_id

    @property
    def rate_limit(self) -> int:
        """Requests per 60 seconds."""
        return SIGNUP_RATE_LIMIT


@dataclass(frozen=True, slots=True)
class AnonymousCaller:
    """The caller of an endpoint that requires no credential.

    Attributes:
        client_ip: IP address of the client, if known.
        headers: request headers, names in lower case.
    """

    now: datetime
    client_ip: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)


class RequestInterface(StrEnum):
    """The interface a request used: ``created_via`` and ``via`` in answers."""

    API = "api"
    MCP = "mcp"
    DASHBOARD = "dashboard"


@dataclass(frozen=True, slots=True)
class IdempotentRequest:
    """The ``Idempotency-Key`` of a request and what an identical retry repeats."""

    key: str
    method: str
    path: str
    content: Any


@dataclass(frozen=True, slots=True)
class SentRequest:
    """A request as it was sent, to be shown to a person and executed once it is approved.

    Attributes:
        path: with its prefix.
        body: the decoded JSON body; empty for none.
    """

    method: str
    path: str
    body: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Caller:
    """The authenticated caller of a request; every handler that reads or writes data takes one.

    Workspace isolation relies on it: stores are queried with ``caller.workspace``, never with an id from the request.

    Attributes:
        interface: the interface the request used.
        idempotency: set when the request has an ``Idempotency-Key`` that its operation honours.
        acting_user: set for OAuth tokens and the web application.
        client_ip: IP address of the client, if known.
        is_system: the operator of the deployment on its command line; no credential was sent.
        request: the request, if one was sent; None for work of the service itself.
        approved_by: the person who approved the write, if one had to.
    """

    workspace: Workspace
    credential: Credential
    now: datetime
    interface: RequestInterface = RequestInterface.API
    idempotency: IdempotentRequest | None = None
    acting_user: ActingUser | None = None
    client_ip: str | None = None
    is_system: bool = False
    request: SentRequest | None = field(default=None, repr=False)
    approved_by: ActingUser | None = None
