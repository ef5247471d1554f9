"""What was changed, taking it back, and deciding about scripts, by people with the role for it."""

import asyncio

import pytest

from service_core.access.api_keys import create_named_key
from service_core.kernel.operations import Scope

SCRIPT = {
    "name": "Chat widget",
    "type": "inline",
    "content": "chat('</script>&')",
    "note": "For the help page",
}


async def key_of(deployment, initialized_deployment=None):
    workspace = (initialized_deployment or deployment.initialized_deployment).workspace
    minted = await create_named_key(
        deployment.store.credentials, workspace, deployment.clock(), name="Robot", scopes=Scope
    )
    return minted.secret


async def linked(deployment, key):
    body = {"link": {"name": "Spring", "destination_url": "https://shop.example/spring"}}
    status, said = await deployment.api("POST", "/v1/links", key, body)
    assert status == 200, said
    return said["data"]


async def proposed(deployment, key, **changed):
    body = {"proposal": SCRIPT | changed}
    status, said = await deployment.api("POST", "/v1/scripts/proposals", key, body)
    assert status == 200, said
    return said["data"]["id"]


async def entries(deployment, key):
    return (await deployment.api("GET", "/v1/audit", key))[1]["entries"]


async def test_a_deleted_link_comes_back(deployment):
    person, key = await deployment.signed_in("ann", "owner"), await key_of(deployment)
    link = await linked(deployment, key)
    await deployment.api("DELETE", f"/v1/links/{link['id']}", key)
    page = f"{deployment.settings}/audit"
    shown = await person.get(page)
    for part in ("delete · Spring", "create · Spring", "Robot", "api"):
        assert part in shown.text
    deleted = (await entries(deployment, key))[0]
    assert (await person.send(page, f"{page}/{deleted['id']}")).status == 303
    assert [one["id"] for one in (await deployment.api("GET", "/v1/links", key))[1]["links"]] == [link["id"]]
    undo = (await entries(deployment, key))[0]
    assert undo["action"] == "undo"
    assert undo["via"] == "dashboard"
    assert undo["actor"]["type"] == "user"
    assert undo["actor"]["name"] == "ann@example.com"
    assert undo["actor"]["client_id"] is None


async def test_twenty_undos_at_once_are_one(deployment):
    person, key = await deployment.signed_in("ann", "owner"), await key_of(deployment)
    link = await linked(deployment, key)
    await deployment.api("DELETE", f"/v1/links/{link['id']}", key)
    page = f"{deployment.settings}/audit"
    fields = {"csrf": await person.token(page)}
    deleted = (await entries(deployment, key))[0]
    answers = await asyncio.gather(*(person.post(f"{page}/{deleted['id']}", fields) for _ in range(20)))
    assert sorted(answer.status for answer in answers) == [303] + [409] * 19


@pytest.mark.parametrize(
    ("role", "status"), [("owner", 303), ("admin", 303), ("member", 403), ("viewer", 403)]
)
async def test_who_may_take_a_change_of_links_back(deployment, role, status):
    person, key = await deployment.signed_in("bob", role), await key_of(deployment)
    link = await linked(deployment, key)
    await deployment.api("DELETE", f"/v1/links/{link['id']}", key)
    page = f"{deployment.settings}/audit"
    deleted = (await entries(deployment, key))[0]
    assert (f"{page}/{deleted['id']}" in (await person.get(page)).body) is (status == 303)
    csrf = await person.token("/app/workspaces")
    assert (await person.post(f"{page}/{deleted['id']}", {"csrf": csrf})).status == status


async def test_the_log_of_others_stays_closed(deployment):
    person, key = await deployment.signed_in("ann", "owner"), await key_of(deployment, deployment.other)
    link = await linked(deployment, key)
    await deployment.api("DELETE", f"/v1/links/{link['id']}", key)
    [deleted, _] = await entries(deployment, key)
    csrf = await person.token("/app/workspaces")
    answer = await person.post(f"{deployment.settings}/audit/{deleted['id']}", {"csrf": csrf})
    assert answer.status == 404
    assert (await person.get(f"{deployment.settings}/audit?cursor=made-up")).status == 404


async def test_a_person_reads_the_whole_script_and_approves_it(deployment):
    person, key = await deployment.signed_in("bob", "admin"), await key_of(deployment)
    proposal = await proposed(deployment, key)
    page = f"/app/container/proposals/{proposal}"
    shown = await person.get(page)
    for part in ("Chat widget", SCRIPT["content"], "For the help page", "page load"):
        assert part in shown.text or part in shown.body.replace("&lt;", "<").replace("&#39;", "'")
    assert "Chat widget" in (await person.get(f"{deployment.settings}/scripts")).text
    assert (await person.send(page, page, decision="approve", note="Fine")).status == 303
    _, said = await deployment.api("GET", f"/v1/scripts/proposals/{proposal}", key)
    assert (said["status"], said["verdict"], said["review_note"]) == ("approved", "approved", "Fine")
    assert said["reviewed_by"]
    [decision, _] = await entries(deployment, key)
    assert decision["undoable"] is False
    status, refused = await deployment.api("POST", f"/v1/audit/{decision['id']}/undo", key)
    assert (status, refused["code"]) == (409, "not_undoable")


async def test_twenty_decisions_about_a_script_are_one(deployment):
    person, key = await deployment.signed_in("ann", "owner"), await key_of(deployment)
    page = f"/app/container/proposals/{await proposed(deployment, key)}"
    csrf = await person.token(page)
    choices = ["approve", "reject"] * 10
    answers = await asyncio.gather(*(person.post(page, {"csrf": csrf, "decision": one}) for one in choices))
    assert sorted(answer.status for answer in answers) == [303] + [409] * 19


@pytest.mark.parametrize("role", ["member", "viewer"])
async def test_others_read_a_proposal_and_decide_nothing(deployment, role):
    person, key = await deployment.signed_in("cid", role), await key_of(deployment)
    page = f"/app/container/proposals/{await proposed(deployment, key)}"
    assert 'value="approve"' not in (await person.get(page)).body
    csrf = await person.token("/app/workspaces")
    assert (await person.post(page, {"csrf": csrf, "decision": "approve"})).status == 403


async def test_a_superseded_proposal_is_not_decided(deployment):
    person, key = await deployment.signed_in("ann", "owner"), await key_of(deployment)
    page = f"/app/container/proposals/{await proposed(deployment, key)}"
    csrf = await person.token(page)
    await proposed(deployment, key, content="better()")
    assert (await person.post(page, {"csrf": csrf, "decision": "approve"})).status == 409


async def test_proposals_of_others_are_not_found(deployment):
    person, key = await deployment.signed_in("ann", "owner"), await key_of(deployment, deployment.other)
    proposal = await proposed(deployment, key)
    theirs = await person.get(f"/app/container/proposals/{proposal}")
    nobodys = await person.get("/app/container/proposals/01a1fc5c-0972-78a1-8385-e3ed624276e5")
    assert theirs.status == nobodys.status == 404
    assert theirs.body == nobodys.body
