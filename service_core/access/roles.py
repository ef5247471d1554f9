"""Roles of members and their permissions."""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from service_core.kernel.errors import Forbidden
from service_core.kernel.operations import Scope


class Role(StrEnum):
    """Role of a member in one workspace."""

    OWNER = "owner"
    ADMIN = "admin"
    MEMBER = "member"
    VIEWER = "viewer"


class Permission(StrEnum):
    """A permission that roles have.

    ``MANAGE``: approve requests for read keys, regenerate keys, review scripts, connect platforms and change workspace
    settings. ``OWN``: billing, roles, deletion and transfer of the workspace.
    """

    READ = "read"
    REPORTS = "reports"
    MANAGE = "manage"
    GRANT_WRITES = "grant_writes"
    RULES_AND_LINKS = "rules_and_links"
    INVITE = "invite"
    OWN = "own"


_VIEWER_PERMISSIONS: Final = frozenset({Permission.READ})
_MEMBER_PERMISSIONS: Final = _VIEWER_PERMISSIONS | {Permission.REPORTS}
_ADMIN_PERMISSIONS: Final = _MEMBER_PERMISSIONS | {
    Permission.MANAGE,
    Permission.RULES_AND_LINKS,
    Permission.INVITE,
}

ROLE_PERMISSIONS: Final[Mapping[Role, frozenset[Permission]]] = MappingProxyType(
    {
        Role.OWNER: frozenset(Permission),
        Role.ADMIN: _ADMIN_PERMISSIONS,
        Role.MEMBER: _MEMBER_PERMISSIONS,
        Role.VIEWER: _VIEWER_PERMISSIONS,
    }
)
"""Role to its permissions."""

_READ_SCOPES: Final = frozenset({Scope.READ, Scope.READ_AGGREGATES})

GRANTABLE_KEY_SCOPES: Final[Mapping[Role, frozenset[Scope]]] = MappingProxyType(
    {
        Role.OWNER: frozenset(Scope),
        Role.ADMIN: _READ_SCOPES,
        Role.MEMBER: frozenset(),
        Role.VIEWER: frozenset(),
    }
)
"""Role to the scopes it can grant to a named key."""

ROLE_OAUTH_SCOPES: Final[Mapping[Role, frozenset[Scope]]] = MappingProxyType(
    {
        Role.OWNER: frozenset(Scope),
        Role.ADMIN: _READ_SCOPES | {Scope.WRITE_REPORTS},
        Role.MEMBER: _READ_SCOPES | {Scope.WRITE_REPORTS},
        Role.VIEWER: _READ_SCOPES,
    }
)
"""Role to the scopes it can hold over OAuth. A grant is reduced to them each time it is used."""


def require_permission(role: Role | None, permission: Permission) -> None:
    """Rejects a role without the permission; None means not a member.

    Raises:
        Forbidden: ``owner_required`` if only owners have the permission, otherwise ``role_required``.
    """
    if role is not None and permission in ROLE_PERMISSIONS[role]:
        return
    permitted_roles = [candidate.value for candidate in Role if permission in ROLE_PERMISSIONS[candidate]]
    code = "owner_required" if permitted_roles == [Role.OWNER] else "role_required"
    raise Forbidden(f"This needs the role {' or '.join(permitted_roles)}", code)


def require_can_grant_key_scopes(role: Role | None, scopes: Iterable[Scope]) -> None:
    """Rejects a role that may not grant these scopes to a named key.

    Raises:
        Forbidden: ``role_required`` for members and viewers; ``owner_required`` for an admin and a write scope.
    """
    require_permission(role, Permission.MANAGE)
    if role is not None and not frozenset(scopes) <= GRANTABLE_KEY_SCOPES[role]:
        raise Forbidden("Only the owner can grant a write scope", "owner_required")
