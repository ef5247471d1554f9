"""Memberships and invitations in SQL."""

from uuid import UUID

import sqlalchemy as sa

from plugins.workspace_sql.access_tables import INVITATIONS, MEMBERS, OAUTH_GRANTS
from plugins.workspace_sql.database import Database
from plugins.workspace_sql.rows import workspace_of
from plugins.workspace_sql.sqlalchemy_asyncio import AsyncConnection
from plugins.workspace_sql.tables import WORKSPACES
from plugins.workspace_sql.values import row_of, value_of
from service_core.plugin import Invitation, Member, Role, Workspace

_OPEN = INVITATIONS.c.accepted_at.is_(None)


class SqlMembers:
    """Implements the ports `Members` and `Invitations`."""

    _database: Database

    async def get_member(self, workspace_id: UUID, account_id: UUID) -> Member | None:
        """The membership of an account in a workspace."""
        async with self._database.read() as connection:
            return await member_of(connection, workspace_id, account_id)

    async def list_members(self, workspace_id: UUID) -> list[Member]:
        """Everybody in a workspace, oldest first."""
        query = sa.select(MEMBERS).where(MEMBERS.c.workspace_id == workspace_id)
        ordered = query.order_by(MEMBERS.c.created_at, MEMBERS.c.account_id)
        async with self._database.read() as connection:
            return [value_of(Member, row) for row in (await connection.execute(ordered)).mappings()]

    async def list_memberships(self, account_id: UUID) -> list[tuple[Workspace, Member]]:
        """The workspaces of an account, oldest first."""
        query = (
            sa.select(WORKSPACES, *(column.label(f"member_{column.name}") for column in MEMBERS.columns))
            .join(MEMBERS, MEMBERS.c.workspace_id == WORKSPACES.c.id)
            .where(MEMBERS.c.account_id == account_id)
            .order_by(WORKSPACES.c.created_at, WORKSPACES.c.id)
        )
        async with self._database.read() as connection:
            rows = (await connection.execute(query)).mappings().all()
        return [(workspace_of(row), value_of(Member, row, "member_")) for row in rows]

    async def save_member(self, member: Member) -> bool:
        """Add a member or change a role; False when no owner would be left."""
        async with self._database.write(member.workspace_id) as connection:
            if member.role is not Role.OWNER and await _only_owner(
                connection, member.workspace_id, member.account_id
            ):
                return False
            update = sa.update(MEMBERS).where(*_key(member.workspace_id, member.account_id))
            if (await connection.execute(update.values(role=member.role.value))).rowcount == 0:
                await connection.execute(sa.insert(MEMBERS).values(row_of(member)))
            return True

    async def remove_member(self, workspace_id: UUID, account_id: UUID) -> bool:
        """End a membership; False when there is none or no owner would be left."""
        async with self._database.write(workspace_id) as connection:
            if await _only_owner(connection, workspace_id, account_id):
                return False
            gone = await connection.execute(sa.delete(MEMBERS).where(*_key(workspace_id, account_id)))
            grants = OAUTH_GRANTS.c.workspace_id == workspace_id, OAUTH_GRANTS.c.account_id == account_id
            await connection.execute(sa.delete(OAUTH_GRANTS).where(*grants))
            return gone.rowcount == 1

    async def save_invitation(self, invitation: Invitation, digest: str) -> None:
        """Keep a new invitation instead of open ones of the same address and workspace."""
        former = (
            INVITATIONS.c.workspace_id == invitation.workspace_id,
            INVITATIONS.c.email == invitation.email,
        )
        async with self._database.write(invitation.workspace_id) as connection:
            await connection.execute(sa.delete(INVITATIONS).where(*former, _OPEN))
            await connection.execute(sa.insert(INVITATIONS).values({**row_of(invitation), "digest": digest}))

    async def get_invitation(self, digest: str) -> Invitation | None:
        """The invitation with this digest."""
        async with self._database.read() as connection:
            query = sa.select(INVITATIONS).where(INVITATIONS.c.digest == digest)
            row = (await connection.execute(query)).mappings().first()
        return None if row is None else value_of(Invitation, row)

    async def list_open_invitations(self, workspace_id: UUID) -> list[Invitation]:
        """Invitations of a workspace that were not accepted, oldest first."""
        query = sa.select(INVITATIONS).where(INVITATIONS.c.workspace_id == workspace_id, _OPEN)
        ordered = query.order_by(INVITATIONS.c.created_at, INVITATIONS.c.id)
        async with self._database.read() as connection:
            return [value_of(Invitation, row) for row in (await connection.execute(ordered)).mappings()]

    async def accept_invitation(self, invitation_id: UUID, member: Member) -> bool:
        """Accept an open invitation and add the member; a present one keeps the role."""
        update = sa.update(INVITATIONS).where(
            INVITATIONS.c.id == invitation_id, _OPEN, INVITATIONS.c.expires_at > member.created_at
        )
        async with self._database.write(member.workspace_id) as connection:
            if (await connection.execute(update.values(accepted_at=member.created_at))).rowcount == 0:
                return False
            if await member_of(connection, member.workspace_id, member.account_id) is None:
                await connection.execute(sa.insert(MEMBERS).values(row_of(member)))
            return True

    async def withdraw_invitation(self, workspace_id: UUID, invitation_id: UUID) -> bool:
        """Drop an open invitation."""
        chosen = INVITATIONS.c.id == invitation_id, INVITATIONS.c.workspace_id == workspace_id, _OPEN
        async with self._database.write() as connection:
            return (await connection.execute(sa.delete(INVITATIONS).where(*chosen))).rowcount == 1


async def member_of(connection: AsyncConnection, workspace_id: UUID, account_id: UUID) -> Member | None:
    """The membership of an account in a workspace."""
    query = sa.select(MEMBERS).where(*_key(workspace_id, account_id))
    row = (await connection.execute(query)).mappings().first()
    return None if row is None else value_of(Member, row)


def _key(workspace_id: UUID, account_id: UUID) -> tuple[sa.ColumnElement[bool], ...]:
    return MEMBERS.c.workspace_id == workspace_id, MEMBERS.c.account_id == account_id


async def _only_owner(connection: AsyncConnection, workspace_id: UUID, account_id: UUID) -> bool:
    """Whether the account is the last owner; the caller's transaction wrote down the workspace's name."""
    query = sa.select(MEMBERS.c.account_id).where(
        MEMBERS.c.workspace_id == workspace_id, MEMBERS.c.role == Role.OWNER.value
    )
    return (await connection.execute(query)).scalars().all() == [account_id]
