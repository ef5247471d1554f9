"""The controls of the OWASP AISVS, C9.2, for writes that a person approves: each row is an attack that changes nothing.

An approval is bound to parameters and requester, is used once by a nonce, and a longer chain of changes needs a new one.
"""

from dataclasses import replace

import pytest

from service_core.access.roles import Role
from service_core.kernel.operations import Scope
from service_core.workspace.approvals.models import ApprovalStatus
from tests.workspace.test_approvals import (
    LINKS_RULE,
    REPORTS_RULE,
    Approvals,
    waiting_write,
)
from tests.workspace.test_change_sets import LINK, REPORT, SAVED_WORK, create, plan


@pytest.fixture
async def approvals(workspace_api):
    made = Approvals(workspace_api)
    await made.demand(LINKS_RULE, REPORTS_RULE)
    return made


async def save(approvals, record, **changed):
    transactions = approvals.api.service.ports.workspace.transactions
    async with transactions.write(record.workspace_id) as transaction:
        await transaction.resources.save(record.model_copy(update=changed))


async def change_key(approvals, **changed):
    store = approvals.api.service.ports.workspace.credentials
    keys = await store.list_keys(approvals.api.workspaces["shop"].id)
    key = next(each for each in keys if each.name == "Campaign bot")
    await store.save_credential(replace(key, **changed))


async def wait_for_link(approvals, **fields):
    body = {"link": {**LINK["link"], **fields}}
    return await waiting_write(approvals.api, "POST", "/links", body)


async def tampered_request(approvals, waiting):
    record = await approvals.stored(waiting["id"])
    [request] = record.requests
    link = {**request["body"]["link"], "destination_url": "https://evil.example/"}
    await save(approvals, record, requests=({**request, "body": {"link": link}},))
    return waiting, {}


async def changed_record(approvals, waiting):
    await approvals.decide(waiting)
    path = f"/links/{(await approvals.api.links())[0]['id']}"
    patches = [{"link": {"name": name}} for name in ("One", "Two")]
    first, second = [await waiting_write(approvals.api, "PATCH", path, patch) for patch in patches]
    await approvals.decide(first)
    return second, {}


async def missing_report(approvals, _):
    api = approvals.api
    await approvals.decide(await waiting_write(api, "POST", "/reports", REPORT))
    report = (await api.ask("GET", "/reports")).json["reports"][0]["id"]
    share = {"share_link": {"object_type": "report", "object_id": report}}
    waiting = await waiting_write(api, "POST", "/share-links", share)
    await approvals.decide(await waiting_write(api, "DELETE", f"/reports/{report}", None))
    return waiting, {}


async def revoked_key(approvals, waiting):
    await change_key(approvals, revoked_at=approvals.api.now)
    approvals.api.keys["shop"] = await approvals.api.secret("shop links")
    return waiting, {}


async def withdrawn_scope(approvals, waiting):
    await change_key(approvals, scopes=frozenset({Scope.READ}))
    return waiting, {}


async def foreign_nonce(approvals, waiting):
    other = await wait_for_link(approvals, slug="b")
    return waiting, {"nonce": (await approvals.stored(other["id"])).nonce}


async def no_nonce(approvals, waiting):
    return waiting, {"nonce": ""}


async def approved_before(approvals, waiting):
    await approvals.decide(waiting)
    return waiting, {}


async def declined_before(approvals, waiting):
    await approvals.decide(waiting, approve=False)
    return waiting, {}


async def expired(approvals, waiting):
    approvals.api.later(hours=24)
    return waiting, {}


async def member_without_the_scope(approvals, waiting):
    return waiting, {"role": Role.MEMBER}


async def inactive_workspace(approvals, waiting):
    workspaces = approvals.api.workspaces
    workspaces["shop"] = replace(workspaces["shop"], active=False)
    return waiting, {}


async def longer_chain(approvals, _):
    planned = await plan(approvals.api, SAVED_WORK)
    token = {"plan_token": planned["plan_token"]}
    waiting = await waiting_write(approvals.api, "POST", f"/change-sets/{planned['id']}/apply", token)
    chain = await approvals.stored(waiting["id"])
    await save(approvals, chain, requests=(*chain.requests, create("/links", LINK)))
    return waiting, {}


ATTACKS = [
    ("parameters", tampered_request, "plan_outdated"),
    ("parameters", changed_record, "plan_outdated"),
    ("parameters", missing_report, "plan_outdated"),
    ("requester", revoked_key, "resource_changed"),
    ("requester", withdrawn_scope, "insufficient_scope"),
    ("nonce", foreign_nonce, "resource_changed"),
    ("nonce", no_nonce, "resource_changed"),
    ("single use", approved_before, "resource_changed"),
    ("single use", declined_before, "resource_changed"),
    ("single use", expired, "resource_changed"),
    ("role", member_without_the_scope, "role_required"),
    ("workspace", inactive_workspace, "workspace_inactive"),
    ("chain", longer_chain, "plan_outdated"),
]


@pytest.mark.parametrize(
    ("attack", "code"),
    [pytest.param(*row[1:], id=f"{row[0]}: {row[1].__name__}") for row in ATTACKS],
)
async def test_approval_holds_for_nothing_else(approvals, attack, code):
    waiting, options = await attack(approvals, await wait_for_link(approvals))
    assert await approvals.refused(waiting, **options) == code


async def test_another_body_requester_or_repetition_needs_another_approval(workspace_api, approvals):
    first = await wait_for_link(approvals)
    other_body = await wait_for_link(approvals, slug="summer")
    other_key = await waiting_write(workspace_api, "POST", "/links", LINK, key="shop links")
    await approvals.decide(first)
    repeated = await waiting_write(
        workspace_api, "POST", "/links", {"link": {**LINK["link"], "slug": "again"}}
    )
    assert len({each["id"] for each in (first, other_body, other_key, repeated)}) == 4
    assert len(await workspace_api.links()) == 1


async def test_nonce_and_plan_are_not_in_any_answer_and_requests_are_dropped(workspace_api, approvals):
    waiting = await wait_for_link(approvals)
    record = await approvals.stored(waiting["id"])
    assert record.nonce not in str(waiting)
    await approvals.decide(waiting)
    decided = await approvals.stored(waiting["id"])
    assert (decided.status, decided.requests, decided.planned_changes) == (ApprovalStatus.APPROVED, (), ())


@pytest.mark.parametrize(
    ("method", "path", "body", "expected"),
    [
        ("POST", "/reports", REPORT, "reversible"),
        ("POST", "/links", LINK, "reversible_with_effects"),
        (
            "POST",
            "/scripts/proposals",
            {"proposal": {"name": "a", "type": "inline", "content": "1"}},
            "irreversible",
        ),
    ],
)
async def test_every_write_says_how_far_it_can_be_taken_back(workspace_api, method, path, body, expected):
    for dry_run in (True, False):
        answer = await workspace_api.ask(method, path, {**body, "dry_run": dry_run})
        assert (answer.status, answer.json["reversibility"]) == (200, expected)
