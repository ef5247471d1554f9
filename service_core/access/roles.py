"""Members have roles; what a role may do is data (semantics 21, contract 2.3)."""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from service_core.kernel.errors import Forbidden
from service_core.kernel.operations import Scope


class Role(StrEnum):
    """Of a person in one workspace."""

    OWNER = "owner"
    ADMIN = "admin"
    MEMBER = "member"
    VIEWER = "viewer"


class Permission(StrEnum):
    """A line of the table of roles.

    ``MANAGE`` is: approve read key requests, regenerate keys, review scripts, connect platforms and
    change workspace settings. ``OWN`` is: billing, roles, deleting and handing over the workspace.
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
"""Role -> what it may do."""

_READ_SCOPES: Final = frozenset({Scope.READ})

GRANTABLE_KEY_SCOPES: Final[Mapping[Role, frozenset[Scope]]] = MappingProxyType(
    {
        Role.OWNER: frozenset(Scope),
        Role.ADMIN: _READ_SCOPES,
        Role.MEMBER: frozenset(),
        Role.VIEWER: frozenset(),
    }
)
"""Role -> scopes it can grant on a named key."""

ROLE_OAUTH_SCOPES: Final[Mapping[Role, frozenset[Scope]]] = MappingProxyType(
    {
        Role.OWNER: frozenset(Scope),
        Role.ADMIN: _READ_SCOPES | {Scope.WRITE_REPORTS},
        Role.MEMBER: _READ_SCOPES | {Scope.WRITE_REPORTS},
        Role.VIEWER: _READ_SCOPES,
    }
)
"""Role -> scopes it can hold over OAuth; a grant is cut down to them whenever it is used."""


def require_permission(role: Role | None, permission: Permission) -> None:
    """Refuse a member whose role lacks ``ability``, and who is no member.

    Raises:
        Forbidden: ``owner_required`` when only an owner may, else ``role_required``.
    """
    if role is not None and permission in ROLE_PERMISSIONS[role]:
        return
    able = [known.value for known in Role if permission in ROLE_PERMISSIONS[known]]
    code = "owner_required" if able == [Role.OWNER] else "role_required"
    raise Forbidden(f"This needs the role {' or '.join(able)}", code)


def require_can_grant(role: Role | None, scopes: Iterable[Scope]) -> None:
    """Refuse a member who may not put these scopes on a named key.

    Raises:
        Forbidden: ``role_required`` for members and viewers, ``owner_required`` for an admin and a
            write scope.
    """
    require_permission(role, Permission.MANAGE)
    if role is not None and not frozenset(scopes) <= GRANTABLE_KEY_SCOPES[role]:
        raise Forbidden("Only the owner can grant a write scope", "owner_required")
