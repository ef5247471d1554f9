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


class Ability(StrEnum):
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


_VIEWER: Final = frozenset({Ability.READ})
_MEMBER: Final = _VIEWER | {Ability.REPORTS}
_ADMIN: Final = _MEMBER | {Ability.MANAGE, Ability.RULES_AND_LINKS, Ability.INVITE}

ABILITIES: Final[Mapping[Role, frozenset[Ability]]] = MappingProxyType(
    {
        Role.OWNER: frozenset(Ability),
        Role.ADMIN: _ADMIN,
        Role.MEMBER: _MEMBER,
        Role.VIEWER: _VIEWER,
    }
)
"""Role -> what it may do."""

_READS: Final = frozenset({Scope.READ})

KEY_SCOPES: Final[Mapping[Role, frozenset[Scope]]] = MappingProxyType(
    {Role.OWNER: frozenset(Scope), Role.ADMIN: _READS, Role.MEMBER: frozenset(), Role.VIEWER: frozenset()}
)
"""Role -> scopes it can grant on a named key."""

OAUTH_SCOPES: Final[Mapping[Role, frozenset[Scope]]] = MappingProxyType(
    {
        Role.OWNER: frozenset(Scope),
        Role.ADMIN: _READS | {Scope.WRITE_REPORTS},
        Role.MEMBER: _READS | {Scope.WRITE_REPORTS},
        Role.VIEWER: _READS,
    }
)
"""Role -> scopes it can hold over OAuth; a grant is cut down to them whenever it is used."""


def require_ability(role: Role | None, ability: Ability) -> None:
    """Refuse a member whose role lacks ``ability``, and who is no member.

    Raises:
        Forbidden: ``owner_required`` when only an owner may, else ``role_required``.
    """
    if role is not None and ability in ABILITIES[role]:
        return
    able = [known.value for known in Role if ability in ABILITIES[known]]
    code = "owner_required" if able == [Role.OWNER] else "role_required"
    raise Forbidden(f"This needs the role {' or '.join(able)}", code)


def require_grantor(role: Role | None, scopes: Iterable[Scope]) -> None:
    """Refuse a member who may not put these scopes on a named key.

    Raises:
        Forbidden: ``role_required`` for members and viewers, ``owner_required`` for an admin and a
            write scope.
    """
    require_ability(role, Ability.MANAGE)
    if role is not None and not frozenset(scopes) <= KEY_SCOPES[role]:
        raise Forbidden("Only the owner can grant a write scope", "owner_required")
