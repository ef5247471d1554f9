"""Accounts, memberships, sessions, invitations and password links."""

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
    """A person who can sign in. ``password`` is a hash; without one the person has to follow a password link first."""

    id: UUID
    email: str
    name: str | None
    created_at: datetime
    password: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Member:
    """The role of an account in one workspace."""

    workspace_id: UUID
    account_id: UUID
    role: Role
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Session:
    """A signed-in browser. The secret is only in the cookie; the store has its digest."""

    id: UUID
    account_id: UUID
    created_at: datetime
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class Invitation:
    """The offer of a role to the owner of an e-mail address."""

    id: UUID
    workspace_id: UUID
    email: str
    role: Role
    invited_by: UUID
    created_at: datetime
    expires_at: datetime
    accepted_at: datetime | None = None


class Purpose(StrEnum):
    """Purpose of a one-time link."""

    PASSWORD = "password"  # noqa: S105 - the name of a purpose


@dataclass(frozen=True, slots=True)
class PasswordLink:
    """A one-time link sent by e-mail; following it proves ownership of the account's address."""

    account_id: UUID
    purpose: Purpose
    expires_at: datetime
