"""Whoever is signed in to the web application, as a caller like any other."""

from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Final

from service_core.access.keys import DEFAULT_RATE
from service_core.access.members.model import Account, Member
from service_core.access.model import Caller, Credential, CredentialKind, Delegate, Grant, Via, Workspace
from service_core.access.roles import Role
from service_core.kernel.operations import Scope

_REPORTS: Final = frozenset({Scope.READ, Scope.WRITE_REPORTS})
_MANAGER: Final = _REPORTS | {Scope.WRITE_RULES, Scope.WRITE_LINKS}

PAGE_SCOPES: Final[Mapping[Role, frozenset[Scope]]] = MappingProxyType(
    {
        Role.OWNER: _MANAGER,
        Role.ADMIN: _MANAGER,
        Role.MEMBER: _REPORTS,
        Role.VIEWER: frozenset({Scope.READ}),
    }
)
"""Role -> what it may do in the web application (semantics 21)."""


def caller_of(account: Account, member: Member, workspace: Workspace, now: datetime) -> Caller:
    """The caller behind a page: the person, without a program in between.

    Args:
        account: who is signed in.
        member: that account's membership in ``workspace``.
        workspace: the one the page is about.
        now: the present.
    """
    scopes = PAGE_SCOPES[member.role]
    grant = Grant(
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
        rate_limit=DEFAULT_RATE,
        hint="",
        created_at=member.created_at,
    )
    delegate = Delegate(grant, account.email, member.role)
    return Caller(workspace, credential, now, Via.DASHBOARD, delegate=delegate)
