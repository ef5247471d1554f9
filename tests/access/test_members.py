"""People: accounts, memberships, invitations, and the last owner."""

import asyncio

import pytest

from service_core.access.members.invitations import (
    accept_invitation_for_own_email,
    change_role_unless_last_owner,
    leave_or_remove_unless_last_owner,
    save_and_email_invitation,
)
from service_core.access.members.models import Account, Member
from service_core.access.roles import Role
from service_core.kernel.errors import BadRequest, Conflict, Forbidden, NotFound
from service_core.kernel.ids import new_id


@pytest.fixture
async def workspace(deployment):
    return (await deployment.create_workspace()).workspace


@pytest.fixture
async def owner(deployment, workspace):
    return await deployment.add_member(workspace, Role.OWNER)


async def invite_and_read_token(deployment, workspace, by, email="bob@example.com", role=Role.MEMBER):
    return await save_and_email_invitation(
        deployment.store.invitations,
        deployment.mail,
        workspace,
        by,
        email=email,
        role=role,
        web_url=deployment.WEB,
        now=deployment.clock(),
    )


async def create_account(deployment, email="bob@example.com"):
    made = Account(new_id(), email, "Bob", deployment.clock())
    assert await deployment.store.accounts.save_account_unless_email_taken(made)
    return made


async def test_email_address_identifies_one_account(deployment):
    bob = await create_account(deployment)
    assert not await deployment.store.accounts.save_account_unless_email_taken(
        Account(new_id(), bob.email, None, deployment.clock())
    )
    assert await deployment.store.accounts.find_account_by_email("bob@example.com") == bob
    assert await deployment.store.accounts.get_account(bob.id) == bob
    assert await deployment.store.accounts.find_account_by_email("ann@example.com") is None


async def test_invitation_is_mailed_and_can_be_accepted_once(deployment, workspace, owner):
    await invite_and_read_token(deployment, workspace, owner, email=" Bob@Example.COM ")
    bob = await create_account(deployment)
    assert deployment.mail.messages[0].to == "bob@example.com"
    member = await accept_invitation_for_own_email(
        deployment.store.invitations, bob, deployment.mail.token(), deployment.clock()
    )
    assert (member.role, await deployment.store.members.get_member(workspace.id, bob.id)) == (
        Role.MEMBER,
        member,
    )
    assert await deployment.store.members.list_memberships(bob.id) == [(workspace, member)]
    assert await deployment.store.invitations.list_open_invitations(workspace.id) == []
    with pytest.raises(NotFound):
        await accept_invitation_for_own_email(
            deployment.store.invitations, bob, deployment.mail.token(), deployment.clock()
        )


async def test_invitation_can_be_accepted_only_by_its_address(deployment, workspace, owner):
    await invite_and_read_token(deployment, workspace, owner)
    eve = await create_account(deployment, "eve@example.com")
    with pytest.raises(Forbidden):
        await accept_invitation_for_own_email(
            deployment.store.invitations, eve, deployment.mail.token(), deployment.clock()
        )


async def test_invitation_expires_after_seven_days(deployment, workspace, owner, clock):
    await invite_and_read_token(deployment, workspace, owner)
    bob = await create_account(deployment)
    clock.advance(days=7)
    with pytest.raises(NotFound):
        await accept_invitation_for_own_email(
            deployment.store.invitations, bob, deployment.mail.token(), deployment.clock()
        )


async def test_new_invitation_replaces_the_pending_one(deployment, workspace, owner):
    await invite_and_read_token(deployment, workspace, owner)
    former = deployment.mail.token()
    await invite_and_read_token(deployment, workspace, owner, role=Role.VIEWER)
    assert [one.role for one in await deployment.store.invitations.list_open_invitations(workspace.id)] == [
        Role.VIEWER
    ]
    with pytest.raises(NotFound):
        await accept_invitation_for_own_email(
            deployment.store.invitations, await create_account(deployment), former, deployment.clock()
        )


async def test_withdrawn_invitation_cannot_be_accepted(deployment, workspace, owner):
    made = await invite_and_read_token(deployment, workspace, owner)
    other = (await deployment.create_workspace("Other")).workspace
    assert not await deployment.store.invitations.withdraw_invitation(other.id, made.invitation.id)
    assert await deployment.store.invitations.withdraw_invitation(workspace.id, made.invitation.id)
    with pytest.raises(NotFound):
        await accept_invitation_for_own_email(
            deployment.store.invitations, await create_account(deployment), made.token, deployment.clock()
        )


async def test_accepting_an_invitation_keeps_the_role_of_an_existing_member(deployment, workspace, owner):
    bob = await create_account(deployment)
    await deployment.store.members.save_member_unless_no_owner_left(
        Member(workspace.id, bob.id, Role.ADMIN, deployment.clock()), deployment.clock()
    )
    await invite_and_read_token(deployment, workspace, owner, role=Role.VIEWER)
    await accept_invitation_for_own_email(
        deployment.store.invitations, bob, deployment.mail.token(), deployment.clock()
    )
    assert (await deployment.store.members.get_member(workspace.id, bob.id)).role is Role.ADMIN


@pytest.mark.parametrize(
    ("by", "role", "code"),
    [
        (Role.MEMBER, Role.VIEWER, "role_required"),
        (Role.ADMIN, Role.OWNER, "owner_required"),
        (Role.ADMIN, Role.ADMIN, None),
        (Role.OWNER, Role.OWNER, None),
    ],
)
async def test_roles_that_each_role_may_invite(deployment, workspace, by, role, code):
    inviter = await deployment.add_member(workspace, by)
    if code is None:
        await invite_and_read_token(deployment, workspace, inviter, role=role)
        return
    with pytest.raises(Forbidden) as caught:
        await invite_and_read_token(deployment, workspace, inviter, role=role)
    assert (caught.value.code, deployment.mail.messages) == (code, [])


async def test_invitation_without_a_valid_address_is_refused(deployment, workspace, owner):
    with pytest.raises(BadRequest) as caught:
        await invite_and_read_token(deployment, workspace, owner, email="nobody")
    assert caught.value.code == "invalid_email"


async def test_last_owner_cannot_be_removed(deployment, workspace, owner):
    admin = await deployment.add_member(workspace, Role.ADMIN)
    with pytest.raises(Conflict):
        await change_role_unless_last_owner(
            deployment.store.members, owner, owner.account_id, Role.ADMIN, deployment.clock()
        )
    with pytest.raises(Conflict):
        await leave_or_remove_unless_last_owner(
            deployment.store.members, owner, owner.account_id, deployment.clock()
        )
    await change_role_unless_last_owner(
        deployment.store.members, owner, admin.account_id, Role.OWNER, deployment.clock()
    )
    await leave_or_remove_unless_last_owner(
        deployment.store.members, owner, owner.account_id, deployment.clock()
    )
    assert [
        (one.account_id, one.role) for one in await deployment.store.members.list_members(workspace.id)
    ] == [(admin.account_id, Role.OWNER)]


async def test_only_owners_change_roles_and_members_can_leave(deployment, workspace, owner):
    admin, member = (
        await deployment.add_member(workspace, Role.ADMIN),
        await deployment.add_member(workspace, Role.MEMBER),
    )
    with pytest.raises(Forbidden):
        await change_role_unless_last_owner(
            deployment.store.members, admin, member.account_id, Role.ADMIN, deployment.clock()
        )
    with pytest.raises(Forbidden):
        await leave_or_remove_unless_last_owner(
            deployment.store.members, admin, member.account_id, deployment.clock()
        )
    await leave_or_remove_unless_last_owner(
        deployment.store.members, member, member.account_id, deployment.clock()
    )
    with pytest.raises(NotFound):
        await leave_or_remove_unless_last_owner(
            deployment.store.members, owner, member.account_id, deployment.clock()
        )
    with pytest.raises(NotFound):
        await change_role_unless_last_owner(
            deployment.store.members, owner, member.account_id, Role.ADMIN, deployment.clock()
        )


async def test_concurrent_removal_of_two_owners_keeps_one(two_deployments):
    one, other = two_deployments
    shop = (await one.create_workspace()).workspace
    owners = [await one.add_member(shop, Role.OWNER, f"{n}@example.com") for n in range(2)]
    left = await asyncio.gather(
        one.store.members.remove_member_unless_last_owner(shop.id, owners[0].account_id, one.clock()),
        other.store.members.remove_member_unless_last_owner(shop.id, owners[1].account_id, one.clock()),
    )
    assert sorted(left) == [False, True]
    assert len(await one.store.members.list_members(shop.id)) == 1
