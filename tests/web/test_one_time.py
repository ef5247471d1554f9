"""Secrets that are shown once after a redirect, and forms that create one thing however often they are sent."""

import re

import pytest

from hosts.web.one_time import COOKIE, COOKIE_SECONDS
from tests.fixtures.composed_deployment import running_deployment

KEY = re.compile(r"dk_agent_[A-Za-z0-9_-]{43}")


@pytest.fixture
async def deployment(tmp_path):
    async with running_deployment(tmp_path, {"storage": {"events": "memory://"}}) as deployment:
        yield deployment


def creation_fields(page):
    hidden = dict(re.findall(r'type="hidden" name="(csrf|once)" value="([^"]+)"', page.body))
    return hidden | {"name": "Report key", "scope": "service:read"}


async def test_reload_after_a_creation_neither_repeats_nor_shows_the_secret(deployment):
    ann = await deployment.signed_in("ann", "owner")
    page = f"{deployment.settings}/keys"
    answer = await ann.post(page, creation_fields(await ann.get(page)))
    assert (answer.status, answer.location, answer.body) == (303, page, "")
    assert not KEY.search(str(answer.headers["Location"]))
    shown, reloaded = await ann.get(page), await ann.get(page)
    assert len(KEY.findall(shown.body)) == 1
    assert not KEY.search(reloaded.body)
    assert reloaded.body.count("<h3>Report key</h3>") == 1


async def test_form_sent_twice_creates_one_key(deployment):
    ann = await deployment.signed_in("ann", "owner")
    page = f"{deployment.settings}/keys"
    fields = creation_fields(await ann.get(page))
    first, second = [await ann.post(page, fields) for _ in range(2)]
    assert (first.location, second.location) == (page, f"{page}?done=repeated")
    assert "Nothing was created twice" in (await ann.get(second.location)).text
    keys = await deployment.store.credentials.list_keys(deployment.workspace.id)
    assert [key.name for key in keys].count("Report key") == 1


@pytest.mark.parametrize("token", [None, "", "short", "x" * 44])
async def test_creation_without_a_one_time_token_is_refused(deployment, token):
    ann = await deployment.signed_in("ann", "owner")
    page = f"{deployment.settings}/keys"
    fields = creation_fields(await ann.get(page)) | {"once": token}
    sent = {name: value for name, value in fields.items() if value is not None}
    assert (await ann.post(page, sent)).status == 400
    assert "Report key" not in (await ann.get(page)).text


async def test_secret_cookie_is_bound_to_its_page_and_browser(deployment):
    ann, bob = await deployment.signed_in("ann", "owner"), await deployment.signed_in("bob", "admin")
    page = f"{deployment.settings}/keys"
    answer = await ann.post(page, creation_fields(await ann.get(page)))
    cookie = answer.headers["Set-Cookie"]
    for attribute in (f"Path={page}", f"Max-Age={COOKIE_SECONDS}", "HttpOnly", "SameSite=Strict"):
        assert attribute in cookie
    value = re.search(rf"{COOKIE}=([^;]+)", cookie).group(1)
    bob.client.set_cookie("localhost", COOKIE, value, path=page)
    assert not KEY.search((await bob.get(page)).body)
    for damaged in ("x", "é", f"{value[:-1]}!", "."):
        bob.client.set_cookie("localhost", COOKIE, damaged, path=page)
        assert (await bob.get(page)).status == 200
