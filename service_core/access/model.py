"""Who is asking: workspaces, credentials and the caller of one request."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from uuid import UUID
from zoneinfo import ZoneInfo

from service_core.kernel.operations import Scope


@dataclass(frozen=True, slots=True)
class Workspace:
    """One customer's data and its rules. ``public_id`` is the id on the wire.

    ``secret`` keys the generated session ids of the workspace (semantics 6.1); it never leaves the house.
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

    @property
    def zone(self) -> ZoneInfo:
        """The workspace's time zone: days, weeks and buckets follow its wall clock."""
        return ZoneInfo(self.timezone)


class CredentialKind(StrEnum):
    """Forms of a credential (specification, Authentication)."""

    AGENT = "agent"
    NAMED = "named"
    WRITE = "write"


@dataclass(frozen=True, slots=True)
class Credential:
    """A stored credential; the secret itself is not kept, only its digest."""

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
class Identity:
    """What a token resolves to: the credential and its workspace."""

    credential: Credential
    workspace: Workspace


@dataclass(frozen=True, slots=True)
class Caller:
    """The caller of one request; every handler that touches data takes one.

    Workspace isolation rests on it: stores are asked with ``who.workspace`` and never with an id
    that came from the request.
    """

    workspace: Workspace
    credential: Credential
    now: datetime
