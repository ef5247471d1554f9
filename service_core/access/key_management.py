"""Management of API keys by members in the web application."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from typing import Final
from uuid import UUID

from service_core.access.api_keys import (
    KeyWithSecret,
    create_named_key_clamping_rate_limit_to_plan,
    revoke_and_reissue_workspace_key,
    revoke_key_if_active,
    trim_and_require_name,
)
from service_core.access.billing_plans import BILLING_PLANS, UNLIMITED_PLAN
from service_core.access.members.models import Member
from service_core.access.models import Credential, CredentialKind, Workspace
from service_core.access.ports import CredentialStore
from service_core.access.roles import (
    GRANTABLE_KEY_SCOPES,
    Permission,
    Role,
    require_can_grant_key_scopes,
    require_permission,
)
from service_core.kernel.clock import Clock
from service_core.kernel.errors import BadRequest, NotFound
from service_core.kernel.operations import Scope

MAX_KEY_NAME_LENGTH: Final = 200


def restrict_key_to_role_or_revoke(key: Credential, role: Role, now: datetime) -> Credential:
    """Returns a key with the scopes that the role of the person who granted it can still grant; revoked without any."""
    scopes = key.scopes & GRANTABLE_KEY_SCOPES[role]
    if scopes:
        return replace(key, scopes=scopes)
    return replace(key, revoked_at=key.revoked_at or now)


class KeyManagement:
    """Lists and changes keys for a member. A change takes effect with the next request in every process.

    Args:
        credential_store: the store of keys.
        clock: current time.
    """

    def __init__(self, credential_store: CredentialStore, clock: Clock) -> None:
        self._credential_store = credential_store
        self._clock = clock

    async def list_active_keys(self, workspace: Workspace, acting_member: Member) -> list[Credential]:
        """Returns the active keys: write key, agent key, then named keys, oldest first.

        Raises:
            Forbidden: ``role_required``.
        """
        require_permission(acting_member.role, Permission.MANAGE)
        active = [
            key for key in await self._credential_store.list_keys(workspace.id) if key.revoked_at is None
        ]
        order = [CredentialKind.WRITE, CredentialKind.AGENT, CredentialKind.NAMED]
        return sorted(active, key=lambda key: order.index(key.kind))

    async def create_named_key_if_permitted(
        self, workspace: Workspace, acting_member: Member, name: str, scopes: Iterable[Scope]
    ) -> KeyWithSecret:
        """Creates a named key. It is revoked when the acting member leaves the workspace.

        Raises:
            Forbidden: ``role_required``; ``owner_required`` for a write scope.
            BadRequest: the name is blank or too long, or there is no scope.
        """
        scope_set = frozenset(scopes)
        require_can_grant_key_scopes(acting_member.role, scope_set)
        return await create_named_key_clamping_rate_limit_to_plan(
            self._credential_store,
            workspace,
            self._clock(),
            name=_trim_and_check_key_name(name),
            scopes=scope_set,
            granted_by=acting_member.account_id,
        )

    async def rename_active_named_key(
        self, workspace: Workspace, acting_member: Member, key_id: UUID, new_name: str
    ) -> None:
        """Renames a named key.

        Raises:
            Forbidden: ``role_required``.
            NotFound: the workspace has no such active named key.
            BadRequest: the name is blank or too long.
        """
        require_permission(acting_member.role, Permission.MANAGE)
        key = await self._require_active_named_key(workspace, key_id)
        await self._credential_store.save_credential(replace(key, name=_trim_and_check_key_name(new_name)))

    async def set_named_key_limit_within_plan(
        self, workspace: Workspace, acting_owner: Member, key_id: UUID, requested_rate_limit: int
    ) -> None:
        """Sets the requests per 60 seconds of a named key, at most the limit of the plan.

        Raises:
            Forbidden: ``owner_required``.
            NotFound: the workspace has no such active named key.
        """
        require_permission(acting_owner.role, Permission.GRANT_WRITES)
        key = await self._require_active_named_key(workspace, key_id)
        allowed = BILLING_PLANS.get(workspace.plan, UNLIMITED_PLAN).clamp_rate_limit_to_1_and_plan_maximum(
            requested_rate_limit
        )
        await self._credential_store.save_credential(replace(key, rate_limit=allowed))

    async def revoke_active_named_key(
        self, workspace: Workspace, acting_member: Member, key_id: UUID
    ) -> None:
        """Revokes a named key at once.

        Raises:
            Forbidden: ``role_required``.
            NotFound: the workspace has no such active named key.
        """
        require_permission(acting_member.role, Permission.MANAGE)
        key = await self._require_active_named_key(workspace, key_id)
        await revoke_key_if_active(self._credential_store, workspace, key.id, self._clock())

    async def revoke_and_reissue_key(
        self, workspace: Workspace, acting_member: Member, kind: CredentialKind
    ) -> KeyWithSecret:
        """Replaces the agent key or the write key. The old key is revoked at once.

        Raises:
            Forbidden: ``role_required``.
        """
        require_permission(acting_member.role, Permission.MANAGE)
        return await revoke_and_reissue_workspace_key(self._credential_store, workspace, kind, self._clock())

    async def _require_active_named_key(self, workspace: Workspace, key_id: UUID) -> Credential:
        for key in await self._credential_store.list_keys(workspace.id):
            if key.id == key_id and key.kind is CredentialKind.NAMED and key.revoked_at is None:
                return key
        raise NotFound


def _trim_and_check_key_name(name: str) -> str:
    trimmed = trim_and_require_name(name)
    if len(trimmed) > MAX_KEY_NAME_LENGTH:
        raise BadRequest(
            f"A name has at most {MAX_KEY_NAME_LENGTH} characters", "invalid_parameter", field="name"
        )
    return trimmed
