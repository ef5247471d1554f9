"""Change sets: one plan, one token, all or nothing.

The table of tokens follows the controls of the OWASP AISVS, C9.2: an approval is bound to parameters and requester, is used
once, and a longer chain of changes needs a new one.
"""

import asyncio
from datetime import timedelta

import pytest

from service_core.access.api_keys import create_named_key_clamping_rate_limit_to_plan
from service_core.analytics.reads.event_name_check import read_event_name_warnings_and_suggestions
from service_core.changes.change_sets import ChangeSet, ChangeSetStatus
from service_core.kernel.operations import Scope
from service_core.workspace import event_name_effects
from tests.fixtures.waiting import GUARD_SECONDS
from tests.workspace.conftest import NOW
from tests.workspace.rule_requests import MAIN, RULE, connect_platform

LINK = {"link": {"name": "Spring", "destination_url": "https://example.com/a", "slug": "spring"}}
REPORT = {"report": {"name": "Visitors", "source": "catalog", "metric_id": "visitors", "chart": "number"}}
CARDS = {"v": 1, "cards": [{"report_id": "$changes[0].id"}]}
DASHBOARD = {"dashboard": {"name": "Weekly", "layout": CARDS}}


def create(path, body):
    return {"method": "POST", "path": path, "body": body}


SAVED_WORK = [create("/reports", REPORT), create("/dashboards", DASHBOARD)]


async def plan(api, changes, *, key="shop"):
    answer = await api.ask("POST", "/change-sets", {"changes": changes}, key=key)
    assert answer.status == 200, answer.json
    return answer.json


async def apply(api, planned, *, token=None, key="shop", **fields):
    body = {"plan_token": token or planned["plan_token"], **fields}
    return await api.ask("POST", f"/change-sets/{planned['id']}/apply", body, key=key)


async def names(api):
    reports = (await api.ask("GET", "/reports")).json["reports"]
    dashboards = (await api.ask("GET", "/dashboards")).json["dashboards"]
    return [item["name"] for item in (*reports, *dashboards, *await api.links())]


async def test_plan_shows_every_diff_and_effect_and_changes_nothing(workspace_api):
    planned = await plan(workspace_api, [*SAVED_WORK, create("/links", LINK)])
    assert [change["diff"]["resource"]["type"] for change in planned["changes"]] == [
        "report",
        "dashboard",
        "tracking_link",
    ]
    assert [change["reversibility"] for change in planned["changes"]] == [
        "reversible",
        "reversible",
        "reversible_with_effects",
    ]
    assert [effect["type"] for effect in planned["effects"]] == ["edge_redirect"]
    assert await names(workspace_api) == []
    assert (await workspace_api.ask("GET", "/audit")).json["entries"] == []


async def test_applied_set_is_made_whole_and_taken_back_whole(workspace_api):
    planned = await plan(workspace_api, [*SAVED_WORK, create("/links", LINK)])
    shown = await apply(workspace_api, planned, dry_run=True)
    assert (shown.json["applied"], await names(workspace_api)) == (False, [])
    applied = await apply(workspace_api, planned)
    assert (applied.status, applied.json["applied"]) == (200, True)
    assert sorted(await names(workspace_api)) == ["Spring", "Visitors", "Weekly"]
    report, dashboard, _ = applied.json["changes"]
    assert dashboard["data"]["layout"]["cards"][0]["report_id"] == report["data"]["id"]
    undone = await workspace_api.ask("POST", f"/change-sets/{planned['id']}/undo", {})
    assert (undone.status, await names(workspace_api)) == (200, [])
    again = await workspace_api.ask("POST", f"/change-sets/{planned['id']}/undo", {})
    assert again.refusal == (409, "already_undone", None)


async def test_refused_change_refuses_the_whole_set(workspace_api):
    changes = [*SAVED_WORK, create("/links", {"link": {**LINK["link"], "slug": "v1"}})]
    answer = await workspace_api.ask("POST", "/change-sets", {"changes": changes})
    assert (answer.status, answer.json["code"], answer.json["change_index"]) == (422, "invalid_slug", 2)


@pytest.mark.parametrize(
    "change",
    [create("/exports", {"type": "events"}), create("/change-sets", {"changes": []}), create("/query", {})],
)
async def test_only_writes_with_a_plan_belong_to_a_set(workspace_api, change):
    answer = await workspace_api.ask("POST", "/change-sets", {"changes": [change]})
    assert (answer.status, answer.json["code"]) == (400, "invalid_parameter")


async def test_each_change_needs_its_scope(workspace_api):
    answer = await workspace_api.ask("POST", "/change-sets", {"changes": SAVED_WORK}, key="shop links")
    assert (answer.status, answer.json["required_scope"]) == (403, "service:write:reports")


@pytest.mark.parametrize("case", ["requester", "token", "used", "expired", "other plan", "other workspace"])
async def test_token_is_bound_to_plan_requester_and_one_use(workspace_api, case):
    planned = await plan(workspace_api, [create("/links", LINK)])
    options = {}
    if case == "requester":
        options["key"] = "shop links"
    elif case == "token":
        options["token"] = "A" * 43
    elif case == "used":
        assert (await apply(workspace_api, planned)).status == 200
    elif case == "expired":
        workspace_api.later(minutes=15)
    elif case == "other plan":
        longer = await plan(workspace_api, [create("/links", LINK), *[create("/reports", REPORT)]])
        options["token"], planned = planned["plan_token"], longer
    else:
        options["key"] = "other"
    before = await names(workspace_api)
    refused = await apply(workspace_api, planned, **options)
    expected = 404 if case == "other workspace" else 409
    assert refused.status == expected
    assert expected != 409 or refused.json["code"] == "plan_token_invalid"
    assert await names(workspace_api) == before


async def test_plan_is_outdated_once_what_it_read_has_changed(workspace_api):
    link_id = (await workspace_api.link(slug="spring"))["data"]["id"]
    change = {"method": "PATCH", "path": f"/v1/links/{link_id}", "body": {"link": {"name": "Planned"}}}
    planned = await plan(workspace_api, [change])
    await workspace_api.ask("PATCH", f"/links/{link_id}", {"link": {"utm_source": "mail"}})
    refused = await apply(workspace_api, planned)
    assert refused.refusal == (409, "plan_outdated", None)
    assert [link["name"] for link in await workspace_api.links()] == ["Spring reel"]
    assert (await apply(workspace_api, await plan(workspace_api, [change]))).status == 200


async def test_set_changes_a_record_again_that_it_made_or_changed_before(workspace_api):
    link_id = (await workspace_api.link(slug="summer"))["data"]["id"]

    def rename(id_, name):
        return {"method": "PATCH", "path": f"/links/{id_}", "body": {"link": {"name": name}}}

    changes = [
        create("/links", LINK),
        rename("$changes[0].id", "Autumn"),
        rename(link_id, "One"),
        rename(link_id, "Two"),
        create("/reports", REPORT),
        {"method": "DELETE", "path": "/reports/$changes[4].id", "body": {}},
    ]
    planned = await plan(workspace_api, changes)
    workspace_api.now += timedelta(minutes=5)
    applied = await apply(workspace_api, planned)
    assert applied.status == 200, applied.json
    assert sorted(link["name"] for link in await workspace_api.links()) == ["Autumn", "Two"]
    undone = await workspace_api.ask("POST", f"/change-sets/{applied.json['id']}/undo")
    assert undone.status == 200, undone.json
    assert [link["name"] for link in await workspace_api.links()] == ["Spring reel"]


async def test_plan_is_outdated_once_a_slug_is_taken_or_a_report_is_gone(workspace_api):
    planned = await plan(workspace_api, [create("/links", LINK)])
    await workspace_api.link(slug="spring")
    assert (await apply(workspace_api, planned)).json["code"] == "plan_outdated"
    report_id = (await workspace_api.ask("POST", "/reports", REPORT)).json["data"]["id"]
    planned = await plan(workspace_api, [share_link(report_id)])
    await workspace_api.ask("DELETE", f"/reports/{report_id}")
    assert (await apply(workspace_api, planned)).json["code"] == "plan_outdated"


async def test_undo_of_a_set_keeps_what_was_changed_or_built_on_later(workspace_api):
    planned = await plan(workspace_api, SAVED_WORK)
    applied = (await apply(workspace_api, planned)).json["changes"]
    dashboard_id = applied[1]["data"]["id"]
    await workspace_api.ask("PATCH", f"/dashboards/{dashboard_id}", {"dashboard": {"name": "Mine"}})
    refused = await workspace_api.ask("POST", f"/change-sets/{planned['id']}/undo", {})
    assert refused.refusal == (409, "resource_changed", None)
    assert sorted(await names(workspace_api)) == ["Mine", "Visitors"]


async def test_retry_of_an_apply_gets_the_first_answer(workspace_api):
    planned = await plan(workspace_api, [create("/links", LINK)])
    body, path = {"plan_token": planned["plan_token"]}, f"/change-sets/{planned['id']}/apply"
    first = await workspace_api.ask("POST", path, body, once="a")
    second = await workspace_api.ask("POST", path, body, once="a")
    assert (first.status, second.bytes) == (200, first.bytes)
    assert len(await workspace_api.links()) == 1


async def list_stored_sets(api):
    """Returns the stored change sets of the workspace, oldest first."""
    transactions = api.service.ports.workspace.transactions
    async with transactions.read(api.workspaces["shop"].id) as transaction:
        return [*reversed(await transaction.resources.list_all(ChangeSet))]


async def test_expired_plans_are_deleted_and_applied_sets_keep_no_requests(workspace_api):
    await plan(workspace_api, [create("/reports", REPORT)])
    applied = await plan(workspace_api, [create("/links", LINK)])
    assert (await apply(workspace_api, applied)).status == 200
    workspace_api.later(minutes=15)
    pending = await plan(workspace_api, [create("/reports", REPORT)])
    stored = await list_stored_sets(workspace_api)
    assert [(str(each.id), each.status, len(each.requests)) for each in stored] == [
        (applied["id"], ChangeSetStatus.APPLIED, 0),
        (pending["id"], ChangeSetStatus.PLANNED, 1),
    ]


def share_link(report_id, **fields):
    new = {"object_type": "report", "object_id": report_id, **fields}
    return create("/share-links", {"share_link": new})


@pytest.mark.parametrize(
    "secret_change",
    [
        share_link("$changes[0].id", password="correct horse"),
        create("/connections", {"connection": {"provider": "stripe", "credentials": {"api_key": "sk_1"}}}),
    ],
)
async def test_plan_with_a_secret_is_refused_and_nothing_is_stored(workspace_api, secret_change):
    changes = [create("/reports", REPORT), secret_change]
    answer = await workspace_api.ask("POST", "/change-sets", {"changes": changes})
    assert (answer.status, answer.json["code"], answer.json["change_index"]) == (400, "invalid_parameter", 1)
    assert await list_stored_sets(workspace_api) == []


async def test_address_of_a_share_link_is_shown_once(workspace_api):
    planned = await plan(workspace_api, [create("/reports", REPORT), share_link("$changes[0].id")])
    body, path = {"plan_token": planned["plan_token"]}, f"/change-sets/{planned['id']}/apply"
    first = await workspace_api.ask("POST", path, body, once="a")
    again = await workspace_api.ask("POST", path, body, once="a")
    assert first.json["changes"][1]["data"]["url"].startswith("https://app.example/share/")
    assert again.json["changes"][1]["audit_id"] == first.json["changes"][1]["audit_id"]
    assert "url" not in again.json["changes"][1]["data"]


async def test_dry_run_of_an_apply_shows_no_ids_of_records_that_are_not_made(workspace_api):
    planned = await plan(workspace_api, [create("/links", LINK)])
    shown = (await apply(workspace_api, planned, dry_run=True)).json["changes"]
    assert [change["diff"] for change in shown] == [change["diff"] for change in planned["changes"]]
    assert (shown[0]["dry_run"], shown[0]["applied"], shown[0]["data"]["id"]) == (True, False, None)


async def test_set_with_a_private_segment_is_undone_by_its_creator_only(workspace_api):
    filters = [{"dimension": "country", "op": "eq", "value": "DE"}]
    segment = {"segment": {"name": "German", "visibility": "private", "filters": filters}}
    planned = await plan(workspace_api, [create("/segments", segment)])
    assert (await apply(workspace_api, planned)).status == 200
    store = workspace_api.service.ports.workspace
    second = await create_named_key_clamping_rate_limit_to_plan(
        store.credentials, workspace_api.workspaces["shop"], NOW, name="Second", scopes=list(Scope)
    )
    workspace_api.keys["second"] = second.secret
    path = f"/change-sets/{planned['id']}/undo"
    assert (await workspace_api.ask("POST", path, {}, key="second")).status == 404
    assert (await workspace_api.ask("POST", path, {})).status == 200


async def test_plan_warns_of_a_trigger_never_seen_without_the_write_lock(workspace_api, monkeypatch):
    await connect_platform(workspace_api, "meta", MAIN)
    is_locked = []

    async def take_write_lock_and_check(*arguments):
        transactions = workspace_api.service.ports.workspace.transactions
        async with asyncio.timeout(GUARD_SECONDS), transactions.write(workspace_api.workspaces["shop"].id):
            is_locked.append(False)
        return await read_event_name_warnings_and_suggestions(*arguments)

    monkeypatch.setattr(
        event_name_effects, "read_event_name_warnings_and_suggestions", take_write_lock_and_check
    )
    planned = await plan(workspace_api, [create("/rules", {"rule": RULE | {"trigger_event": "joined"}})])
    assert is_locked == [False]
    assert "never_seen" in [effect["type"] for effect in planned["effects"]]
    assert planned["effects"] == planned["changes"][0]["diff"]["effects"]
