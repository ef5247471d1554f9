"""The pages of webhooks: list, form, signing secret once, pause and delete."""

import re

import pytest

PAGE = "/app/w/k3Jx9QmZ2aPr/webhooks"
FIELDS = {"name": "Orders", "url": "https://hooks.example.com/orders", "event_names": "purchase\nlead\n"}


@pytest.fixture
async def ann(shop_deployment):
    await shop_deployment.enrol("ann", "admin", shop_deployment.gallery)
    return await shop_deployment.person().sign_in("ann@example.com")


async def test_webhook_is_created_listed_changed_and_deleted(ann):
    assert "No webhooks yet" in (await ann.get(PAGE)).text
    preview = await ann.send(f"{PAGE}/new", PAGE, action="preview", **FIELDS)
    assert "Events 'purchase, lead' are sent to https://hooks.example.com/orders" in preview.text
    made = await ann.send(f"{PAGE}/new", PAGE, action="save", **FIELDS)
    path = made.location.partition("?")[0]
    assert "purchase, lead" in (await ann.get(PAGE)).text
    await ann.send(path, path, action="save", **FIELDS | {"event_names": "trial"})
    page = (await ann.get(path)).text
    assert "trial · Paused" in " ".join(page.split())
    await ann.send(path, f"{path}/delete", action="save")
    assert "No webhooks yet" in (await ann.get(PAGE)).text


async def test_signing_secret_is_shown_once(ann):
    made = await ann.send(f"{PAGE}/new", PAGE, action="save", **FIELDS)
    path = made.location.partition("?")[0]
    shown = await ann.send(path, f"{path}/secret")
    secret = re.search(r"whsec_[A-Za-z0-9+/=]+", (await ann.get(shown.location)).body).group()
    assert secret not in (await ann.get(path)).body


async def test_refused_webhook_keeps_what_was_typed(ann):
    page = await ann.send(f"{PAGE}/new", PAGE, action="save", **FIELDS | {"url": "https://localhost/"})
    assert "must not lead to a private host" in page.text
    assert 'value="https://localhost/"' in page.body


async def test_webhook_is_paused_resumed_and_sent_a_test_message(ann):
    made = await ann.send(f"{PAGE}/new", PAGE, action="save", **FIELDS)
    path = made.location.partition("?")[0]
    await ann.send(path, f"{path}/active", active="")
    assert "purchase, lead · Paused" in (await ann.get(path)).text
    await ann.send(path, f"{path}/active", active="1")
    assert "sent to https://hooks.example.com/orders" in (await ann.get(path)).text
    tested = await ann.send(path, f"{path}/test")
    page = (await ann.get(tested.location)).text
    assert "A test message is on its way" in page
    assert re.search(r"Test message .* Queued", " ".join(page.partition("Sent events")[2].split()))
