"""Accounts, memberships, sessions, invitations and one-time links."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final
from uuid import UUID

from service_core.access.roles import Role

SESSION_LIFETIME: Final = timedelta(days=14)
INVITATION_LIFETIME: Final = timedelta(days=7)
PASSWORD_LINK_LIFETIME: Final = timedelta(hours=24)


@dataclass(frozen=True, slots=True)
class Account:
    """A person who can sign in. Without ``password`` (a hash) the address has to be proved first."""

    id: UUID
    email: str
    name: str | None
    created_at: datetime
    password: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Member:
    """An account's role in one workspace."""

    workspace_id: UUID
    account_id: UUID
    role: Role
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Session:
    """A signed-in browser; its secret is in the cookie alone, the store has the digest."""

    id: UUID
    account_id: UUID
    created_at: datetime
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class Invitation:
    """An offer of a role to whoever reads mail at an address."""

    id: UUID
    workspace_id: UUID
    email: str
    role: Role
    invited_by: UUID
    created_at: datetime
    expires_at: datetime
    accepted_at: datetime | None = None


class Purpose(StrEnum):
    """What a one-time link is good for."""

    PASSWORD = "password"  # noqa: S105 - the name of a purpose


@dataclass(frozen=True, slots=True)
class PasswordLink:
    """A mailed link that works once: it proves that its reader owns the address of the account."""

    account_id: UUID
    purpose: Purpose
    expires_at: datetime
