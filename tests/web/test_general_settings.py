"""General settings: what the API says of a workspace, in words."""

from dataclasses import replace

import pytest

from tests.fixtures.composed_deployment import running_deployment


@pytest.fixture
async def deployment(tmp_path):
    async with running_deployment(tmp_path, {"storage": {"events": "memory://"}}) as deployment:
        yield deployment


def visible_words(answer):
    return " ".join(answer.text.split())


async def test_general_settings_show_zone_currency_attribution_and_usage(deployment):
    named = replace(deployment.workspace, timezone="America/New_York", currency="EUR", domain="shop.example")
    await deployment.store.workspace_settings.replace_workspace_keeping_triggers(named)
    bob = await deployment.signed_in("bob", "viewer")
    words = visible_words(await bob.get(f"{deployment.settings}/settings/general"))
    assert "Example Shop Site shop.example" in words
    assert "America/New York" in words
    assert "Currency EUR." in words
    assert "Default model Last non-direct Window 30 days" in words
    assert "Events 0" in words
    assert "No ad platform or revenue provider is connected." in words


async def test_general_settings_name_what_cannot_be_read(tmp_path):
    async with running_deployment(tmp_path) as deployment:  # its event store is not started
        bob = await deployment.signed_in("bob", "viewer")
        page = await bob.get(f"{deployment.settings}/settings/general")
    assert page.status == 200
    assert "Currency USD." in visible_words(page)
    assert "could not be read" in visible_words(page)


async def test_general_settings_of_another_workspace_are_not_found(deployment):
    await deployment.enrol("eve", "owner", deployment.other)
    eve = await deployment.person().sign_in("eve@example.com")
    assert (await eve.get(f"{deployment.settings}/settings/general")).status == 404


def form_of(**changed):
    """The fields of the settings form as a browser sends them."""
    return {
        "name": "Example Shop",
        "domain": "",
        "timezone": "UTC",
        "currency": "USD",
        "conversions": "",
        "revenue_events": "",
        "any_revenue": "1",
        "model": "",
        "window_days": "",
        "event_retention_days": "",
    } | changed


async def test_admin_previews_saves_and_undoes_a_change(deployment):
    ada = await deployment.signed_in("ada", "admin")
    page = f"{deployment.settings}/settings/general"
    changed = form_of(
        timezone="Europe/Berlin",
        conversions="webinar\r\npurchase\r\n",
        channel_id="custom:crm",
        channel_source="news*",
        channel_medium="",
        channel_campaign="",
        event_retention_days="400",
    )
    preview = visible_words(await ada.send(page, page, action="preview", **changed))
    assert "nothing is saved yet" in preview
    assert "Time zone UTC Europe/Berlin" in preview
    assert "Goals — purchase, webinar" in preview
    assert "An undo does not bring them back." in preview
    assert "Currency" not in preview
    saved = await ada.send(page, page, action="save", **changed)
    assert saved.status == 303
    after = await ada.get(saved.location)
    assert "Saved." in visible_words(after)
    assert "<option selected>Europe/Berlin</option>" in after.body
    assert 'value="custom:crm"' in after.body
    undo = after.body.partition("/undo/")[2].partition('"')[0]
    undone = await ada.send(page, f"{deployment.settings}/undo/{undo}", next=page.removeprefix("/app"))
    assert "Change undone." in visible_words(await ada.get(undone.location))
    assert "<option selected>UTC</option>" in (await ada.get(page)).body


async def test_refused_setting_shows_the_form_with_what_was_typed(deployment):
    ada = await deployment.signed_in("ada", "admin")
    page = f"{deployment.settings}/settings/general"
    refused = await ada.send(page, page, action="save", **form_of(window_days="900"))
    assert refused.status == 422
    assert "A window has 1 to 365 days." in visible_words(refused)
    assert 'value="900"' in refused.body


async def test_settings_changed_by_somebody_else_are_a_choice(deployment):
    ada = await deployment.signed_in("ada", "admin")
    page = f"{deployment.settings}/settings/general"
    version = (await ada.get(page)).body.partition('name="expected_updated_at" value="')[2].partition('"')[0]
    await ada.send(page, page, action="save", **form_of(name="First"))
    stale = await ada.send(page, page, action="save", **form_of(name="Second", expected_updated_at=version))
    assert stale.status == 409
    assert "choose which version to keep" in visible_words(stale)


async def test_member_sees_settings_and_cannot_change_them(deployment):
    bob = await deployment.signed_in("bob", "member")
    account = "/app/account"
    page = f"{deployment.settings}/settings/general"
    assert "Owners and admins can change these settings." in visible_words(await bob.get(page))
    assert (await bob.send(account, page, action="save", **form_of(name="Mine"))).status == 403
