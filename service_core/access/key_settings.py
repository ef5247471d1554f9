"""What people do with the keys of their workspace in the web application (contract 7.3, semantics 21)."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Final
from uuid import UUID

from service_core.access.keys import Minted, checked_name, mint_key, regenerate, revoke_key
from service_core.access.members.model import Member
from service_core.access.model import Credential, CredentialKind, Workspace
from service_core.access.plans import PLANS, UNLIMITED
from service_core.access.ports import Directory
from service_core.access.roles import Ability, require_ability, require_grantor
from service_core.kernel.clock import Clock
from service_core.kernel.errors import BadRequest, NotFound
from service_core.kernel.operations import Scope

LONGEST_NAME: Final = 200


class KeySettings:
    """Lists and changes keys for a member; every change is in force with the next request everywhere.

    Args:
        directory: where keys are kept.
        clock: gives the present.
    """

    def __init__(self, directory: Directory, clock: Clock) -> None:
        self._directory = directory
        self._clock = clock

    async def listed(self, workspace: Workspace, by: Member) -> list[Credential]:
        """Live keys: the write key and the Agent key, then named keys, oldest first.

        Raises:
            Forbidden: ``role_required``.
        """
        require_ability(by.role, Ability.MANAGE)
        live = [key for key in await self._directory.keys(workspace.id) if key.revoked_at is None]
        order = [CredentialKind.WRITE, CredentialKind.AGENT, CredentialKind.NAMED]
        return sorted(live, key=lambda key: order.index(key.kind))

    async def create(self, workspace: Workspace, by: Member, name: str, scopes: Iterable[Scope]) -> Minted:
        """Make a named key.

        Raises:
            Forbidden: ``role_required``, ``owner_required`` for a write scope.
            BadRequest: a blank or long name, no scope.
        """
        wanted = frozenset(scopes)
        require_grantor(by.role, wanted)
        return await mint_key(self._directory, workspace, self._clock(), name=_name(name), scopes=wanted)

    async def rename(self, workspace: Workspace, by: Member, key_id: UUID, name: str) -> None:
        """Give a named key another name.

        Raises:
            Forbidden: ``role_required``.
            NotFound: the workspace has no such live named key.
            BadRequest: a blank or long name.
        """
        require_ability(by.role, Ability.MANAGE)
        key = await self._named(workspace, key_id)
        await self._directory.save_key(replace(key, name=_name(name)))

    async def limit(self, workspace: Workspace, by: Member, key_id: UUID, rate_limit: int) -> None:
        """Set the requests per 60 seconds of a named key, at most those of the plan.

        Raises:
            Forbidden: ``owner_required``.
            NotFound: the workspace has no such live named key.
        """
        require_ability(by.role, Ability.GRANT_WRITES)
        key = await self._named(workspace, key_id)
        allowed = PLANS.get(workspace.plan, UNLIMITED).clamp(rate_limit)
        await self._directory.save_key(replace(key, rate_limit=allowed))

    async def revoke(self, workspace: Workspace, by: Member, key_id: UUID) -> None:
        """End a named key at once.

        Raises:
            Forbidden: ``role_required``.
            NotFound: the workspace has no such live named key.
        """
        require_ability(by.role, Ability.MANAGE)
        key = await self._named(workspace, key_id)
        await revoke_key(self._directory, workspace, key.id, self._clock())

    async def regenerate(self, workspace: Workspace, by: Member, kind: CredentialKind) -> Minted:
        """Replace the Agent key or the write key; the old value ends at once.

        Raises:
            Forbidden: ``role_required``.
        """
        require_ability(by.role, Ability.MANAGE)
        return await regenerate(self._directory, workspace, kind, self._clock())

    async def _named(self, workspace: Workspace, key_id: UUID) -> Credential:
        for key in await self._directory.keys(workspace.id):
            if key.id == key_id and key.kind is CredentialKind.NAMED and key.revoked_at is None:
                return key
        raise NotFound


def _name(name: str) -> str:
    trimmed = checked_name(name)
    if len(trimmed) > LONGEST_NAME:
        raise BadRequest(f"A name has at most {LONGEST_NAME} characters", "invalid_parameter", field="name")
    return trimmed
