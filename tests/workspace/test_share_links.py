"""Share links through the door, on SQLite."""

import re
from datetime import timedelta
from uuid import UUID

import pytest

from service_core.access.models import RequestInterface
from service_core.changes.actor import Actor
from service_core.kernel.ids import new_id
from service_core.workspace.reports.models import DEFAULT_RANGE, Report

DRAWN = {"source": "catalog", "kind": "metric", "metric_id": "visitors", "chart": "line"}
EMPTY = dict.fromkeys(("description", "dimension", "plan", "steps", "window_days", "order", "unit"))


async def create_report(workspace_api, name="Weekly", key="shop"):
    """The id of a saved report of the workspace of a key."""
    workspace = workspace_api.workspaces[key]
    report = Report(
        id=new_id(), workspace_id=workspace.id, name=name, default_range=DEFAULT_RANGE, **DRAWN, **EMPTY,
        created_at=workspace_api.now, updated_at=workspace_api.now, created_via=RequestInterface.API,
        created_by=Actor(type="key", id=new_id(), client_id=None),
    )  # fmt: skip
    async with workspace_api.service.ports.workspace.transactions.write(workspace.id) as unit:
        await unit.resources.save(report)
    return str(report.id)


async def create_share_link(workspace_api, dry_run=False, key="shop", once=None, **fields):
    wanted = {"object_type": "report", **fields}
    if "object_id" not in wanted:
        wanted["object_id"] = await create_report(workspace_api)
    body = {"share_link": wanted, "dry_run": dry_run}
    return await workspace_api.ask("POST", "/share-links", body, key=key, once=once)


async def list_share_links(workspace_api, query=""):
    return (await workspace_api.ask("GET", f"/share-links{query}")).json["share_links"]


async def test_url_is_returned_once_and_the_token_is_not_stored(workspace_api, tmp_path):
    made = (await create_share_link(workspace_api, show_workspace_name=True)).json
    data = made["data"]
    url = data.pop("url")
    assert re.fullmatch(r"https://app\.example/share/[A-Za-z0-9_-]{43}", url)
    assert data["token_hint"] == url[-4:]
    assert (data["status"], data["object_type"], data["object_name"]) == ("active", "report", "Weekly")
    assert (data["view_count"], data["last_viewed_at"]) == (0, None)
    assert (data["show_workspace_name"], data["expires_at"], data["revoked_at"]) == (True, None, None)
    assert await list_share_links(workspace_api) == [data]
    token = url.rpartition("/")[2].encode()
    entries = (await workspace_api.ask("GET", "/audit")).bytes
    stored = b"".join(file.read_bytes() for file in tmp_path.iterdir() if file.is_file())
    assert token not in entries + stored
    assert b"digest" not in entries


async def test_effect_is_a_public_page_with_a_masked_path(workspace_api):
    made = (await create_share_link(workspace_api)).json
    assert made["diff"]["effects"] == [
        {
            "type": "public_page",
            "summary": "report 'Weekly' can be read by whoever has the address",
            "operation": "put",
            "path": f"/share/…{made['data']['token_hint']}",
        }
    ]


async def test_dry_run_returns_no_url_and_creates_no_link(workspace_api):
    planned = (await create_share_link(workspace_api, dry_run=True)).json
    assert planned["applied"] is False
    assert {
        name: planned["data"][name] for name in ("id", "url", "token_hint", "created_at")
    } == dict.fromkeys(("id", "url", "token_hint", "created_at"))
    assert planned["diff"]["effects"][0]["path"] == "/share/…"
    assert await list_share_links(workspace_api) == []
    assert (await workspace_api.ask("GET", "/audit")).json["entries"] == []


async def test_idempotency_key_is_ignored(workspace_api):
    report = await create_report(workspace_api)
    first, second = [await create_share_link(workspace_api, once="same", object_id=report) for _ in range(2)]
    assert first.json["data"]["url"] != second.json["data"]["url"]
    assert "idempotent-replay" not in {name.lower() for name in second.headers}
    assert len(await list_share_links(workspace_api)) == 2


async def test_revocation_is_final_and_audited_once(workspace_api):
    made = (await create_share_link(workspace_api)).json["data"]
    revoked = (await workspace_api.ask("DELETE", f"/share-links/{made['id']}")).json
    assert (revoked["applied"], revoked["diff"]["action"]) == (True, "revoke")
    assert revoked["diff"]["prior_state"] == {"status": "active", "revoked_at": None}
    assert revoked["diff"]["new_state"] == {"status": "revoked", "revoked_at": revoked["data"]["revoked_at"]}
    assert revoked["diff"]["effects"][0]["operation"] == "delete"
    assert "url" not in revoked["data"]
    again = (await workspace_api.ask("DELETE", f"/share-links/{made['id']}")).json
    assert (again["applied"], again["diff"]["changes"], again["diff"]["effects"]) == (False, [], [])
    assert again["diff"]["prior_state"] == again["diff"]["new_state"] == {"status": "revoked"}
    assert "audit_id" not in again
    assert again["data"] == revoked["data"]
    assert [entry["action"] for entry in (await workspace_api.ask("GET", "/audit")).json["entries"]] == [
        "revoke", "create",
    ]  # fmt: skip


async def test_dry_run_revokes_nothing(workspace_api):
    made = (await create_share_link(workspace_api)).json["data"]
    planned = (await workspace_api.ask("DELETE", f"/share-links/{made['id']}?dry_run=true")).json
    assert (planned["dry_run"], planned["data"]["status"]) == (True, "revoked")
    assert planned["data"]["revoked_at"] is None
    assert (await list_share_links(workspace_api))[0]["status"] == "active"


async def test_creation_and_revocation_cannot_be_undone(workspace_api):
    made = (await create_share_link(workspace_api)).json
    revoked = (await workspace_api.ask("DELETE", f"/share-links/{made['data']['id']}")).json
    for audit_id in (made["audit_id"], revoked["audit_id"]):
        refused = await workspace_api.ask("POST", f"/audit/{audit_id}/undo")
        assert refused.refusal == (409, "not_undoable", None)


async def test_link_expires_by_time(workspace_api):
    made = (await create_share_link(workspace_api, expires_in_days=7)).json["data"]
    assert made["expires_at"] == "2026-07-15T15:01:00.000Z"
    assert (await list_share_links(workspace_api))[0]["status"] == "active"
    workspace_api.later(days=7)
    assert (await list_share_links(workspace_api))[0]["status"] == "expired"
    revoked = (await workspace_api.ask("DELETE", f"/share-links/{made['id']}")).json
    assert revoked["diff"]["prior_state"]["status"] == "expired"
    assert (await list_share_links(workspace_api))[0]["status"] == "revoked"


@pytest.mark.parametrize(
    ("sent", "ends"),
    [
        ("2026-07-10", "2026-07-11T00:00:00.000Z"),
        ("2026-07-10T12:00:00+02:00", "2026-07-10T10:00:00.000Z"),
        ("2026-07-10T12:00:00Z", "2026-07-10T12:00:00.000Z"),
    ],
)
async def test_expiry_date_includes_its_day(workspace_api, sent, ends):
    assert (await create_share_link(workspace_api, expires_at=sent)).json["data"]["expires_at"] == ends


@pytest.mark.parametrize(
    ("fields", "refusal"),
    [
        ({"object_id": str(new_id())}, (422, "unknown_object", "share_link.object_id")),
        ({"object_type": "dashboard"}, (422, "unknown_object", "share_link.object_id")),
        ({"object_type": "link"}, (400, "invalid_parameter", "share_link.object_type")),
        ({"expires_in_days": 0}, (422, "invalid_field", "share_link.expires_in_days")),
        ({"expires_in_days": 366}, (422, "invalid_field", "share_link.expires_in_days")),
        ({"expires_at": "soon"}, (422, "invalid_field", "share_link.expires_at")),
        ({"expires_at": "2026-07-08T15:00:00Z"}, (422, "invalid_field", "share_link.expires_at")),
        (
            {"expires_at": "2027-01-01", "expires_in_days": 3},
            (422, "invalid_field", "share_link.expires_in_days"),
        ),
        ({"token_hint": "abcd"}, (400, "unknown_field", "share_link.token_hint")),
        ({"digest": "0" * 64}, (400, "unknown_field", "share_link.digest")),
    ],
)
async def test_invalid_share_links_are_refused(workspace_api, fields, refusal):
    assert (await create_share_link(workspace_api, **fields)).refusal == refusal


async def test_list_is_filtered_and_paged(workspace_api):
    reports = [await create_report(workspace_api, name) for name in ("A", "B")]
    links = [
        (
            await create_share_link(workspace_api, object_id=reports[index % 2], expires_in_days=index + 1)
        ).json["data"]["id"]
        for index in range(5)
    ]
    await workspace_api.ask("DELETE", f"/share-links/{links[0]}")
    workspace_api.later(days=2)
    assert [one["id"] for one in await list_share_links(workspace_api)] == links[::-1]
    assert [one["id"] for one in await list_share_links(workspace_api, "?status=expired")] == [links[1]]
    assert [one["id"] for one in await list_share_links(workspace_api, "?status=revoked")] == [links[0]]
    assert [one["id"] for one in await list_share_links(workspace_api, f"?object_id={reports[0]}")] == links[
        4::-2
    ]
    assert await list_share_links(workspace_api, "?object_type=analysis") == []
    walked, cursor = [], ""
    while cursor is not None:
        page = (await workspace_api.ask("GET", f"/share-links?limit=2{cursor and f'&cursor={cursor}'}")).json
        walked += [one["id"] for one in page["share_links"]]
        cursor = page["next_cursor"]
    assert walked == links[::-1]


async def test_write_scope_is_needed_and_links_are_isolated_by_workspace(workspace_api):
    report = await create_report(workspace_api)
    refused = await create_share_link(workspace_api, key="shop reader", object_id=report)
    assert refused.refusal == (403, "insufficient_scope", None)
    assert (await create_share_link(workspace_api, key="other", object_id=report)).refusal[:2] == (
        422,
        "unknown_object",
    )
    made = (await create_share_link(workspace_api, object_id=report)).json["data"]
    assert (await workspace_api.ask("GET", "/share-links", key="shop reader")).status == 200
    assert (await workspace_api.ask("GET", "/share-links", key="other")).json["share_links"] == []
    assert (await workspace_api.ask("DELETE", f"/share-links/{made['id']}", key="other")).status == 404
    assert (await workspace_api.ask("DELETE", f"/share-links/{new_id()}")).status == 404


async def test_links_list_their_view_counts(workspace_api):
    made = (await create_share_link(workspace_api)).json["data"]
    store = workspace_api.service.ports.workspace
    for minutes in (1, 2):
        await store.share_link_views.count_view(
            UUID(made["id"]), workspace_api.now + timedelta(minutes=minutes)
        )
    (seen,) = await list_share_links(workspace_api)
    assert seen["view_count"] == 2
    revoked = (await workspace_api.ask("DELETE", f"/share-links/{made['id']}")).json["data"]
    assert (revoked["view_count"], revoked["last_viewed_at"]) == (2, seen["last_viewed_at"])


async def test_page_options_are_stored_and_the_password_only_as_a_hash(workspace_api, tmp_path):
    options = {
        "allowed_ranges": ["last_month", "last_7_days", "last_7_days"],
        "embed_hosts": ["Blog.Example.com", "*.example.com", "localhost:3000", "blog.example.com"],
        "password": "open sesame please",
    }
    made = (await create_share_link(workspace_api, **options)).json
    data = made["data"]
    assert data["allowed_ranges"] == ["last_7_days", "last_month"]
    assert data["embed_hosts"] == ["blog.example.com", "*.example.com", "localhost:3000"]
    assert data["has_password"] is True
    assert "password" not in data
    assert "password_hash" not in (await workspace_api.ask("GET", "/audit")).bytes.decode()
    assert made["diff"]["effects"][0]["summary"].endswith("whoever has the address and the password")
    stored = b"".join(file.read_bytes() for file in tmp_path.iterdir() if file.is_file())
    assert b"open sesame" not in stored
    plain = (await create_share_link(workspace_api)).json["data"]
    assert (plain["allowed_ranges"], plain["embed_hosts"], plain["has_password"]) == ([], [], False)


async def test_dry_run_shows_the_page_options_and_stores_nothing(workspace_api):
    options = {"password": "open sesame please", "embed_hosts": ["example.com"]}
    planned = (await create_share_link(workspace_api, dry_run=True, **options)).json
    assert planned["data"]["has_password"] is True
    assert planned["data"]["embed_hosts"] == ["example.com"]
    assert await list_share_links(workspace_api) == []


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({"allowed_ranges": ["7d"]}, "allowed_ranges"),
        ({"allowed_ranges": ["last_7_days", "ever"]}, "allowed_ranges"),
        ({"embed_hosts": ["https://example.com"]}, "embed_hosts"),
        ({"embed_hosts": ["example.com/path"]}, "embed_hosts"),
        ({"embed_hosts": ["example.com; script-src *"]}, "embed_hosts"),
        ({"embed_hosts": ["*"]}, "embed_hosts"),
        ({"embed_hosts": ["a.*.example.com"]}, "embed_hosts"),
        ({"embed_hosts": ["'self'"]}, "embed_hosts"),
        ({"embed_hosts": [""]}, "embed_hosts"),
        ({"embed_hosts": ["example.com\n"]}, None),
        ({"embed_hosts": ["bücher.example"]}, "embed_hosts"),
        ({"embed_hosts": [f"h{n}.example" for n in range(11)]}, "embed_hosts"),
        ({"password": "short"}, "password"),
        ({"password": ""}, "password"),
        ({"password": "x" * 257}, "password"),
    ],
)
async def test_invalid_page_option_is_refused(workspace_api, fields, name):
    answer = await create_share_link(workspace_api, **fields)
    if name is None:
        assert answer.json["data"]["embed_hosts"] == ["example.com"]
    else:
        assert answer.refusal == (422, "invalid_field", f"share_link.{name}")


async def update_share_link(workspace_api, link, **fields):
    dry_run = fields.pop("dry_run", False)
    body = {"share_link": fields, "dry_run": dry_run}
    return await workspace_api.ask("PATCH", f"/share-links/{link['id']}", body)


async def test_page_options_are_changed_and_the_change_is_undone(workspace_api):
    link = (await create_share_link(workspace_api, allowed_ranges=["last_7_days"])).json["data"]
    planned = (await update_share_link(workspace_api, link, embed_hosts=["example.com"], dry_run=True)).json
    assert (planned["applied"], planned["data"]["embed_hosts"]) == (False, ["example.com"])
    assert (await list_share_links(workspace_api))[0]["embed_hosts"] == []
    changed = (
        await update_share_link(workspace_api, link, embed_hosts=["example.com"], allowed_ranges=None)
    ).json
    assert changed["diff"]["effects"][0]["operation"] == "put"
    assert changed["diff"]["effects"][0]["summary"] == "the public page of report 'Weekly' changes"
    (listed,) = await list_share_links(workspace_api)
    assert (listed["embed_hosts"], listed["allowed_ranges"]) == (["example.com"], [])
    undone = (await workspace_api.ask("POST", f"/audit/{changed['audit_id']}/undo")).json
    assert undone["applied"] is True
    (listed,) = await list_share_links(workspace_api)
    assert (listed["embed_hosts"], listed["allowed_ranges"]) == ([], ["last_7_days"])


async def test_revoked_or_expired_link_is_not_changed(workspace_api):
    revoked, expired = [
        (await create_share_link(workspace_api, expires_in_days=1)).json["data"] for _ in range(2)
    ]
    await workspace_api.ask("DELETE", f"/share-links/{revoked['id']}")
    workspace_api.later(days=1)
    for link in (revoked, expired):
        refused = await update_share_link(workspace_api, link, embed_hosts=["example.com"])
        assert refused.refusal == (409, "resource_changed", None)


async def test_undo_of_a_change_never_opens_a_revoked_link(workspace_api):
    link = (await create_share_link(workspace_api)).json["data"]
    changed = (await update_share_link(workspace_api, link, show_workspace_name=True)).json
    await workspace_api.ask("DELETE", f"/share-links/{link['id']}")
    await workspace_api.ask("POST", f"/audit/{changed['audit_id']}/undo")
    (listed,) = await list_share_links(workspace_api)
    assert listed["status"] == "revoked"
