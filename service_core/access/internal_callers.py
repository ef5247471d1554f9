"""Callers that send no credential: people in the web application, and read-only internal work."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from types import MappingProxyType
from typing import Final
from uuid import UUID

from service_core.access.api_keys import DEFAULT_RATE_LIMIT
from service_core.access.members.models import Account, Member
from service_core.access.models import (
    ActingUser,
    Caller,
    Credential,
    CredentialKind,
    OAuthGrant,
    RequestInterface,
    Workspace,
)
from service_core.access.roles import Role
from service_core.access.scopes import AGENT_SCOPES
from service_core.kernel.operations import Scope

_MEMBER_SCOPES: Final = frozenset({Scope.READ, Scope.WRITE_REPORTS})
_MANAGER_SCOPES: Final = _MEMBER_SCOPES | {Scope.WRITE_RULES, Scope.WRITE_LINKS}

DASHBOARD_SCOPES: Final[Mapping[Role, frozenset[Scope]]] = MappingProxyType(
    {
        Role.OWNER: _MANAGER_SCOPES,
        Role.ADMIN: _MANAGER_SCOPES,
        Role.MEMBER: _MEMBER_SCOPES,
        Role.VIEWER: frozenset({Scope.READ}),
    }
)
"""Role to its scopes in the web application."""


def build_dashboard_caller_with_role_scopes(
    account: Account, member: Member, workspace: Workspace, now: datetime
) -> Caller:
    """Returns the caller for a request of a signed-in person in the web application, with the scopes of the role.

    Args:
        account: the signed-in account.
        member: the account's membership in ``workspace``.
        workspace: the workspace the page shows.
        now: current time.
    """
    scopes = DASHBOARD_SCOPES[member.role]
    grant = OAuthGrant(
        id=account.id,
        account_id=account.id,
        client_id="",
        client_name="",
        workspace_id=workspace.id,
        scopes=scopes,
        created_at=member.created_at,
    )
    credential = Credential(
        id=account.id,
        workspace_id=workspace.id,
        kind=CredentialKind.OAUTH,
        name=account.email,
        scopes=scopes,
        rate_limit=DEFAULT_RATE_LIMIT,
        hint="",
        created_at=member.created_at,
    )
    acting_user = ActingUser(grant, account.email, member.role)
    return Caller(workspace, credential, now, RequestInterface.DASHBOARD, acting_user=acting_user)


def build_unlimited_read_only_caller(
    workspace: Workspace, now: datetime, purpose: str, *, credential_id: UUID | None = None
) -> Caller:
    """Returns a caller that can read one workspace. It has no rate limit.

    Args:
        workspace: the only workspace it can read.
        now: current time.
        purpose: purpose of the reads, as the name of the credential.
        credential_id: id of the key on whose behalf it reads, if there is one.
    """
    credential = Credential(
        id=credential_id or workspace.id,
        workspace_id=workspace.id,
        kind=CredentialKind.AGENT,
        name=purpose,
        scopes=AGENT_SCOPES,
        rate_limit=0,
        hint="",
        created_at=workspace.created_at,
    )
    return Caller(workspace, credential, now)


def build_command_line_caller(workspace: Workspace, now: datetime) -> Caller:
    """Returns the operator of the deployment as the caller of a change on the command line."""
    return replace(build_unlimited_read_only_caller(workspace, now, "Command line"), is_system=True)
