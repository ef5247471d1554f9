"""A key depends on the membership of the person who granted it; signups and key requests are not kept for ever."""

from dataclasses import replace

import pytest

from service_core.access.api_keys import create_named_key_clamping_rate_limit_to_plan
from service_core.access.key_management import KeyManagement
from service_core.access.key_requests.models import RequestStatus
from service_core.access.members.invitations import (
    change_role_unless_last_owner,
    leave_or_remove_unless_last_owner,
)
from service_core.access.roles import Role
from service_core.access.signup.models import SignupStatus
from service_core.access.signup.ports import SignupLookup
from service_core.kernel.ids import sha256_hex
from service_core.kernel.operations import Scope
from tests.access.test_key_requests import KeyRequestClient

READ = frozenset({Scope.READ})


@pytest.fixture
async def key_requests(deployment):
    return KeyRequestClient(deployment, await deployment.create_workspace(plan="growth"))


async def is_accepted(deployment, key):
    return await deployment.store.credentials.find_auth_context(sha256_hex(key.secret)) is not None


async def keys_of_admin(deployment, key_requests):
    """An owner, an admin, and the keys: created by the admin, approved by the admin, created by nobody."""
    workspace = key_requests.workspace
    owner, admin = [await deployment.add_member(workspace, role) for role in (Role.OWNER, Role.ADMIN)]
    management = KeyManagement(deployment.store.credentials, deployment.clock)
    created = await management.create_named_key_if_permitted(workspace, admin, "Created", READ)
    filed = await key_requests.file()
    await deployment.approvals.decide_pending_request(filed.token, admin.account_id, approve=True)
    _, approved = await key_requests.poll(filed.request)
    unowned = await create_named_key_clamping_rate_limit_to_plan(
        deployment.store.credentials, workspace, deployment.clock(), name="CLI"
    )
    return owner, admin, (created, approved, unowned)


async def test_keys_die_with_the_membership_of_who_granted_them(deployment, key_requests):
    owner, admin, keys = await keys_of_admin(deployment, key_requests)
    assert [await is_accepted(deployment, key) for key in keys] == [True, True, True]
    before = deployment.store.credentials.change_version()
    members, now = deployment.store.members, deployment.clock()
    await leave_or_remove_unless_last_owner(members, owner, admin.account_id, now)
    assert [await is_accepted(deployment, key) for key in keys] == [False, False, True]
    assert deployment.store.credentials.change_version() != before  # other processes drop what they cached
    listed = await deployment.store.credentials.list_keys(key_requests.workspace.id)
    assert {key.name for key in listed if key.revoked_at == now} == {"Created", "Campaign bot"}
    await members.save_member_unless_no_owner_left(replace(admin, created_at=now), now)
    assert not await is_accepted(deployment, keys[0])  # who comes back brings no key back


async def test_owner_may_keep_the_keys_of_who_is_removed(deployment, key_requests):
    owner, admin, keys = await keys_of_admin(deployment, key_requests)
    heir = await deployment.add_member(key_requests.workspace, Role.OWNER, "heir@example.com")
    members, now = deployment.store.members, deployment.clock()
    await leave_or_remove_unless_last_owner(members, owner, admin.account_id, now, owner_takes_over_keys=True)
    assert [await is_accepted(deployment, key) for key in keys] == [True, True, True]
    await leave_or_remove_unless_last_owner(members, heir, owner.account_id, now)
    assert [await is_accepted(deployment, key) for key in keys] == [False, False, True]


async def test_who_leaves_keeps_no_keys(deployment, key_requests):
    _, admin, keys = await keys_of_admin(deployment, key_requests)
    await leave_or_remove_unless_last_owner(
        deployment.store.members, admin, admin.account_id, deployment.clock(), owner_takes_over_keys=True
    )
    assert [await is_accepted(deployment, key) for key in keys] == [False, False, True]


async def test_keys_shrink_with_the_role_of_who_granted_them(deployment, key_requests):
    workspace, store = key_requests.workspace, deployment.store
    owner = await deployment.add_member(workspace, Role.OWNER)
    demoted = await deployment.add_member(workspace, Role.OWNER, "second@example.com")
    management = KeyManagement(store.credentials, deployment.clock)
    key = await management.create_named_key_if_permitted(
        workspace, demoted, "Links", {Scope.READ, Scope.WRITE_LINKS}
    )
    write_only = await management.create_named_key_if_permitted(
        workspace, demoted, "Writes", {Scope.WRITE_RULES}
    )
    filed = await key_requests.file(scopes=frozenset({Scope.READ, Scope.WRITE_LINKS}))
    await deployment.approvals.decide_pending_request(filed.token, demoted.account_id, approve=True)
    before, now = store.credentials.change_version(), deployment.clock()
    await change_role_unless_last_owner(store.members, owner, demoted.account_id, Role.ADMIN, now)
    found = await store.credentials.find_auth_context(sha256_hex(key.secret))
    assert found.credential.scopes == READ
    assert not await is_accepted(deployment, write_only)
    assert store.credentials.change_version() != before  # other processes drop what they cached
    request, collected = await key_requests.poll(filed.request)
    assert (request.status_at(now), collected) == (RequestStatus.EXPIRED, None)
    await change_role_unless_last_owner(store.members, owner, demoted.account_id, Role.OWNER, now)
    found = await store.credentials.find_auth_context(sha256_hex(key.secret))
    assert found.credential.scopes == READ  # a later promotion brings no scope back
    await change_role_unless_last_owner(store.members, owner, demoted.account_id, Role.VIEWER, now)
    assert not await is_accepted(deployment, key)
    listed = {listed.name: listed for listed in await store.credentials.list_keys(workspace.id)}
    assert (listed["Links"].revoked_at, listed["Writes"].revoked_at) == (now, now)


async def test_approval_of_who_left_mints_no_key(deployment, key_requests):
    workspace = key_requests.workspace
    owner, admin = [await deployment.add_member(workspace, role) for role in (Role.OWNER, Role.ADMIN)]
    filed = await key_requests.file()
    await deployment.approvals.decide_pending_request(filed.token, admin.account_id, approve=True)
    await leave_or_remove_unless_last_owner(
        deployment.store.members, owner, admin.account_id, deployment.clock()
    )
    request, key = await key_requests.poll(filed.request)
    assert (request.status_at(deployment.clock()), key) == (RequestStatus.EXPIRED, None)


async def test_key_requests_without_a_collected_key_are_deleted_after_40_days(key_requests, clock):
    collected, pending = await key_requests.approved(), (await key_requests.file()).request
    await key_requests.poll(collected)
    clock.advance(days=40)
    await key_requests.file()
    assert (await key_requests.poll(pending))[0].status_at(clock()) is RequestStatus.EXPIRED
    clock.advance(seconds=1)
    await key_requests.file()
    assert await key_requests.poll(pending) is None
    assert (await key_requests.poll(collected))[0].status is RequestStatus.COLLECTED


async def test_unpaid_signups_are_deleted_30_days_after_they_expired(deployment, clock):
    async def find(created):
        return await deployment.store.signups.find_signup(SignupLookup.ID, str(created.signup.id))

    paid = await deployment.sign_up(email="paid@example.com")
    await deployment.pay(paid)
    unpaid = await deployment.sign_up(email="ann@example.com")
    clock.advance(days=37)
    await deployment.sign_up(email="bob@example.com")
    assert (await find(unpaid)).status_at(clock()) is SignupStatus.EXPIRED
    clock.advance(seconds=1)
    await deployment.sign_up(email="cid@example.com")
    assert await find(unpaid) is None
    assert (await find(paid)).status is SignupStatus.PAID
