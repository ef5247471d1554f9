"""Who is asking: workspaces, credentials and the caller of one request."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Final
from uuid import UUID
from zoneinfo import ZoneInfo

from service_core.access.analytics_settings import AnalyticsSettings
from service_core.access.roles import Role
from service_core.kernel.operations import Scope


@dataclass(frozen=True, slots=True)
class Workspace:
    """One customer's data and its rules. ``public_id`` is the id on the wire.

    ``secret`` keys the generated session ids of the workspace (semantics 6.1); it never leaves the house.
    ``triggers`` are the events its active conversion rules send; they follow from those rules.
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

    @property
    def zone(self) -> ZoneInfo:
        """The workspace's time zone: days, weeks and buckets follow its wall clock."""
        return ZoneInfo(self.timezone)


class CredentialKind(StrEnum):
    """Forms of a credential (specification, Authentication)."""

    AGENT = "agent"
    NAMED = "named"
    WRITE = "write"
    OAUTH = "oauth"


@dataclass(frozen=True, slots=True)
class Credential:
    """A stored credential; the secret itself is not kept, only its digest.

    An OAuth grant appears as a credential of its own: with its id, its scopes and its budget.
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


@dataclass(frozen=True, slots=True)
class OAuthGrant:
    """What a person lets a program do in one workspace over OAuth (contract 8).

    ``scopes`` are those consented to; what a token may do is what the person's role still allows.
    """

    id: UUID
    account_id: UUID
    client_id: str
    client_name: str
    workspace_id: UUID
    scopes: frozenset[Scope]
    created_at: datetime
    ended_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class ActingUser:
    """The person behind an OAuth token, and the grant the token was made from."""

    grant: OAuthGrant
    email: str
    role: Role


@dataclass(frozen=True, slots=True)
class AuthContext:
    """What a token resolves to: the credential and its workspace.

    Attributes:
        delegate: set when an OAuth token was sent.
    """

    credential: Credential
    workspace: Workspace
    acting_user: ActingUser | None = None

    @property
    def spender(self) -> UUID:
        """Whose budgets a request is charged to."""
        return self.credential.id

    @property
    def rate_limit(self) -> int:
        """Requests per 60 seconds."""
        return self.credential.rate_limit


SIGNUP_RATE_LIMIT: Final = 100


@dataclass(frozen=True, slots=True)
class SignupCaller:
    """Whoever holds the secret of a signup; there is a workspace once it is paid."""

    signup_id: UUID
    workspace: Workspace | None
    now: datetime

    @property
    def spender(self) -> UUID:
        """Whose budgets a request is charged to."""
        return self.signup_id

    @property
    def rate_limit(self) -> int:
        """Requests per 60 seconds."""
        return SIGNUP_RATE_LIMIT


@dataclass(frozen=True, slots=True)
class AnonymousCaller:
    """Whoever asks a route that takes no credential.

    Attributes:
        client: address of the client, when it is known.
        headers: of the request, names in lower case.
    """

    now: datetime
    client_ip: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)


class RequestInterface(StrEnum):
    """The door a change came through: ``created_via`` and ``via`` on the wire."""

    API = "api"
    MCP = "mcp"
    DASHBOARD = "dashboard"


@dataclass(frozen=True, slots=True)
class IdempotentRequest:
    """A request that asks to be performed once: its ``Idempotency-Key`` and what a retry repeats."""

    key: str
    method: str
    path: str
    content: Any


@dataclass(frozen=True, slots=True)
class Caller:
    """The caller of one request; every handler that touches data takes one.

    Workspace isolation rests on it: stores are asked with ``who.workspace`` and never with an id
    that came from the request.

    Attributes:
        via: the door the request came through.
        once: set when the request carries an ``Idempotency-Key`` its operation honours.
        delegate: set when an OAuth token was sent.
        client: address of the client, when it is known.
        is_system: whoever runs the deployment, at its command line: no credential was sent.
    """

    workspace: Workspace
    credential: Credential
    now: datetime
    interface: RequestInterface = RequestInterface.API
    idempotency: IdempotentRequest | None = None
    acting_user: ActingUser | None = None
    client_ip: str | None = None
    is_system: bool = False
