"""Container script proposals through the door, on SQLite."""

import pytest

SCRIPT = {"name": "Chat widget", "type": "inline", "content": "console.log('hi')"}
HASH = "sha384-" + "A" * 64


async def propose_script(workspace_api, dry_run=False, **fields):
    body = {"proposal": {**SCRIPT, **fields}, "dry_run": dry_run}
    return await workspace_api.ask("POST", "/scripts/proposals", body)


async def test_proposal_is_pending(workspace_api):
    made = (await propose_script(workspace_api, note="For support")).json
    proposal = made["data"]
    assert (made["diff"]["action"], proposal["status"], proposal["verdict"]) == ("propose", "pending", None)
    assert (proposal["trigger"], proposal["frequency"]) == ("page_load", "always")
    assert made["diff"]["effects"] == [
        {
            "type": "script_proposal",
            "summary": "draft 'Chat widget' waits for approval",
            "requires_approval": True,
            "approver_roles": ["owner", "admin"],
            "review_surface": f"https://app.example/container/proposals/{proposal['id']}",
            "supersedes": [],
        }
    ]
    (listed,) = (await workspace_api.ask("GET", "/scripts/proposals")).json["proposals"]
    assert listed.keys() == proposal.keys() - {"content", "review_note"}
    assert (await workspace_api.ask("GET", f"/scripts/proposals/{proposal['id']}")).json == proposal


async def test_pending_proposal_of_the_same_name_is_superseded(workspace_api):
    first = (await propose_script(workspace_api)).json["data"]["id"]
    planned = (await propose_script(workspace_api, dry_run=True)).json
    assert planned["diff"]["effects"][0]["supersedes"] == [first]
    assert planned["diff"]["effects"][0]["review_surface"] is None
    second = (await propose_script(workspace_api)).json["data"]
    assert second["supersedes"] == [first]
    await propose_script(workspace_api, name="Other")
    listed = (await workspace_api.ask("GET", "/scripts/proposals")).json["proposals"]
    assert [(one["name"], one["status"]) for one in listed] == [
        ("Other", "pending"), ("Chat widget", "pending"), ("Chat widget", "superseded"),
    ]  # fmt: skip
    assert listed[2]["superseded_by"] == second["id"]


async def test_proposal_cannot_be_undone(workspace_api):
    audit_id = (await propose_script(workspace_api)).json["audit_id"]
    refused = await workspace_api.ask("POST", f"/audit/{audit_id}/undo")
    assert refused.refusal == (409, "undo_create_unsupported", None)


async def test_external_script_needs_https_and_its_hash(workspace_api):
    fields = {"type": "external", "content": "https://cdn.example.com/x.js"}
    assert (await propose_script(workspace_api, **fields)).refusal == (
        422,
        "invalid_field",
        "proposal.settings.integrity",
    )
    settings = {"integrity": HASH, "async": True}
    made = await propose_script(workspace_api, **fields, settings=settings)
    assert made.json["data"]["settings"]["async"] is True
    plain = {**fields, "content": "http://cdn.example.com/x.js", "settings": settings}
    assert (await propose_script(workspace_api, **plain)).refusal == (422, "invalid_url", "proposal.content")


CONDITION = {"type": "url_path", "operator": "equals", "value": "/"}


@pytest.mark.parametrize(
    ("fields", "refusal"),
    [
        ({"content": "x" * 50_001}, (422, "invalid_field", "proposal.content")),
        ({"content": ""}, (422, "invalid_field", "proposal.content")),
        ({"name": " "}, (422, "invalid_field", "proposal.name")),
        ({"conditions": [CONDITION] * 11}, (422, "invalid_field", "proposal.conditions")),
        (
            {"conditions": [{**CONDITION, "type": "url_parameter"}]},
            (422, "invalid_field", "proposal.conditions[0].parameter"),
        ),
        ({"type": "video"}, (400, "invalid_parameter", "proposal.type")),
        ({"status": "approved"}, (400, "unknown_field", "proposal.status")),
    ],
)
async def test_invalid_proposals_are_refused(workspace_api, fields, refusal):
    assert (await propose_script(workspace_api, **fields)).refusal == refusal


async def test_keys_cannot_approve_and_proposals_are_isolated_by_workspace(workspace_api):
    made = (await propose_script(workspace_api)).json["data"]
    for method in ("POST", "PATCH", "DELETE"):
        assert (await workspace_api.ask(method, f"/scripts/proposals/{made['id']}", {})).status == 405
    assert (await workspace_api.ask("GET", f"/scripts/proposals/{made['id']}", key="other")).status == 404
