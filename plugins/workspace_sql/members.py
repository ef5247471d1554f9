"""Stores of memberships and invitations."""

from datetime import datetime
from typing import Final
from uuid import UUID

import sqlalchemy as sa

from plugins.workspace_sql.access_tables import (
    CREDENTIALS,
    INVITATIONS,
    KEY_REQUESTS,
    MEMBERS,
    OAUTH_GRANTS,
    WORKSPACES,
)
from plugins.workspace_sql.change_counter import request_increment_at_commit
from plugins.workspace_sql.database import SqlStore
from plugins.workspace_sql.records import prefixed_columns, record_of, row_of
from plugins.workspace_sql.sqlalchemy_asyncio import AsyncConnection
from plugins.workspace_sql.statements import insert_if_absent, matches
from service_core.plugin import (
    GRANTABLE_KEY_SCOPES,
    Credential,
    Invitation,
    Member,
    RequestStatus,
    Role,
    Workspace,
    restrict_key_to_role_or_revoke,
)

_OPEN: Final = INVITATIONS.c.accepted_at.is_(None)


class SqlMembers(SqlStore):
    """Implements the port `Members`."""

    async def get_member(self, workspace_id: UUID, account_id: UUID) -> Member | None:
        """Returns the membership of an account in a workspace."""
        query = sa.select(MEMBERS).where(matches(MEMBERS, workspace_id=workspace_id, account_id=account_id))
        return await self._database.fetch_first_record(Member, query)

    async def list_members(self, workspace_id: UUID) -> list[Member]:
        """Returns the members of a workspace, oldest first."""
        own = sa.select(MEMBERS).where(MEMBERS.c.workspace_id == workspace_id)
        return await self._database.fetch_records(
            Member, own.order_by(MEMBERS.c.created_at, MEMBERS.c.account_id)
        )

    async def list_memberships(self, account_id: UUID) -> list[tuple[Workspace, Member]]:
        """Returns the workspaces of an account with its membership, oldest workspace first."""
        query = (
            sa.select(WORKSPACES, *prefixed_columns(MEMBERS, "member_"))
            .join(MEMBERS, MEMBERS.c.workspace_id == WORKSPACES.c.id)
            .where(MEMBERS.c.account_id == account_id)
            .order_by(WORKSPACES.c.created_at, WORKSPACES.c.id)
        )
        rows = await self._database.fetch_rows(query)
        return [(record_of(Workspace, row), record_of(Member, row, "member_")) for row in rows]

    async def save_member_unless_no_owner_left(self, member: Member, now: datetime) -> bool:
        """Adds a member or changes a role, with the keys the member granted; see `Members`."""
        async with self._database.write(member.workspace_id) as connection:
            demotes = member.role is not Role.OWNER
            if demotes and await _is_last_owner(connection, member.workspace_id, member.account_id):
                return False
            own = matches(MEMBERS, workspace_id=member.workspace_id, account_id=member.account_id)
            changed = await connection.execute(sa.update(MEMBERS).where(own).values(role=member.role))
            if changed.rowcount == 0:
                await connection.execute(sa.insert(MEMBERS).values(row_of(member)))
            await _limit_keys_and_expire_requests_beyond_role(connection, member, now)
            request_increment_at_commit(connection)
            return True

    async def remove_member_unless_last_owner(
        self, workspace_id: UUID, account_id: UUID, now: datetime, *, keys_pass_to: UUID | None = None
    ) -> bool:
        """Deletes a membership with its grants, and revokes or passes on its keys; see `Members`."""
        own = {"workspace_id": workspace_id, "account_id": account_id}
        async with self._database.write(workspace_id) as connection:
            if await _is_last_owner(connection, workspace_id, account_id):
                return False
            removed = await connection.execute(sa.delete(MEMBERS).where(matches(MEMBERS, **own)))
            await connection.execute(sa.delete(OAUTH_GRANTS).where(matches(OAUTH_GRANTS, **own)))
            if not removed.rowcount:
                return False
            keys = matches(CREDENTIALS, workspace_id=workspace_id, granted_by=account_id)
            change = {"revoked_at": now} if keys_pass_to is None else {"granted_by": keys_pass_to}
            active = CREDENTIALS.c.revoked_at.is_(None)
            await connection.execute(sa.update(CREDENTIALS).where(keys, active).values(change))
            approved = _approved_requests(workspace_id, account_id)
            expire = sa.update(KEY_REQUESTS).where(approved).values(status=RequestStatus.EXPIRED)
            await connection.execute(expire)
            request_increment_at_commit(connection)
            return True


def _approved_requests(workspace_id: UUID, account_id: UUID) -> sa.ColumnElement[bool]:
    """Returns the condition of key requests that a member approved and nobody collected yet."""
    return matches(
        KEY_REQUESTS, workspace_id=workspace_id, decided_by=account_id, status=RequestStatus.APPROVED
    )


async def _limit_keys_and_expire_requests_beyond_role(
    connection: AsyncConnection, member: Member, now: datetime
) -> None:
    """Narrows or revokes the active keys a member granted, and expires approved requests beyond the role."""
    own = matches(CREDENTIALS, workspace_id=member.workspace_id, granted_by=member.account_id)
    active = await connection.execute(sa.select(CREDENTIALS).where(own, CREDENTIALS.c.revoked_at.is_(None)))
    for row in active.mappings().all():
        key = record_of(Credential, row)
        limited = restrict_key_to_role_or_revoke(key, member.role, now)
        if limited != key:
            update = sa.update(CREDENTIALS).where(CREDENTIALS.c.id == key.id)
            await connection.execute(update.values(row_of(limited)))
    approved = sa.select(KEY_REQUESTS.c.id, KEY_REQUESTS.c.scopes).where(
        _approved_requests(member.workspace_id, member.account_id)
    )
    for row in (await connection.execute(approved)).mappings().all():
        if not row["scopes"] <= GRANTABLE_KEY_SCOPES[member.role]:
            same = KEY_REQUESTS.c.id == row["id"]
            await connection.execute(sa.update(KEY_REQUESTS).where(same).values(status=RequestStatus.EXPIRED))


async def _is_last_owner(connection: AsyncConnection, workspace_id: UUID, account_id: UUID) -> bool:
    """Returns whether the account is the last owner. The transaction holds the lock of the workspace."""
    owners = matches(MEMBERS, workspace_id=workspace_id, role=Role.OWNER)
    query = sa.select(MEMBERS.c.account_id).where(owners)
    return (await connection.execute(query)).scalars().all() == [account_id]


class SqlInvitations(SqlStore):
    """Implements the port `Invitations`."""

    async def replace_open_invitation(self, invitation: Invitation, digest: str) -> None:
        """Adds an invitation. It replaces the open ones of the same e-mail address and workspace."""
        same = matches(INVITATIONS, workspace_id=invitation.workspace_id, email=invitation.email)
        row = {**row_of(invitation), "digest": digest}
        async with self._database.write(invitation.workspace_id) as connection:
            await connection.execute(sa.delete(INVITATIONS).where(same, _OPEN))
            await connection.execute(sa.insert(INVITATIONS).values(row))

    async def get_invitation(self, digest: str) -> Invitation | None:
        """Returns the invitation with this digest."""
        query = sa.select(INVITATIONS).where(INVITATIONS.c.digest == digest)
        return await self._database.fetch_first_record(Invitation, query)

    async def list_open_invitations(self, workspace_id: UUID) -> list[Invitation]:
        """Returns the invitations of a workspace that were not accepted, oldest first."""
        query = sa.select(INVITATIONS).where(INVITATIONS.c.workspace_id == workspace_id, _OPEN)
        ordered = query.order_by(INVITATIONS.c.created_at, INVITATIONS.c.id)
        return await self._database.fetch_records(Invitation, ordered)

    async def accept_open_invitation(self, invitation_id: UUID, member: Member) -> bool:
        """Accepts an open invitation and adds the member. A present member keeps the role."""
        now = member.created_at
        acceptable = INVITATIONS.c.id == invitation_id, _OPEN, INVITATIONS.c.expires_at > now
        async with self._database.write(member.workspace_id) as connection:
            accept = sa.update(INVITATIONS).where(*acceptable).values(accepted_at=now)
            if (await connection.execute(accept)).rowcount == 0:
                return False
            await connection.execute(insert_if_absent(connection, MEMBERS).values(row_of(member)))
            return True

    async def withdraw_invitation(self, workspace_id: UUID, invitation_id: UUID) -> bool:
        """Deletes an open invitation."""
        own = matches(INVITATIONS, id=invitation_id, workspace_id=workspace_id)
        return bool(await self._database.execute(sa.delete(INVITATIONS).where(own, _OPEN)))
