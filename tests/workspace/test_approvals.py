"""Writes that wait for the approval of a person: what is stored, applied and refused."""

import asyncio
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest

from service_core.access.internal_callers import build_dashboard_caller_with_role_scopes
from service_core.access.members.models import Account, Member
from service_core.access.roles import Role
from service_core.api.http_messages import ApiRequest
from service_core.kernel.errors import ApiError
from service_core.kernel.ids import new_id
from service_core.kernel.operations import Scope
from service_core.kernel.timestamps import format_timestamp
from service_core.workspace import event_name_effects
from service_core.workspace.approvals import filing
from service_core.workspace.approvals.decision import ApprovalDecisions
from service_core.workspace.approvals.models import WriteApproval
from tests.workspace.rule_requests import MAIN, RULE, connect_platform
from tests.workspace.test_change_sets import (
    LINK,
    REPORT,
    SAVED_WORK,
    apply,
    create,
    list_stored_sets,
    names,
    plan,
    share_link,
)

LINKS_RULE = {"credential": "key", "scope": "service:write:links", "changes": "all"}
REPORTS_RULE = {"credential": "key", "scope": "service:write:reports", "changes": "all"}
FINAL_LINKS_RULE = {**LINKS_RULE, "changes": "not_reversible"}


class Approvals:
    """A workspace whose keys need approvals, and its people."""

    def __init__(self, api):
        self.api = api

    def person(self, role=Role.OWNER):
        account = Account(new_id(), f"{role}@example.com", None, self.api.now)
        member = Member(self.api.workspaces["shop"].id, account.id, role, self.api.now)
        workspace = self.api.workspaces["shop"]
        return build_dashboard_caller_with_role_scopes(account, member, workspace, self.api.now), member

    async def demand(self, *rules, **settings):
        body = {"workspace": {"write_approvals": list(rules), **settings}}
        answer = await self.api.ask("PATCH", "/workspace", body)
        assert answer.status == 200, answer.json

    async def stored(self, id_):
        transactions = self.api.service.ports.workspace.transactions
        async with transactions.read(self.api.workspaces["shop"].id) as transaction:
            return next(
                each for each in await transaction.resources.list_all(WriteApproval) if str(each.id) == id_
            )

    async def decide(self, waiting, *, role=Role.OWNER, nonce=None, approve=True):
        approver, member = self.person(role)
        record = await self.stored(waiting["id"])
        decisions = self.api.service.component(ApprovalDecisions)
        decide = decisions.approve if approve else decisions.decline
        return await decide(approver, member, record.id, record.nonce if nonce is None else nonce)

    async def refused(self, waiting, **options):
        """Returns the code of the refusal of a decision, which changes nothing."""
        before = await names(self.api)
        with pytest.raises(ApiError) as refusal:
            await self.decide(waiting, **options)
        assert await names(self.api) == before
        return refusal.value.code


@pytest.fixture
async def approvals(workspace_api):
    return Approvals(workspace_api)


async def waiting_write(api, method, path, body, **options):
    answer = await api.ask(method, path, body, **options)
    assert answer.status == 202, answer.json
    return answer.json


async def test_write_of_a_chosen_scope_waits_until_a_person_approves_it(workspace_api, approvals):
    await approvals.demand(LINKS_RULE)
    waiting = await waiting_write(workspace_api, "POST", "/links", LINK)
    assert (waiting["status"], waiting["dry_run"], waiting["applied"]) == ("pending", False, False)
    assert waiting["approval_url"] == f"https://app.example/changes/{waiting['id']}"
    [change] = waiting["changes"]
    assert (change["diff"]["resource"]["label"], change["reversibility"]) == (
        "Spring",
        "reversible_with_effects",
    )
    assert await names(workspace_api) == []
    assert (await workspace_api.ask("POST", "/reports", REPORT)).status == 200
    await approvals.decide(waiting)
    assert await names(workspace_api) == ["Visitors", "Spring"]
    polled = (await workspace_api.ask("GET", f"/approvals/{waiting['id']}")).json
    assert (polled["status"], polled["applied"], polled["changes"]) == ("approved", True, [])
    entry = (await workspace_api.ask("GET", "/audit?limit=1")).json["entries"][0]
    assert [entry["id"]] == polled["audit_ids"]
    assert (entry["actor"]["type"], entry["actor"]["name"]) == ("key", "Campaign bot")
    assert entry["approved_by"]["name"] == "owner@example.com"


async def test_declined_write_changes_nothing(workspace_api, approvals):
    await approvals.demand(LINKS_RULE)
    waiting = await waiting_write(workspace_api, "POST", "/links", LINK)
    await approvals.decide(waiting, approve=False)
    assert await names(workspace_api) == []
    assert (await workspace_api.ask("GET", f"/approvals/{waiting['id']}")).json["status"] == "declined"
    assert await approvals.refused(waiting) == "resource_changed"


async def test_dry_run_people_and_other_programs_need_no_approval(workspace_api, approvals):
    oauth_rule = {**LINKS_RULE, "credential": "oauth"}
    await approvals.demand(oauth_rule)
    assert (await workspace_api.ask("POST", "/reports", REPORT)).status == 200
    await approvals.demand(oauth_rule, LINKS_RULE)
    assert (await workspace_api.ask("POST", "/links", {**LINK, "dry_run": True})).status == 200


async def test_rule_for_what_is_not_reversible_lets_other_writes_pass(workspace_api, approvals):
    link_id = (await workspace_api.link())["data"]["id"]
    await approvals.demand(FINAL_LINKS_RULE)
    renamed = await workspace_api.ask("PATCH", f"/links/{link_id}", {"link": {"name": "New"}})
    assert (renamed.status, renamed.json["reversibility"]) == (200, "reversible")
    await waiting_write(workspace_api, "POST", "/links", LINK)


async def test_retried_request_waits_once_and_answers_its_decision(workspace_api, approvals):
    await approvals.demand(LINKS_RULE)
    first = await waiting_write(workspace_api, "POST", "/links", LINK, once="a")
    again = await waiting_write(workspace_api, "POST", "/links", LINK, once="a")
    other = await waiting_write(workspace_api, "POST", "/links", LINK, once="b")
    assert (first["id"] == again["id"], first["id"] == other["id"]) == (True, False)
    await approvals.decide(first)
    replayed = await workspace_api.ask("POST", "/links", LINK, once="a")
    assert (replayed.status, replayed.headers["Idempotent-Replay"]) == (200, "true")
    assert (replayed.json["applied"], len(await workspace_api.links())) == (True, 1)


async def test_change_set_waits_as_a_whole_and_is_undone_as_a_whole(workspace_api, approvals):
    await approvals.demand(REPORTS_RULE)
    planned = await plan(workspace_api, [*SAVED_WORK, create("/links", LINK)])
    body = {"plan_token": planned["plan_token"]}
    waiting = await waiting_write(workspace_api, "POST", f"/change-sets/{planned['id']}/apply", body)
    assert len(waiting["changes"]) == 3
    used = await workspace_api.ask("POST", f"/change-sets/{planned['id']}/apply", body)
    assert used.refusal == (409, "plan_token_invalid", None)
    workspace_api.later(hours=1)
    await approvals.decide(waiting)
    assert sorted(await names(workspace_api)) == ["Spring", "Visitors", "Weekly"]
    taken_back = await waiting_write(workspace_api, "POST", f"/change-sets/{planned['id']}/undo", {})
    await approvals.decide(taken_back)
    assert await names(workspace_api) == []


async def test_change_set_whose_approval_cannot_be_stored_keeps_its_token(
    workspace_api, approvals, monkeypatch
):
    await approvals.demand(REPORTS_RULE)
    planned = await plan(workspace_api, SAVED_WORK)
    path, body = f"/change-sets/{planned['id']}/apply", {"plan_token": planned["plan_token"]}
    with monkeypatch.context() as patch:
        patch.setattr(filing, "MAX_PENDING", 0)
        refused = await workspace_api.ask("POST", path, body)
    assert refused.refusal == (409, "too_many_approvals", None)
    waiting = await waiting_write(workspace_api, "POST", path, body)
    await approvals.decide(waiting)
    assert sorted(await names(workspace_api)) == ["Visitors", "Weekly"]


async def test_program_with_many_waiting_writes_does_not_keep_others_out(
    workspace_api, approvals, monkeypatch
):
    monkeypatch.setattr(filing, "MAX_PENDING_OF_PROGRAM", 2)
    await approvals.demand(LINKS_RULE)
    for number in range(2):
        await waiting_write(workspace_api, "POST", "/links", LINK, once=f"a{number}")
    refused = await workspace_api.ask("POST", "/links", LINK, once="b")
    assert refused.refusal == (409, "too_many_approvals", None)
    assert "program" in refused.json["error"]
    workspace_api.keys["other key"] = await workspace_api._key(
        workspace_api.workspaces["shop"], "Other key", {Scope.WRITE_LINKS}
    )
    await waiting_write(workspace_api, "POST", "/links", LINK, key="other key")


async def test_rollback_by_a_program_waits_like_any_other_write(workspace_api, approvals):
    await workspace_api.link()
    await approvals.demand(LINKS_RULE)
    key_id = (await workspace_api.ask("GET", "/audit")).json["entries"][0]["actor"]["id"]
    body = {"actor": {"key_id": key_id}, "since": "2026-07-08"}
    waiting = await waiting_write(workspace_api, "POST", "/audit/rollback", body)
    assert len(await workspace_api.links()) == 1
    assert waiting["changes"]


async def test_approved_rollback_takes_back_public_links_an_hour_later(workspace_api, approvals):
    changes = [create("/reports", REPORT), share_link("$changes[0].id")]
    assert (await apply(workspace_api, await plan(workspace_api, changes))).status == 200
    await approvals.demand(REPORTS_RULE)
    key_id = (await workspace_api.ask("GET", "/audit")).json["entries"][0]["actor"]["id"]
    body = {"actor": {"key_id": key_id}, "since": "2026-07-08", "until": "2026-07-08T15:02:30Z"}
    waiting = await waiting_write(workspace_api, "POST", "/audit/rollback", body)
    workspace_api.later(hours=1)
    await approvals.decide(waiting)
    [link] = (await workspace_api.ask("GET", "/share-links")).json["share_links"]
    assert (link["status"], await names(workspace_api)) == ("revoked", [])


async def test_public_link_for_some_days_can_be_approved_or_applied_later(workspace_api, approvals):
    report_id = (await workspace_api.ask("POST", "/reports", REPORT)).json["data"]["id"]
    share = share_link(report_id, expires_in_days=7)
    assert (await apply(workspace_api, await plan(workspace_api, [share]))).status == 200
    await approvals.demand(REPORTS_RULE)
    waiting = await waiting_write(workspace_api, "POST", share["path"], share["body"])
    workspace_api.later(hours=1)
    await approvals.decide(waiting)
    newest = (await workspace_api.ask("GET", "/share-links")).json["share_links"][0]
    assert newest["expires_at"] == format_timestamp(
        approvals.api.now - timedelta(minutes=1) + timedelta(days=7)
    )


async def test_address_of_an_approved_public_link_is_not_stored_for_retries(workspace_api, approvals):
    await approvals.demand(REPORTS_RULE)
    planned = await plan(workspace_api, [create("/reports", REPORT), share_link("$changes[0].id")])
    path, body = f"/change-sets/{planned['id']}/apply", {"plan_token": planned["plan_token"]}
    made = await approvals.decide(await waiting_write(workspace_api, "POST", path, body, once="a"))
    assert "/share/" in made.answers[1]["data"]["url"]
    replayed = await workspace_api.ask("POST", path, body, once="a")
    assert (replayed.status, len(replayed.json["changes"])) == (200, 2)
    assert b"/share/" + made.answers[1]["data"]["url"][-43:].encode() not in replayed.bytes


async def test_concurrent_identical_requests_wait_once(workspace_api, approvals):
    await approvals.demand(LINKS_RULE)
    answers = await asyncio.gather(*(workspace_api.send("POST", "/links", LINK) for _ in range(5)))
    assert {answer.status for answer in answers} == {202}
    assert len({answer.json["id"] for answer in answers}) == 1


async def test_only_the_requester_and_readers_see_what_waits(workspace_api, approvals):
    await approvals.demand(LINKS_RULE)
    waiting = await waiting_write(workspace_api, "POST", "/links", LINK)
    for scopes, status in (({Scope.READ}, 200), ({Scope.READ_AGGREGATES}, 403), ({Scope.WRITE_LINKS}, 403)):
        workspace_api.keys["other key"] = await workspace_api._key(
            workspace_api.workspaces["shop"], "Other key", scopes
        )
        answer = await workspace_api.ask("GET", f"/approvals/{waiting['id']}", key="other key")
        assert answer.status == status, scopes


async def test_set_that_nobody_approved_is_deleted(workspace_api, approvals):
    await approvals.demand(REPORTS_RULE, LINKS_RULE)
    planned = await plan(workspace_api, SAVED_WORK)
    token = {"plan_token": planned["plan_token"]}
    waiting = await waiting_write(workspace_api, "POST", f"/change-sets/{planned['id']}/apply", token)
    await approvals.decide(waiting, approve=False)
    workspace_api.later(hours=25)
    await waiting_write(workspace_api, "POST", "/links", LINK)
    assert await list_stored_sets(workspace_api) == []


async def test_strictest_of_several_rules_for_the_same_writes_is_kept(workspace_api, approvals):
    await approvals.demand(LINKS_RULE, FINAL_LINKS_RULE, REPORTS_RULE)
    kept = (await workspace_api.ask("GET", "/workspace/settings")).json["write_approvals"]
    assert kept == [LINKS_RULE, REPORTS_RULE]


async def test_program_cannot_loosen_what_it_needs(workspace_api, approvals):
    await approvals.demand(LINKS_RULE, plan_tokens=["oauth"])
    for patch in ({"write_approvals": []}, {"write_approvals": [FINAL_LINKS_RULE]}, {"plan_tokens": []}):
        answer = await workspace_api.ask("PATCH", "/workspace", {"workspace": patch})
        assert (answer.status, answer.json["code"]) == (403, "role_required"), patch
    newest = (await workspace_api.ask("GET", "/audit?limit=1")).json["entries"][0]
    undone = await workspace_api.ask("POST", f"/audit/{newest['id']}/undo", {})
    assert (undone.status, undone.json["code"]) == (403, "role_required")
    await approvals.demand(LINKS_RULE, REPORTS_RULE, plan_tokens=["oauth", "key"])


async def test_policy_is_audited(workspace_api, approvals):
    await approvals.demand(LINKS_RULE)
    entry = (await workspace_api.ask("GET", "/audit?limit=1")).json["entries"][0]
    assert [change["field"] for change in entry["changes"]] == ["write_approvals"]
    assert entry["undoable"] is True


async def test_workspace_demands_a_plan_for_each_write(workspace_api, approvals):
    await approvals.demand(plan_tokens=["key"])
    refused = await workspace_api.ask("POST", "/links", LINK)
    assert refused.refusal == (409, "plan_required", None)
    assert "/change-sets" in refused.json["hint"]
    assert (await workspace_api.ask("POST", "/links", {**LINK, "dry_run": True})).status == 200
    planned = await plan(workspace_api, [create("/links", LINK)])
    applied = await workspace_api.ask(
        "POST", f"/change-sets/{planned['id']}/apply", {"plan_token": planned["plan_token"]}
    )
    assert applied.status == 200
    assert await names(workspace_api) == ["Spring"]


async def test_approvers_get_an_e_mail_with_the_link(workspace_api, approvals):
    store = workspace_api.service.ports.workspace
    account = Account(new_id(), "owner@example.com", None, workspace_api.now)
    await store.accounts.save_account_unless_email_taken(account)
    workspace = workspace_api.workspaces["shop"]
    member = Member(workspace.id, account.id, Role.OWNER, workspace_api.now)
    await store.members.save_member_unless_no_owner_left(member, workspace_api.now)
    await approvals.demand(LINKS_RULE)
    waiting = await waiting_write(workspace_api, "POST", "/links", LINK)
    outbox = store.notifications
    [sent] = await outbox.list_notifications_of_source(
        workspace.id, (await approvals.stored(waiting["id"])).id, 10
    )
    assert (sent.target, waiting["approval_url"] in sent.payload) == ("owner@example.com", True)


async def test_secrets_are_not_stored_for_an_approval(workspace_api, approvals):
    report = (await workspace_api.ask("POST", "/reports", REPORT)).json["data"]
    await approvals.demand(REPORTS_RULE)
    share = {
        "share_link": {"resource_type": "report", "resource_id": report["id"], "password": "secret-word"}
    }
    answer = await workspace_api.ask("POST", "/share-links", share)
    assert answer.status in (400, 422), answer.json


async def test_rule_write_reads_events_outside_its_transaction(workspace_api, monkeypatch):
    await connect_platform(workspace_api, "meta", MAIN)
    transactions, is_open = workspace_api.service.ports.workspace.transactions, []
    write, check = transactions.write, event_name_effects.read_event_name_warnings_and_suggestions

    @asynccontextmanager
    async def note_open(*arguments):
        async with write(*arguments) as transaction:
            is_open.append(True)
            yield transaction
        is_open.clear()

    seen = []

    async def note_read(*arguments):
        seen.append(bool(is_open))
        return await check(*arguments)

    monkeypatch.setattr(transactions, "write", note_open)
    monkeypatch.setattr(event_name_effects, "read_event_name_warnings_and_suggestions", note_read)
    answer = await workspace_api.ask("POST", "/rules", {"rule": {**RULE, "trigger_event": "newsletter"}})
    assert (answer.status, seen) == (200, [False])
    assert [effect["type"] for effect in answer.json["diff"]["effects"]] == ["postback_target", "never_seen"]


async def test_plan_and_apply_read_rule_targets_outside_their_transaction(
    workspace_api, approvals, monkeypatch
):
    await connect_platform(workspace_api, "meta", MAIN)
    store = workspace_api.service.ports.workspace
    write, is_open = store.transactions.write, []
    list_connections = store.connections.list_connections_oldest_first

    @asynccontextmanager
    async def note_open(*arguments):
        async with write(*arguments) as transaction:
            is_open.append(True)
            try:
                yield transaction
            finally:
                is_open.clear()

    seen = []

    async def note_read(*arguments):
        seen.append(bool(is_open))
        return await list_connections(*arguments)

    monkeypatch.setattr(store.transactions, "write", note_open)
    monkeypatch.setattr(store.connections, "list_connections_oldest_first", note_read)
    body = {"rule": {**RULE, "trigger_event": "lead"}}
    changes = [
        create("/rules", body),
        {"method": "PATCH", "path": "/rules/$changes[0].id", "body": {"rule": {"name": "Leads"}}},
    ]
    assert (await apply(workspace_api, await plan(workspace_api, changes))).status == 200
    await approvals.demand({**LINKS_RULE, "scope": "service:write:rules"})
    other = {"rule": {**RULE, "trigger_event": "signup"}}
    await approvals.decide(await waiting_write(workspace_api, "POST", "/rules", other))
    assert len(seen) >= 6
    assert not any(seen)


async def test_plans_and_dry_runs_of_who_has_to_plan_have_a_budget_of_their_own(workspace_api, approvals):
    await approvals.demand(plan_tokens=["key"])
    shown = {**LINK, "dry_run": True}
    for left in range(19, -1, -1):
        path, body = (
            ("/links", shown) if left % 2 else ("/change-sets", {"changes": [create("/links", LINK)]})
        )
        answer = await workspace_api.send("POST", path, body)
        assert (answer.status, answer.headers["X-RateLimit-Mutation-Remaining"]) == (200, str(left))
    refused = await workspace_api.send("POST", "/links", shown)
    assert refused.refusal == (429, "mutation_rate_limited", None)
    assert (
        await workspace_api.send("POST", "/change-sets", {"changes": [create("/links", LINK)]})
    ).status == 429
    refused = await workspace_api.send("POST", "/links", LINK)
    assert (refused.status, refused.headers["X-RateLimit-Mutation-Remaining"]) == (409, "18")


async def test_dry_runs_count_among_the_mutations_unless_writes_have_to_be_planned(workspace_api):
    shown = {**LINK, "dry_run": True}
    for left in range(19, -1, -1):
        answer = await workspace_api.send("POST", "/links", LINK | {"dry_run": bool(left)})
        assert (answer.status, answer.headers["X-RateLimit-Mutation-Remaining"]) == (200, str(left))
    for body in (shown, LINK):
        refused = await workspace_api.send("POST", "/links", body)
        assert refused.refusal == (429, "mutation_rate_limited", None)
    planned = await workspace_api.send("POST", "/change-sets", {"changes": [create("/links", LINK)]})
    assert planned.status in (200, 409)
    assert planned.headers["X-RateLimit-Mutation-Remaining"] == "19"


async def test_dry_run_that_a_write_does_not_take_counts_as_a_change(workspace_api, approvals):
    link_id = (await workspace_api.link())["data"]["id"]
    await approvals.demand(plan_tokens=["key"])
    path = f"/links/{link_id}?dry_run=true"
    written = await workspace_api.send("PATCH", path, {"link": {"name": "New"}})
    assert (written.status, written.headers["X-RateLimit-Mutation-Remaining"]) == (409, "18")
    await workspace_api.send("DELETE", path)
    written = await workspace_api.send("POST", "/links", LINK)
    assert written.headers["X-RateLimit-Mutation-Remaining"] == "17"


@pytest.mark.parametrize("body", [b"{", b'{"dry_run": "yes"}'])
async def test_unreadable_body_counts_as_a_change(workspace_api, approvals, body):
    await approvals.demand(plan_tokens=["key"])
    headers = {"authorization": f"Bearer {await workspace_api.secret('shop')}"}
    await workspace_api.service.dispatch(ApiRequest("POST", "/v1/links", "", headers, body))
    written = await workspace_api.send("POST", "/links", LINK)
    assert written.headers["X-RateLimit-Mutation-Remaining"] == "17"
