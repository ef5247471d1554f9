"""People: accounts, memberships, invitations, and the last owner (semantics 21)."""

import asyncio

import pytest

from service_core.access.members.invitations import (
    accept_invitation,
    change_role,
    invite_member,
    remove_member,
)
from service_core.access.members.models import Account, Member
from service_core.access.roles import Role
from service_core.kernel.errors import BadRequest, Conflict, Forbidden, NotFound
from service_core.kernel.ids import new_id


@pytest.fixture
async def shop(house):
    return (await house.found()).workspace


@pytest.fixture
async def owner(house, shop):
    return await house.person(shop, Role.OWNER)


async def invited(house, shop, by, email="bob@example.com", role=Role.MEMBER):
    return await invite_member(
        house.store.invitations,
        house.mail,
        shop,
        by,
        email=email,
        role=role,
        web_url=house.WEB,
        now=house.clock(),
    )


async def account(house, email="bob@example.com"):
    made = Account(new_id(), email, "Bob", house.clock())
    assert await house.store.accounts.save_account(made)
    return made


async def test_one_address_is_one_account(house):
    bob = await account(house)
    assert not await house.store.accounts.save_account(Account(new_id(), bob.email, None, house.clock()))
    assert await house.store.accounts.find_account_by_email("bob@example.com") == bob
    assert await house.store.accounts.get_account(bob.id) == bob
    assert await house.store.accounts.find_account_by_email("ann@example.com") is None


async def test_an_invitation_is_mailed_and_accepted_once(house, shop, owner):
    await invited(house, shop, owner, email=" Bob@Example.COM ")
    bob = await account(house)
    assert house.mail.letters[0].to == "bob@example.com"
    member = await accept_invitation(house.store.invitations, bob, house.mail.token(), house.clock())
    assert (member.role, await house.store.members.get_member(shop.id, bob.id)) == (Role.MEMBER, member)
    assert await house.store.members.list_memberships(bob.id) == [(shop, member)]
    assert await house.store.invitations.list_open_invitations(shop.id) == []
    with pytest.raises(NotFound):
        await accept_invitation(house.store.invitations, bob, house.mail.token(), house.clock())


async def test_an_invitation_is_for_one_address(house, shop, owner):
    await invited(house, shop, owner)
    eve = await account(house, "eve@example.com")
    with pytest.raises(Forbidden):
        await accept_invitation(house.store.invitations, eve, house.mail.token(), house.clock())


async def test_an_invitation_expires_after_seven_days(house, shop, owner, clock):
    await invited(house, shop, owner)
    bob = await account(house)
    clock.advance(days=7)
    with pytest.raises(NotFound):
        await accept_invitation(house.store.invitations, bob, house.mail.token(), house.clock())


async def test_a_new_invitation_replaces_the_open_one(house, shop, owner):
    await invited(house, shop, owner)
    former = house.mail.token()
    await invited(house, shop, owner, role=Role.VIEWER)
    assert [one.role for one in await house.store.invitations.list_open_invitations(shop.id)] == [Role.VIEWER]
    with pytest.raises(NotFound):
        await accept_invitation(house.store.invitations, await account(house), former, house.clock())


async def test_a_withdrawn_invitation_opens_nothing(house, shop, owner):
    made = await invited(house, shop, owner)
    other = (await house.found("Other")).workspace
    assert not await house.store.invitations.withdraw_invitation(other.id, made.invitation.id)
    assert await house.store.invitations.withdraw_invitation(shop.id, made.invitation.id)
    with pytest.raises(NotFound):
        await accept_invitation(house.store.invitations, await account(house), made.token, house.clock())


async def test_a_member_who_accepts_another_invitation_keeps_the_role(house, shop, owner):
    bob = await account(house)
    await house.store.members.save_member(Member(shop.id, bob.id, Role.ADMIN, house.clock()))
    await invited(house, shop, owner, role=Role.VIEWER)
    await accept_invitation(house.store.invitations, bob, house.mail.token(), house.clock())
    assert (await house.store.members.get_member(shop.id, bob.id)).role is Role.ADMIN


@pytest.mark.parametrize(
    ("by", "role", "code"),
    [
        (Role.MEMBER, Role.VIEWER, "role_required"),
        (Role.ADMIN, Role.OWNER, "owner_required"),
        (Role.ADMIN, Role.ADMIN, None),
        (Role.OWNER, Role.OWNER, None),
    ],
)
async def test_who_may_invite_whom(house, shop, by, role, code):
    inviter = await house.person(shop, by)
    if code is None:
        await invited(house, shop, inviter, role=role)
        return
    with pytest.raises(Forbidden) as caught:
        await invited(house, shop, inviter, role=role)
    assert (caught.value.code, house.mail.letters) == (code, [])


async def test_an_invitation_needs_an_address(house, shop, owner):
    with pytest.raises(BadRequest) as caught:
        await invited(house, shop, owner, email="nobody")
    assert caught.value.code == "invalid_email"


async def test_the_last_owner_stays(house, shop, owner):
    admin = await house.person(shop, Role.ADMIN)
    with pytest.raises(Conflict):
        await change_role(house.store.members, owner, owner.account_id, Role.ADMIN)
    with pytest.raises(Conflict):
        await remove_member(house.store.members, owner, owner.account_id)
    await change_role(house.store.members, owner, admin.account_id, Role.OWNER)
    await remove_member(house.store.members, owner, owner.account_id)
    assert [(one.account_id, one.role) for one in await house.store.members.list_members(shop.id)] == [
        (admin.account_id, Role.OWNER)
    ]


async def test_only_an_owner_changes_roles_and_everybody_may_leave(house, shop, owner):
    admin, member = await house.person(shop, Role.ADMIN), await house.person(shop, Role.MEMBER)
    with pytest.raises(Forbidden):
        await change_role(house.store.members, admin, member.account_id, Role.ADMIN)
    with pytest.raises(Forbidden):
        await remove_member(house.store.members, admin, member.account_id)
    await remove_member(house.store.members, member, member.account_id)
    with pytest.raises(NotFound):
        await remove_member(house.store.members, owner, member.account_id)
    with pytest.raises(NotFound):
        await change_role(house.store.members, owner, member.account_id, Role.ADMIN)


async def test_of_two_owners_who_leave_together_one_stays(houses):
    one, other = houses
    shop = (await one.found()).workspace
    owners = [await one.person(shop, Role.OWNER, f"{n}@example.com") for n in range(2)]
    left = await asyncio.gather(
        one.store.members.remove_member(shop.id, owners[0].account_id),
        other.store.members.remove_member(shop.id, owners[1].account_id),
    )
    assert sorted(left) == [False, True]
    assert len(await one.store.members.list_members(shop.id)) == 1
