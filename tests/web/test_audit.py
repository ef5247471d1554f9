"""What was changed, taking it back, and deciding about scripts, by people with the role for it."""

import asyncio
import re
from datetime import timedelta

import pytest

from hosts.web import audit
from service_core.access.api_keys import create_named_key_clamping_rate_limit_to_plan
from service_core.kernel.operations import Scope

SCRIPT = {
    "name": "Chat widget",
    "type": "inline",
    "content": "chat('</script>&')",
    "note": "For the help page",
}


async def create_api_key(deployment, initialized_deployment=None):
    workspace = (initialized_deployment or deployment.initialized_deployment).workspace
    minted = await create_named_key_clamping_rate_limit_to_plan(
        deployment.store.credentials, workspace, deployment.clock(), name="Robot", scopes=Scope
    )
    return minted.secret


async def create_tracking_link(deployment, key):
    body = {"link": {"name": "Spring", "destination_url": "https://shop.example/spring"}}
    status, result = await deployment.api("POST", "/v1/links", key, body)
    assert status == 200, result
    return result["data"]


async def create_script_proposal(deployment, key, **changed):
    body = {"proposal": SCRIPT | changed}
    status, result = await deployment.api("POST", "/v1/scripts/proposals", key, body)
    assert status == 200, result
    return result["data"]["id"]


async def list_audit_entries(deployment, key):
    return (await deployment.api("GET", "/v1/audit", key))[1]["entries"]


async def test_page_shows_thirty_entries_and_leads_to_older_ones(deployment):
    person, key = await deployment.signed_in("ann", "owner"), await create_api_key(deployment)
    for number in range(31):
        deployment.clock.now += timedelta(minutes=5)  # a key may make 30 changes in an hour
        body = {"link": {"name": f"Link {number:02}", "destination_url": f"https://shop.example/{number}"}}
        assert (await deployment.api("POST", "/v1/links", key, body))[0] == 200
    page = await person.get(f"{deployment.settings}/audit")
    assert [f"“Link {number:02}”" in page.text for number in range(31)] == [False] + 30 * [True]
    older = re.search(r'href="[^"]*(\?cursor=[^"]+)"', page.body)[1]
    assert "“Link 00”" in (await person.get(f"{deployment.settings}/audit{older}")).text


async def test_undo_restores_a_deleted_link(deployment):
    person, key = await deployment.signed_in("ann", "owner"), await create_api_key(deployment)
    link = await create_tracking_link(deployment, key)
    await deployment.api("DELETE", f"/v1/links/{link['id']}", key)
    page = f"{deployment.settings}/audit"
    shown = await person.get(page)
    for part in ("Robot deleted tracking link “Spring”", "Robot created tracking link “Spring”", "via API"):
        assert part in " ".join(shown.text.split())
    deleted = (await list_audit_entries(deployment, key))[0]
    assert (await person.send(page, f"{deployment.settings}/undo/{deleted['id']}")).status == 303
    assert [one["id"] for one in (await deployment.api("GET", "/v1/links", key))[1]["links"]] == [link["id"]]
    undo = (await list_audit_entries(deployment, key))[0]
    assert undo["action"] == "undo"
    assert undo["via"] == "dashboard"
    assert undo["actor"]["type"] == "user"
    assert undo["actor"]["name"] == "ann@example.com"
    assert undo["actor"]["client_id"] is None


async def test_private_segments_are_shown_to_their_creator_only(deployment):
    person, key = await deployment.signed_in("ann", "owner"), await create_api_key(deployment)
    filters = [{"dimension": "country", "value": "DE"}]
    for name, visibility in (("Mine alone", "private"), ("For everybody", "workspace")):
        segment = {"name": name, "filters": filters, "visibility": visibility}
        status, saved = await deployment.api("POST", "/v1/segments", key, {"segment": segment})
        assert status == 200, saved
        await deployment.api("DELETE", f"/v1/segments/{saved['data']['id']}", key)
    assert len(await list_audit_entries(deployment, key)) == 4
    shown = (await person.get(f"{deployment.settings}/audit")).text
    assert "“For everybody”" in shown
    assert "“Mine alone”" not in shown


async def test_audit_is_filtered_by_type_actor_and_day(deployment):
    person, key = await deployment.signed_in("ann", "owner"), await create_api_key(deployment)
    link = await create_tracking_link(deployment, key)
    await create_script_proposal(deployment, key)
    page = f"{deployment.settings}/audit"
    links = await person.get(f"{page}?resource_type=tracking_link")
    assert "“Spring”" in links.text
    assert "“Chat widget”" not in links.text
    [*_, created] = await list_audit_entries(deployment, key)
    own = await person.get(f"{page}?actor_id={created['actor']['id']}")
    assert "Only changes by Robot" in own.text
    assert "“Spring”" in own.text
    nobody = "01a1fc5c-0972-78a1-8385-e3ed624276e5"
    assert "No change matches" in (await person.get(f"{page}?actor_id={nobody}")).text
    today, tomorrow = deployment.clock().date(), deployment.clock().date() + timedelta(days=1)
    assert "“Spring”" in (await person.get(f"{page}?since={today}")).text
    assert "No change matches" in (await person.get(f"{page}?since={tomorrow}")).text
    assert f"/links/{link['id']}" in links.body
    for invalid in ("resource_type=none", "actor_id=none", "since=none"):
        assert "“Spring”" in (await person.get(f"{page}?{invalid}")).text


async def test_deleted_objects_are_not_linked_from_their_deletion(deployment):
    person, key = await deployment.signed_in("ann", "owner"), await create_api_key(deployment)
    link = await create_tracking_link(deployment, key)
    await deployment.api("DELETE", f"/v1/links/{link['id']}", key)
    page = await person.get(f"{deployment.settings}/audit")
    assert page.body.count(f"/links/{link['id']}") == 1


async def test_older_changes_keep_the_filters(deployment, monkeypatch):
    monkeypatch.setattr(audit, "MAX_ENTRIES", 1)
    person, key = await deployment.signed_in("ann", "owner"), await create_api_key(deployment)
    link = await create_tracking_link(deployment, key)
    await create_script_proposal(deployment, key)
    await deployment.api("DELETE", f"/v1/links/{link['id']}", key)
    first = await person.get(f"{deployment.settings}/audit?resource_type=tracking_link")
    following = re.search(r'rel="next" href="([^"]+)"', first.body).group(1).replace("&amp;", "&")
    second = await person.get(following)
    assert "Robot deleted tracking link “Spring”" in first.text
    assert "Robot created tracking link “Spring”" in second.text
    assert 'rel="next"' not in second.body


async def test_one_of_twenty_concurrent_undos_succeeds(deployment):
    person, key = await deployment.signed_in("ann", "owner"), await create_api_key(deployment)
    link = await create_tracking_link(deployment, key)
    await deployment.api("DELETE", f"/v1/links/{link['id']}", key)
    page = f"{deployment.settings}/audit"
    fields = {"csrf": await person.token(page)}
    deleted = (await list_audit_entries(deployment, key))[0]
    answers = await asyncio.gather(
        *(person.post(f"{deployment.settings}/undo/{deleted['id']}", fields) for _ in range(20))
    )
    assert sorted(answer.status for answer in answers) == [303] + [409] * 19


@pytest.mark.parametrize(
    ("role", "status"), [("owner", 303), ("admin", 303), ("member", 403), ("viewer", 403)]
)
async def test_roles_that_may_undo_a_link_change(deployment, role, status):
    person, key = await deployment.signed_in("bob", role), await create_api_key(deployment)
    link = await create_tracking_link(deployment, key)
    await deployment.api("DELETE", f"/v1/links/{link['id']}", key)
    page = f"{deployment.settings}/audit"
    deleted = (await list_audit_entries(deployment, key))[0]
    assert (f"{deployment.settings}/undo/{deleted['id']}" in (await person.get(page)).body) is (status == 303)
    csrf = await person.token("/app/workspaces")
    assert (await person.post(f"{deployment.settings}/undo/{deleted['id']}", {"csrf": csrf})).status == status


async def test_audit_log_of_another_workspace_is_not_found(deployment):
    person, key = (
        await deployment.signed_in("ann", "owner"),
        await create_api_key(deployment, deployment.other),
    )
    link = await create_tracking_link(deployment, key)
    await deployment.api("DELETE", f"/v1/links/{link['id']}", key)
    [deleted, _] = await list_audit_entries(deployment, key)
    csrf = await person.token("/app/workspaces")
    answer = await person.post(f"{deployment.settings}/undo/{deleted['id']}", {"csrf": csrf})
    assert answer.status == 404
    assert (await person.get(f"{deployment.settings}/audit?cursor=made-up")).status == 404


async def test_script_proposal_is_shown_completely_and_approved(deployment):
    person, key = await deployment.signed_in("bob", "admin"), await create_api_key(deployment)
    proposal = await create_script_proposal(deployment, key)
    page = f"/app/container/proposals/{proposal}"
    shown = await person.get(page)
    for part in ("Chat widget", SCRIPT["content"], "For the help page", "page load"):
        assert part in shown.text or part in shown.body.replace("&lt;", "<").replace("&#39;", "'")
    assert "Chat widget" in (await person.get(f"{deployment.settings}/scripts")).text
    assert (await person.send(page, page, decision="approve", note="Fine")).status == 303
    _, result = await deployment.api("GET", f"/v1/scripts/proposals/{proposal}", key)
    assert (result["status"], result["verdict"], result["review_note"]) == ("approved", "approved", "Fine")
    assert result["reviewed_by"]
    [decision, _] = await list_audit_entries(deployment, key)
    assert decision["undoable"] is False
    status, refused = await deployment.api("POST", f"/v1/audit/{decision['id']}/undo", key)
    assert (status, refused["code"]) == (409, "not_undoable")


async def test_one_of_twenty_concurrent_decisions_succeeds(deployment):
    person, key = await deployment.signed_in("ann", "owner"), await create_api_key(deployment)
    page = f"/app/container/proposals/{await create_script_proposal(deployment, key)}"
    csrf = await person.token(page)
    choices = ["approve", "reject"] * 10
    answers = await asyncio.gather(*(person.post(page, {"csrf": csrf, "decision": one}) for one in choices))
    assert sorted(answer.status for answer in answers) == [303] + [409] * 19


@pytest.mark.parametrize("role", ["member", "viewer"])
async def test_other_roles_read_a_proposal_and_cannot_decide(deployment, role):
    person, key = await deployment.signed_in("cid", role), await create_api_key(deployment)
    page = f"/app/container/proposals/{await create_script_proposal(deployment, key)}"
    assert 'value="approve"' not in (await person.get(page)).body
    csrf = await person.token("/app/workspaces")
    assert (await person.post(page, {"csrf": csrf, "decision": "approve"})).status == 403


async def test_superseded_proposal_cannot_be_decided(deployment):
    person, key = await deployment.signed_in("ann", "owner"), await create_api_key(deployment)
    page = f"/app/container/proposals/{await create_script_proposal(deployment, key)}"
    csrf = await person.token(page)
    await create_script_proposal(deployment, key, content="better()")
    assert (await person.post(page, {"csrf": csrf, "decision": "approve"})).status == 409


async def test_proposals_of_another_workspace_are_not_found(deployment):
    person, key = (
        await deployment.signed_in("ann", "owner"),
        await create_api_key(deployment, deployment.other),
    )
    proposal = await create_script_proposal(deployment, key)
    theirs = await person.get(f"/app/container/proposals/{proposal}")
    nobodys = await person.get("/app/container/proposals/01a1fc5c-0972-78a1-8385-e3ed624276e5")
    assert theirs.status == nobodys.status == 404
    assert theirs.body == nobodys.body


async def test_page_groups_the_sessions_of_a_program_and_takes_one_back(deployment):
    person, key = await deployment.signed_in("ann", "owner"), await create_api_key(deployment)
    page = f"{deployment.settings}/audit"
    for pause, names in ((0, ("Old",)), (31, ("First", "Second"))):
        deployment.clock.now += timedelta(minutes=pause)
        for name in names:
            deployment.clock.now += timedelta(minutes=1)
            body = {"link": {"name": name, "destination_url": "https://shop.example/"}}
            assert (await deployment.api("POST", "/v1/links", key, body))[0] == 200
    shown = await person.get(page)
    assert shown.body.count("Undo all of this session</button>") == 2
    assert "Robot" in shown.text
    assert "Can be undone completely." in shown.text
    form = re.search(r'action="[^"]*/audit/rollback">(.*?)</form>', shown.body)[1]
    fields = dict(re.findall(r'name="([a-z_]+)" value="([^"]*)"', form))
    preview = await person.post(f"{page}/rollback", fields)
    assert ("2 changes are undone" in preview.text, "“Old”" in preview.text) == (True, False)
    assert (await person.post(f"{page}/rollback", {**fields, "action": "save"})).status == 303
    links = (await deployment.api("GET", "/v1/links", key))[1]["links"]
    assert [link["name"] for link in links] == ["Old"]


async def test_page_is_narrowed_to_an_interface_and_a_program(deployment):
    person, key = await deployment.signed_in("ann", "owner"), await create_api_key(deployment)
    await create_tracking_link(deployment, key)
    page = f"{deployment.settings}/audit"
    for query, is_shown in (
        ("created_via=api", True),
        ("created_via=mcp", False),
        ("client_id=helper", False),
    ):
        assert ("“Spring”" in (await person.get(f"{page}?{query}")).text) is is_shown, query
