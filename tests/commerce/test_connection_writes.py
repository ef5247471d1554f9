"""Connections are written like every resource, and their credentials appear nowhere."""

import pytest

from service_core.analytics.connections.models import Connection, ConnectionStatus, ProviderKind
from service_core.commerce.ads.spend_sync import AdSpendSync
from service_core.commerce.connections.models import CREDENTIALS_LOST
from service_core.commerce.platform_errors import CredentialsRejected
from tests.workspace.conftest import workspace_api as workspace_api

TOKEN = "EAAB-planted-credential-of-meta"
META = {"provider": "meta", "credentials": {"access_token": TOKEN}}


async def connect(api, **fields):
    made = await api.ask("POST", "/connections", {"connection": META | fields})
    assert made.status == 200, made.json
    return made.json


async def listed(api, key="shop"):
    return (await api.ask("GET", "/connections", key=key)).json["connections"]


async def stored_secrets(api, provider="meta"):
    return await api.service.ports.connection_secrets.find_secrets(api.workspaces["shop"].id, provider)


async def test_providers_declare_their_credentials(workspace_api):
    providers = (await workspace_api.ask("GET", "/providers")).json["providers"]
    by_id = {provider["id"]: provider for provider in providers}
    assert [field["name"] for field in by_id["meta"]["credentials"]] == ["access_token"]
    assert by_id["stripe"]["accepts_webhooks"]
    assert not by_id["meta"]["connected"]
    for provider in providers:
        for field in provider["credentials"] or ():
            assert field["label"]
            assert field["help"].endswith(("…", "."))


async def test_connection_is_planned_made_changed_and_removed_with_an_audit(workspace_api):
    planned = (await workspace_api.ask("POST", "/connections", {"connection": META, "dry_run": True})).json
    assert (planned["applied"], planned["data"]["status"]) == (False, "pending")
    assert await listed(workspace_api) == []
    assert await stored_secrets(workspace_api) is None
    made = await connect(workspace_api)
    assert made["diff"]["effects"] == []
    assert await stored_secrets(workspace_api) == {"access_token": TOKEN}
    (connection,) = await listed(workspace_api)
    assert (connection["provider"], connection["label"], connection["status"]) == ("meta", "Meta", "pending")
    assert connection["credentials_id"] == made["data"]["credentials_id"] is not None
    path = f"/connections/{connection['id']}"
    paused = (await workspace_api.ask("PATCH", path, {"connection": {"paused": True}})).json
    assert paused["diff"]["changes"] == [{"field": "status", "from": "pending", "to": "disconnected"}]
    assert "Nothing is read" in paused["diff"]["effects"][0]["summary"]
    undone = await workspace_api.ask("POST", f"/audit/{paused['audit_id']}/undo")
    assert undone.json["data"]["status"] == "pending"
    accounts = [{"id": "act_1", "name": "Main", "assets": [{"id": "12", "name": "Pixel"}]}]
    await workspace_api.ask("PATCH", path, {"connection": {"accounts": accounts}})
    assert (await listed(workspace_api))[0]["accounts"] == accounts
    removed = (await workspace_api.ask("DELETE", path)).json
    assert "without them" in removed["diff"]["effects"][0]["summary"]
    assert await listed(workspace_api) == []
    assert await stored_secrets(workspace_api) is None
    back = (await workspace_api.ask("POST", f"/audit/{removed['audit_id']}/undo")).json
    assert back["diff"]["effects"] == [{"type": "connection", "summary": CREDENTIALS_LOST}]
    (restored,) = await listed(workspace_api)
    assert (restored["status"], restored["accounts"]) == ("expired", accounts)
    assert restored["credentials_id"] is None
    renewed = await workspace_api.ask("PATCH", path, {"connection": {"credentials": META["credentials"]}})
    assert (renewed.json["data"]["status"], renewed.json["data"]["error"]) == ("pending", None)
    actions = [entry["action"] for entry in (await workspace_api.ask("GET", "/audit")).json["entries"]]
    assert actions == ["update", "undo", "delete", "update", "undo", "update", "create"]


async def test_credentials_stand_in_no_answer_and_no_audit_entry(workspace_api):
    connection = await connect(workspace_api)
    path = f"/connections/{connection['data']['id']}"
    renewed = await workspace_api.ask("PATCH", path, {"connection": {"credentials": META["credentials"]}})
    assert renewed.json["diff"]["changes"][0]["field"] == "credentials_id"
    answers = [renewed, await workspace_api.ask("DELETE", path)]
    answers += [await workspace_api.ask("GET", found) for found in ("/audit", "/connections", "/workspace")]
    for answer in answers:
        assert TOKEN not in answer.bytes.decode()
        assert "encrypted_credentials" not in answer.bytes.decode()


async def test_list_and_creation_answer_the_fields_of_the_table(workspace_api):
    made = (await connect(workspace_api))["data"]
    assert set(made) == {
        "id", "workspace_id", "created_at", "provider", "kind", "status", "error", "accounts", "credentials_id",
        "last_synced_at", "label", "webhook_path",
    }  # fmt: skip
    assert await listed(workspace_api) == [made]


async def test_resumed_connection_without_credentials_stays_expired(workspace_api):
    workspace_id, now = workspace_api.workspaces["shop"].id, workspace_api.now
    row = Connection(
        workspace_id, "meta", ProviderKind.ADS, ConnectionStatus.DISCONNECTED, now, last_synced_at=now
    )
    await workspace_api.service.ports.workspace.connections.save_connection_keeping_created_at(row)
    (connection,) = await listed(workspace_api)
    path = f"/connections/{connection['id']}"
    resumed = (await workspace_api.ask("PATCH", path, {"connection": {"paused": False}})).json["data"]
    assert (resumed["status"], resumed["error"]) == ("expired", CREDENTIALS_LOST)


async def test_replaced_credentials_cannot_be_restored(workspace_api):
    connection = (await connect(workspace_api))["data"]
    body = {"connection": {"credentials": {"access_token": "another"}}}
    renewed = (await workspace_api.ask("PATCH", f"/connections/{connection['id']}", body)).json
    assert "cannot be restored" in renewed["diff"]["effects"][0]["summary"]
    refused = await workspace_api.ask("POST", f"/audit/{renewed['audit_id']}/undo")
    assert refused.refusal[:2] == (409, "not_undoable")
    assert await stored_secrets(workspace_api) == {"access_token": "another"}


@pytest.mark.parametrize(
    ("fields", "field", "said"),
    [
        ({"provider": "adyen"}, "connection.provider", "No installed plugin brings adyen"),
        ({"credentials": {"acces_token": "x"}}, "connection.credentials", "Did you mean access_token?"),
        ({"provider": "tiktok"}, "connection.credentials", "also needs app_id, secret"),
        ({"accounts": [{"id": "1"}, {"id": "1"}]}, "connection.accounts", "named once"),
    ],
)
async def test_invalid_connection_is_refused(workspace_api, fields, field, said):
    refused = await workspace_api.ask("POST", "/connections", {"connection": META | fields})
    assert refused.refusal == (422, "invalid_field", field)
    assert said in refused.json["error"]
    assert TOKEN not in refused.bytes.decode()
    assert await listed(workspace_api) == []


async def test_connected_provider_is_not_connected_again(workspace_api):
    await connect(workspace_api)
    again = await workspace_api.ask("POST", "/connections", {"connection": META})
    assert again.refusal == (422, "invalid_field", "connection.provider")


async def test_only_the_scope_of_rules_connects(workspace_api):
    refused = await workspace_api.ask("POST", "/connections", {"connection": META}, key="shop links")
    assert (refused.status, refused.json["required_scope"]) == (403, "service:write:rules")


class _FailingMeta:
    id = "meta"

    async def list_accessible_accounts(self, secrets):
        raise CredentialsRejected(f"The token {secrets['access_token']} has expired.")


async def test_test_asks_the_provider_and_hides_the_credentials(workspace_api, monkeypatch):
    connection = (await connect(workspace_api))["data"]
    path = f"/connections/{connection['id']}/test"
    planned = (await workspace_api.ask("POST", path, {"dry_run": True})).json
    assert (planned["dry_run"], planned["ok"]) == (True, None)
    sync = workspace_api.service.component(AdSpendSync)
    monkeypatch.setitem(sync.platforms, "meta", _FailingMeta())
    tested = (await workspace_api.ask("POST", path)).json
    assert tested == {
        "dry_run": False,
        "ok": False,
        "message": "The token *** has expired.",
        "accounts": [],
    }
