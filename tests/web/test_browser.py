"""The pages in a real browser: nothing runs, nothing frames, all can be read and used by keyboard alone."""

import asyncio
from contextlib import asynccontextmanager
from dataclasses import replace
from urllib.parse import parse_qs, urlsplit

import pytest

from service_core.access.api_keys import create_named_key_clamping_rate_limit_to_plan
from service_core.access.members.invitations import save_and_email_invitation
from service_core.access.members.models import Account, Member
from service_core.access.models import OAuthGrant
from service_core.access.passkeys.models import Passkey
from service_core.access.roles import Role
from service_core.kernel.clock import system_clock
from service_core.kernel.ids import new_id
from service_core.kernel.operations import Scope
from service_core.testing.oauth_grants import issue_access_token
from tests.fixtures.browser_deployment import IN_BROWSER
from tests.fixtures.composed_deployment import PASSWORD
from tests.fixtures.xss_payloads import PAYLOADS

pytestmark = IN_BROWSER


@asynccontextmanager
async def serve_foreign_site(html=""):
    """A server of somebody else; `asked` holds the request lines it got."""
    requests = []

    async def answer(reader, writer):
        requests.append((await reader.readuntil(b"\r\n\r\n")).split(b"\r\n")[0].decode())
        writer.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n" + html.encode()
        )
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1], requests


def value_batches(values, size):
    rest = iter(values + values[: -len(values) % size])
    return list(zip(*[rest] * size, strict=True))


def make_passkey(account, name):
    return Passkey(new_id(), account.id, name, new_id().bytes, b"key", 0, frozenset(), system_clock())


@pytest.mark.timeout(400)
async def test_hostile_names_are_escaped_on_every_page(browser_deployment):
    store, workspace = browser_deployment.store, browser_deployment.initialized_deployment.workspace
    for payload in PAYLOADS:
        await create_named_key_clamping_rate_limit_to_plan(
            store.credentials, workspace, system_clock(), name=payload
        )
        account = Account(new_id(), f"{new_id()}@example.com", payload, system_clock())
        await store.accounts.save_account_unless_email_taken(account)
        await store.members.save_member_unless_no_owner_left(
            Member(workspace.id, account.id, Role.VIEWER, system_clock()), system_clock()
        )
        grant = OAuthGrant(
            new_id(), account.id, "x", payload, workspace.id, frozenset([Scope.READ]), system_clock()
        )
        await issue_access_token(store.one_time_tokens, grant, system_clock())
        await store.passkeys.add_passkey(make_passkey(browser_deployment.ann, payload), len(PAYLOADS))
    async with browser_deployment.watched_pages() as assert_page_shows:
        await assert_page_shows(f"{browser_deployment.app}/account", PAYLOADS)
        for section in ("keys", "members", "connections"):
            await assert_page_shows(f"{browser_deployment.settings}/{section}", PAYLOADS)
        for some in value_batches(PAYLOADS, 4):
            texts = dict(zip(("requester", "name", "reason", "client_name"), some, strict=True))
            await store.workspace_settings.replace_workspace_keeping_triggers(
                replace(workspace, name=some[0])
            )
            await assert_page_shows(await browser_deployment.open_key_request_page(**texts), some)
            await assert_page_shows(
                f"{browser_deployment.app}/container/proposals/{await browser_deployment.create_script_proposal(*some)}",
                some,
            )
            for name, payload in ((some[1], some[2]), (some[3], some[0])):
                await store.workspace_settings.replace_workspace_keeping_triggers(
                    replace(workspace, name=payload)
                )
                await assert_page_shows(
                    await browser_deployment.open_consent_page(name=name), (name, payload)
                )
        proposed = [some[0] for some in value_batches(PAYLOADS, 4)]
        await assert_page_shows(f"{browser_deployment.settings}/scripts", proposed)
        await assert_page_shows(f"{browser_deployment.settings}/audit", proposed)
        await assert_page_shows(f"{browser_deployment.app}/workspaces", [some[0]])
    await store.workspace_settings.replace_workspace_keeping_triggers(workspace)
    for passkey in await store.passkeys.list_passkeys(browser_deployment.ann.id):
        await store.passkeys.remove_passkey(browser_deployment.ann.id, passkey.id)
    assert len(PAYLOADS) >= 100


async def focused_element(page):
    return await page.evaluate(
        "[document.activeElement.innerText, parseFloat(getComputedStyle(document.activeElement).outlineWidth)]"
    )


async def test_sign_in_and_approval_work_with_the_keyboard(browser_deployment):
    address = await browser_deployment.open_key_request_page()
    async with browser_deployment.page(signed_in=False) as page:
        await page.goto(address)
        await page.wait_for_function("document.activeElement.name === 'email'")
        await page.keyboard.type("ann@example.com")
        await page.keyboard.press("Tab")
        await page.keyboard.type(PASSWORD)
        await page.keyboard.press("Enter")
        await page.wait_for_url("**/approve?request=*")
        for _ in range(20):
            await page.keyboard.press("Tab")
            text, outline = await focused_element(page)
            assert outline >= 2, text
            if text == "Approve":
                break
        await page.keyboard.press("Enter")
        await page.wait_for_selector("h1:has-text('approved')")


async def test_first_tab_stop_is_the_skip_link(browser_deployment):
    async with browser_deployment.page() as page:
        await page.goto(f"{browser_deployment.settings}/keys")
        await page.keyboard.press("Tab")
        assert (await focused_element(page))[0] == "Skip to content"
        await page.keyboard.press("Enter")
        await page.wait_for_url("**#content")


async def test_pages_work_without_javascript(browser_deployment):
    address = await browser_deployment.open_key_request_page(Scope.READ, Scope.WRITE_LINKS)
    async with browser_deployment.page(java_script_enabled=False) as page:
        await page.goto(address)
        await page.click("button[value=deny]")
        await page.wait_for_selector("h1:has-text('denied')")
        await page.goto(f"{browser_deployment.settings}/keys")
        await page.locator("section", has_text="Agent key").locator("summary").click()
        await page.locator("section", has_text="Agent key").locator("button").click()
        assert (await page.inner_text("code.secret")).startswith("dk_agent_")
        await page.click("text=Sign out")
        await page.wait_for_selector("main:has-text('signed out')")


async def test_pages_cannot_be_framed(browser_deployment):
    address = await browser_deployment.open_key_request_page()
    async with (
        serve_foreign_site(f'<iframe src="{address}"></iframe>') as (port, _),
        browser_deployment.page() as page,
    ):
        for host in ("127.0.0.1", "localhost"):
            await page.goto(f"http://{host}:{port}/")
            await page.frames[1].wait_for_url("chrome-error://**")
            assert page.frames[1].url == "chrome-error://chromewebdata/"


async def test_form_of_another_site_is_refused(browser_deployment):
    address = await browser_deployment.open_key_request_page()
    token = address.partition("=")[2]
    html = (
        f'<form method="post" action="{browser_deployment.app}/approve"><input name="request" value="{token}">'
        '<input name="decision" value="approve"><button>Win a prize</button></form>'
    )
    async with serve_foreign_site(html) as (port, _), browser_deployment.page() as page:
        for host in ("127.0.0.1", "localhost"):
            await page.goto(f"http://{host}:{port}/")
            async with page.expect_response("**/approve") as answered:
                await page.click("button")
            assert (await answered.value).status == 403
        await page.goto(address)
        assert "requests an API key" in await page.inner_text("h1")


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_consent_redirects_to_the_client(browser_deployment, host):
    async with serve_foreign_site("done") as (port, request), browser_deployment.page() as page:
        await page.goto(await browser_deployment.open_consent_page(f"http://{host}:{port}/callback"))
        await page.click("button[value=allow]")
        await page.wait_for_url("**/callback?*")
        result = parse_qs(urlsplit(request[0].split()[1]).query)
    assert result["code"][0].startswith("oac_")
    assert result["iss"] == [browser_deployment.root]
    assert result["state"] == ["x"]


async def test_invited_person_joins_through_the_mailed_link(browser_deployment):
    letters = browser_deployment.service.ports.mail.messages
    await save_and_email_invitation(
        browser_deployment.store.invitations, browser_deployment.service.ports.mail, browser_deployment.initialized_deployment.workspace, browser_deployment.owner,
        email="bob@example.com", role=Role.MEMBER, web_url=browser_deployment.app, now=system_clock(),
    )  # fmt: skip
    link = next(line for line in letters[-1].text.splitlines() if line.startswith("http"))
    async with browser_deployment.page(signed_in=False) as page:
        await page.goto(link)
        await page.fill("[name=name]", "Bob")
        await page.fill("[name=password]", PASSWORD)
        await page.click("main button")
        await page.wait_for_url("**/workspaces?done=joined")
        assert "You are now a member" in await page.inner_text("[role=status]")
