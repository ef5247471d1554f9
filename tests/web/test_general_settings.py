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
    await deployment.store.workspace_settings.save_workspace(named)
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
