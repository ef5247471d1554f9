"""Connections: a card for each provider, with forms that show no credential again."""

import re

import pytest

from service_core.commerce.ads.spend_sync import AdSpendSync
from service_core.commerce.platform_errors import PlatformUnavailable
from tests.fixtures.composed_deployment import running_deployment

TOKEN = "EAAB-planted-credential-of-meta"


@pytest.fixture
async def deployment(tmp_path):
    async with running_deployment(tmp_path, {"storage": {"events": "memory://"}}) as deployment:
        yield deployment


@pytest.fixture
def page(deployment):
    return f"{deployment.settings}/settings/connections"


def visible_words(answer):
    return " ".join(answer.text.split())


async def connect(person, page, **fields):
    sent = {
        "provider": "meta",
        "credential_access_token": TOKEN,
        "accounts": "act_1 = Main\r\nact_1/12 = Pixel",
    }
    answer = await person.send(page, page, **sent | fields)
    assert answer.status == 303, visible_words(answer)
    return await person.get(answer.location.partition("#")[0])


def path_of(answer, last):
    return re.search(rf'action="[^"]*(/settings/connections/[^"/]+/{last})"', answer.body).group(1)


async def test_form_is_drawn_from_what_the_plugin_declares(deployment, page):
    ada = await deployment.signed_in("ada", "admin")
    shown = await ada.get(page)
    words = visible_words(shown)
    assert "Meta Not connected." in words
    assert 'name="credential_access_token" type="password"' in shown.body
    assert 'name="credential_app_id" type="text"' in shown.body
    assert "/webhooks/stripe/" in words


async def test_connected_provider_shows_status_and_no_credential(deployment, page):
    ada = await deployment.signed_in("ada", "admin")
    after = await connect(ada, page)
    words = visible_words(after)
    assert "Created." in words
    assert "Status Waiting for the first sync" in words
    assert "Last sync Not yet Accounts Main (1 pixel)" in words
    assert TOKEN not in after.body
    workspace = deployment.workspace
    secrets = await deployment.service.ports.connection_secrets.find_secrets(workspace.id, "meta")
    assert secrets == {"access_token": TOKEN}
    audit = await ada.get(f"{deployment.settings}/audit")
    assert "Meta" in visible_words(audit)
    assert TOKEN not in audit.body


async def test_refused_credentials_are_named_on_the_card_and_not_repeated(deployment, page):
    ada = await deployment.signed_in("ada", "admin")
    fields = {"provider": "tiktok", "credential_access_token": TOKEN}
    refused = await ada.send(page, page, **fields)
    assert refused.status == 422
    assert "TikTok also needs app_id, secret." in visible_words(refused)
    assert TOKEN not in refused.body


async def test_connection_is_paused_resumed_removed_and_restored(deployment, page):
    ada = await deployment.signed_in("ada", "admin")
    after = await connect(ada, page)
    status = deployment.settings + path_of(after, "status")
    paused = await ada.follow(await ada.send(page, status, paused="1", action="save"))
    assert "Status Paused" in visible_words(paused)
    resumed = await ada.follow(await ada.send(page, status, paused="0", action="save"))
    assert "Status Waiting for the first sync" in visible_words(resumed)
    accounts = deployment.settings + path_of(after, "accounts")
    preview = await ada.send(page, accounts, accounts="act_2", action="preview")
    assert "nothing is saved yet" in visible_words(preview)
    delete = deployment.settings + path_of(after, "delete")
    removed = await ada.follow(await ada.send(page, delete, action="save"))
    assert "Meta Not connected." in visible_words(removed)
    undo = removed.body.partition("/undo/")[2].partition('"')[0]
    restored = await ada.follow(
        await ada.send(page, f"{deployment.settings}/undo/{undo}", next=page.removeprefix("/app"))
    )
    assert "Status Credentials rejected" in visible_words(restored)
    assert "Enter them again." in visible_words(restored)
    again = deployment.settings + path_of(restored, "credentials")
    renewed = await ada.follow(await ada.send(page, again, credential_access_token=TOKEN))
    assert "Status Waiting for the first sync" in visible_words(renewed)
    assert TOKEN not in renewed.body


class _SilentMeta:
    id = "meta"

    async def list_accessible_accounts(self, secrets):
        raise PlatformUnavailable("Meta does not answer.")


async def test_test_says_in_words_what_the_provider_answers(deployment, page, monkeypatch):
    ada = await deployment.signed_in("ada", "admin")
    after = await connect(ada, page)
    monkeypatch.setitem(deployment.service.component(AdSpendSync).platforms, "meta", _SilentMeta())
    tested = await ada.send(page, deployment.settings + path_of(after, "test"))
    assert tested.status == 200
    assert "Meta does not answer." in visible_words(tested)


async def test_viewer_sees_connections_without_forms(deployment, page):
    ada = await deployment.signed_in("ada", "admin")
    await connect(ada, page)
    bob = await deployment.signed_in("bob", "viewer")
    shown = await bob.get(page)
    assert "Status Waiting for the first sync" in visible_words(shown)
    assert "Owners and admins can connect and change these." in visible_words(shown)
    assert "credential_" not in shown.body
    assert (await bob.send("/app/account", page, provider="meta")).status == 403
