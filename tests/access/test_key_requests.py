"""Contract 7.2 and 13: a request is decided once, its key is made and returned once."""

import asyncio
from dataclasses import replace

import pytest

from service_core.access.api_keys import create_named_key_clamping_rate_limit_to_plan
from service_core.access.key_requests.create import (
    KeyRequestInput,
    create_or_replay_key_request,
    poll_and_collect_approved_key_once,
)
from service_core.access.key_requests.models import RequestStatus
from service_core.access.models import IdempotentRequest
from service_core.access.roles import Role
from service_core.kernel.errors import BadRequest, Conflict, Forbidden, NotFound
from service_core.kernel.ids import new_id, sha256_hex
from service_core.kernel.operations import Scope

READ, LINKS = frozenset({Scope.READ}), frozenset({Scope.READ, Scope.WRITE_LINKS})


class KeyRequestClient:
    """A workspace with members of every role, and a program that asks for keys."""

    def __init__(self, deployment, initialized_deployment):
        self.deployment, self.workspace = deployment, initialized_deployment.workspace
        self.requester_id = initialized_deployment.agent_key.credential.id

    async def person(self, role):
        return (await self.deployment.add_member(self.workspace, role)).account_id

    async def file(self, scopes=READ, once=None, name="Campaign bot"):
        filing = KeyRequestInput(self.requester_id, "Agent key (…x9Qd)", name, scopes, "to read", "Bot")
        return await create_or_replay_key_request(
            self.deployment.store.key_requests,
            self.workspace,
            filing,
            self.deployment.clock(),
            idempotency=once,
        )

    async def poll(self, request, requester_id=None, deployment=None):
        return await poll_and_collect_approved_key_once(
            (deployment or self.deployment).store.key_requests,
            request.id,
            requester_id or self.requester_id,
            self.workspace,
            self.deployment.clock(),
        )

    async def approved(self, scopes=READ, by=Role.OWNER, **more):
        filed = await self.file(scopes)
        return await self.deployment.approvals.decide_pending_request(
            filed.token, await self.person(by), approve=True, **more
        )


@pytest.fixture
async def key_requests(deployment):
    return KeyRequestClient(deployment, await deployment.create_workspace(plan="growth"))


async def test_pending_key_request_expires_after_24_hours(key_requests, clock):
    filed = await key_requests.file()
    assert (await key_requests.poll(filed.request))[0].status_at(clock()) is RequestStatus.PENDING
    clock.advance(hours=24)
    request, minted = await key_requests.poll(filed.request)
    assert (request.status_at(clock()), minted) == (RequestStatus.EXPIRED, None)
    with pytest.raises(Conflict):
        await key_requests.deployment.approvals.decide_pending_request(
            filed.token, await key_requests.person(Role.OWNER), approve=True
        )


async def test_approved_key_is_returned_by_the_first_poll_only(key_requests):
    request = await key_requests.approved()
    collected, minted = await key_requests.poll(request)
    assert (collected.status, collected.key_id) == (RequestStatus.COLLECTED, minted.credential.id)
    identity = await key_requests.deployment.store.credentials.find_auth_context(sha256_hex(minted.secret))
    assert (identity.credential.scopes, identity.credential.name) == (READ, "Campaign bot")
    again, nothing = await key_requests.poll(request)
    assert (again.status, nothing) == (RequestStatus.COLLECTED, None)


async def test_key_is_created_when_it_is_collected(key_requests):
    before = await key_requests.deployment.store.credentials.list_keys(key_requests.workspace.id)
    await key_requests.approved()
    assert await key_requests.deployment.store.credentials.list_keys(key_requests.workspace.id) == before


async def test_approved_key_request_expires_24_hours_after_approval(key_requests, clock):
    request = await key_requests.approved()
    clock.advance(hours=24)
    expired, minted = await key_requests.poll(request)
    assert (expired.status_at(clock()), minted) == (RequestStatus.EXPIRED, None)


async def test_denied_key_request_returns_no_key(key_requests):
    filed = await key_requests.file()
    await key_requests.deployment.approvals.decide_pending_request(
        filed.token, await key_requests.person(Role.ADMIN), approve=False
    )
    request, minted = await key_requests.poll(filed.request)
    assert (request.status, minted) == (RequestStatus.DENIED, None)


async def test_key_request_can_be_polled_only_by_its_requester(key_requests):
    request = await key_requests.approved()
    assert await key_requests.poll(request, requester_id=new_id()) is None
    assert await key_requests.poll(replace(request, id=new_id())) is None


async def test_approval_page_shows_requester_scopes_and_permissions_of_the_viewer(key_requests):
    filed = await key_requests.file(LINKS)
    owner = await key_requests.deployment.approvals.view_request_as_member(
        filed.token, await key_requests.person(Role.OWNER)
    )
    assert (owner.request.requester, owner.workspace.name) == ("Agent key (…x9Qd)", "Example Shop")
    assert (owner.request.scopes, owner.request.client_name, owner.status) == (LINKS, "Bot", "pending")
    may = {
        role: await key_requests.deployment.approvals.view_request_as_member(
            filed.token, await key_requests.person(role)
        )
        for role in (Role.ADMIN, Role.MEMBER)
    }
    assert (owner.may_approve, owner.may_deny, owner.may_limit) == (True, True, True)
    assert (may[Role.ADMIN].may_approve, may[Role.ADMIN].may_deny, may[Role.ADMIN].may_limit) == (
        False,
        True,
        False,
    )
    assert (may[Role.MEMBER].may_approve, may[Role.MEMBER].may_deny) == (False, False)


@pytest.mark.parametrize("token", ["", "x", "A" * 43, "é" * 43])
async def test_unknown_approval_link_is_not_found(key_requests, token):
    owner = await key_requests.person(Role.OWNER)
    with pytest.raises(NotFound):
        await key_requests.deployment.approvals.view_request_as_member(token, owner)


async def test_approval_link_is_not_found_for_non_members(key_requests):
    filed = await key_requests.file()
    other = await key_requests.deployment.create_workspace("Other")
    stranger = await key_requests.deployment.add_member(other.workspace, Role.OWNER)
    for attempt in (
        key_requests.deployment.approvals.view_request_as_member(filed.token, stranger.account_id),
        key_requests.deployment.approvals.decide_pending_request(
            filed.token, stranger.account_id, approve=True
        ),
    ):
        with pytest.raises(NotFound):
            await attempt


@pytest.mark.parametrize(
    ("role", "scopes", "limit", "code"),
    [
        (Role.ADMIN, LINKS, None, "owner_required"),
        (Role.ADMIN, READ, 200, "owner_required"),
        (Role.MEMBER, READ, None, "role_required"),
        (Role.VIEWER, READ, None, "role_required"),
    ],
)
async def test_forbidden_decision_does_not_consume_the_approval_link(key_requests, role, scopes, limit, code):
    filed = await key_requests.file(scopes)
    with pytest.raises(Forbidden) as caught:
        await key_requests.deployment.approvals.decide_pending_request(
            filed.token, await key_requests.person(role), approve=True, owner_chosen_rate_limit=limit
        )
    assert caught.value.code == code
    owner = await key_requests.person(Role.OWNER)
    assert (
        await key_requests.deployment.approvals.decide_pending_request(filed.token, owner, approve=True)
    ).decided_by == owner


async def test_admin_may_deny_a_write_scope(key_requests):
    filed = await key_requests.file(LINKS)
    denied = await key_requests.deployment.approvals.decide_pending_request(
        filed.token, await key_requests.person(Role.ADMIN), approve=False
    )
    assert denied.status is RequestStatus.DENIED


async def test_owner_chooses_the_limit_up_to_the_cap_of_the_plan(key_requests):
    _, minted = await key_requests.poll(await key_requests.approved(LINKS, owner_chosen_rate_limit=5000))
    assert minted.credential.rate_limit == 300
    assert minted.credential.scopes == LINKS


async def test_key_may_carry_scopes_the_requester_lacks(key_requests):
    _, minted = await key_requests.poll(await key_requests.approved(LINKS))
    assert Scope.WRITE_LINKS in minted.credential.scopes


async def test_approval_link_is_consumed_by_the_first_decision(key_requests):
    filed, owner = await key_requests.file(), await key_requests.person(Role.OWNER)
    await key_requests.deployment.approvals.decide_pending_request(filed.token, owner, approve=True)
    assert (
        await key_requests.deployment.approvals.view_request_as_member(filed.token, owner)
    ).status is RequestStatus.APPROVED
    with pytest.raises(Conflict):
        await key_requests.deployment.approvals.decide_pending_request(filed.token, owner, approve=False)


async def test_pending_key_requests_are_listed(key_requests):
    filed = [await key_requests.file(name=f"Bot {number}") for number in range(3)]
    await key_requests.deployment.approvals.decide_pending_request(
        filed[1].token, await key_requests.person(Role.OWNER), approve=False
    )
    waiting = await key_requests.deployment.store.key_requests.list_pending_requests(
        key_requests.workspace.id
    )
    assert [one.name for one in waiting] == ["Bot 0", "Bot 2"]


def idempotent_request(key="k1", content=None):
    return IdempotentRequest(key, "POST", "/v1/keys/requests", content or {"name": "Campaign bot"})


async def test_retry_with_the_same_idempotency_key_returns_the_first_response(key_requests, clock):
    first = await key_requests.file(once=idempotent_request())
    clock.advance(hours=23)
    again = await key_requests.file(once=idempotent_request(content={"name": "Campaign bot"}))
    assert (again.request, again.token, again.replayed) == (first.request, first.token, True)
    assert not first.replayed
    owner = await key_requests.person(Role.OWNER)
    assert (
        await key_requests.deployment.approvals.view_request_as_member(again.token, owner)
    ).request.id == first.request.id


async def test_changed_content_new_idempotency_key_or_24_hours_make_a_new_request(key_requests, clock):
    first = await key_requests.file(once=idempotent_request())
    others = [
        await key_requests.file(once=idempotent_request("k2")),
        await key_requests.file(once=idempotent_request(content={"name": "Other"})),
    ]
    key_requests.requester_id = new_id()
    others.append(await key_requests.file(once=idempotent_request()))
    assert not any(other.replayed or other.token == first.token for other in others)
    clock.advance(hours=24)
    assert not (await key_requests.file(once=idempotent_request())).replayed


async def test_long_idempotency_key_is_refused(key_requests):
    with pytest.raises(BadRequest) as caught:
        await key_requests.file(once=idempotent_request("x" * 256))
    assert caught.value.code == "invalid_idempotency_key"


@pytest.fixture
async def key_requests_of_two_processes(two_deployments):
    """The same shop seen by two processes."""
    one, other = two_deployments
    initialized_deployment = await one.create_workspace()
    return KeyRequestClient(one, initialized_deployment), KeyRequestClient(other, initialized_deployment)


async def test_one_of_20_concurrent_approvals_succeeds(key_requests_of_two_processes):
    one, other = key_requests_of_two_processes
    filed, owner = await one.file(), await one.person(Role.OWNER)
    outcomes = await asyncio.gather(
        *(
            shop.deployment.approvals.decide_pending_request(filed.token, owner, approve=approve)
            for shop, approve in [(one, True), (other, False)] * 10
        ),
        return_exceptions=True,
    )
    decided = [outcome for outcome in outcomes if not isinstance(outcome, Conflict)]
    assert len(decided) == 1
    assert (await one.poll(filed.request))[0].decided_at == decided[0].decided_at


async def test_one_of_20_concurrent_polls_returns_the_key(key_requests_of_two_processes):
    one, other = key_requests_of_two_processes
    request = await one.approved()
    polled = await asyncio.gather(*(shop.poll(request) for shop in (one, other) * 10))
    minted = [key for _, key in polled if key is not None]
    assert len(minted) == 1
    named = [
        c for c in await one.deployment.store.credentials.list_keys(one.workspace.id) if c.kind == "named"
    ]
    assert named == [minted[0].credential]
    assert {request.status for request, _ in polled} == {RequestStatus.COLLECTED}


async def test_one_of_50_concurrent_retries_creates_a_request(key_requests_of_two_processes):
    one, other = key_requests_of_two_processes
    filed = await asyncio.gather(*(shop.file(once=idempotent_request()) for shop in (one, other) * 25))
    assert len({each.token for each in filed}) == 1
    assert sum(not each.replayed for each in filed) == 1
    assert len(await one.deployment.store.key_requests.list_pending_requests(one.workspace.id)) == 1


async def test_collected_key_is_accepted_after_a_cached_miss(key_requests, deployment):
    await deployment.admission.authenticate(
        "key", {"authorization": f"Bearer {(await requester_identity(key_requests)).secret}"}
    )
    _, minted = await key_requests.poll(await key_requests.approved())
    asker = await deployment.admission.authenticate("key", {"authorization": f"Bearer {minted.secret}"})
    assert asker.credential == minted.credential


async def requester_identity(key_requests):
    return await create_named_key_clamping_rate_limit_to_plan(
        key_requests.deployment.store.credentials,
        key_requests.workspace,
        key_requests.deployment.clock(),
        name="Reader",
    )
