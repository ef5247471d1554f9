"""What holds on every page: accessible in light and dark, on a wide screen and a phone, small, and without a violated policy."""

import gzip
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from service_core.access.api_keys import create_named_key_clamping_rate_limit_to_plan
from service_core.kernel.clock import system_clock
from tests.fixtures.accessibility import find_accessibility_faults, find_appearance_faults
from tests.fixtures.browser_deployment import IN_BROWSER, WATCH
from tests.fixtures.page_gallery import ProgramWrites, list_gallery_pages, open_rollback_preview
from tests.fixtures.xss_payloads import LONG_NAMES, PAYLOADS
from tests.web.test_browser import make_passkey, value_batches

pytestmark = IN_BROWSER

WIDE = {"width": 1280, "height": 800}
PHONE = {"width": 390, "height": 800}
MOST_HTML_BYTES = 25_000
MOST_SCRIPT_BYTES = 60_000

STRUCTURE = """[
  document.querySelectorAll('h1').length,
  document.documentElement.lang,
  [...document.querySelectorAll('input:not([type=hidden]), select')].filter((one) => !one.labels.length && !one.ariaLabel).length,
  window.seen, window.owned ?? null,
]"""
OPEN_EVERYTHING = "document.querySelectorAll('details').forEach((one) => { one.open = true; })"
OPEN_CONFIRMATIONS = "document.querySelectorAll('.confirm').forEach((one) => { one.open = true; })"
BACKGROUND = "getComputedStyle(document.body).backgroundColor.slice(4, -1).split(',').map(Number).reduce((a, b) => a + b)"
SCRIPTS = (
    "performance.getEntriesByType('resource').map((one) => one.name).filter((name) => name.endsWith('.js'))"
)


@asynccontextmanager
async def long_names(deployment):
    """Names of workspace, keys and passkeys that try to break the layout."""
    workspace, store = deployment.initialized_deployment.workspace, deployment.store
    await store.workspace_settings.replace_workspace_keeping_triggers(replace(workspace, name=LONG_NAMES[0]))
    await deployment.create_script_proposal(*LONG_NAMES)
    passkey = make_passkey(deployment.ann, LONG_NAMES[0])
    await store.passkeys.add_passkey(passkey, 20)
    for name in LONG_NAMES:
        await create_named_key_clamping_rate_limit_to_plan(
            store.credentials, workspace, system_clock(), name=name
        )
    yield
    await store.workspace_settings.replace_workspace_keeping_triggers(workspace)
    await store.passkeys.remove_passkey(deployment.ann.id, passkey.id)


class PageChecks:
    """Checks the page that is open in one tab."""

    def __init__(self, page):
        self.page = page
        self.script_sizes = {}
        self.faults = []

    def expect(self, holds, *fault):
        if not holds:
            self.faults.append((self.page.url, *fault))

    async def load(self, address):
        """Opens a page and checks it."""
        await self.page.set_viewport_size(WIDE)
        await self.page.emulate_media(color_scheme="light")
        answer = await self.page.goto(address)
        html_bytes = len(gzip.compress(await answer.body(), 6))
        self.expect(html_bytes <= MOST_HTML_BYTES, "HTML", html_bytes)
        await self.check()

    async def check(self):
        """Checks the page that is open in light on a wide screen, then in the dark on a phone."""
        page = self.page
        structure = await page.evaluate(STRUCTURE)
        self.expect(structure == [1, "en", 0, [], None], structure)
        self.expect((await page.title()).endswith("· Touchpoint"), await page.title())
        self.expect(await self.script_bytes() <= MOST_SCRIPT_BYTES, "scripts", await self.script_bytes())
        await page.evaluate(OPEN_CONFIRMATIONS)
        self.faults += [(page.url, "axe", *fault) for fault in await find_accessibility_faults(page)]
        await self.expect_width(WIDE)
        self.expect(await page.evaluate(BACKGROUND) > 384, "not light")
        await page.set_viewport_size(PHONE)
        await page.emulate_media(color_scheme="dark")
        self.expect(await page.evaluate(BACKGROUND) < 384, "not dark")
        self.faults += [(page.url, "axe in the dark", *fault) for fault in await find_appearance_faults(page)]
        await self.expect_width(PHONE)
        await page.evaluate(OPEN_EVERYTHING)
        await self.expect_width(PHONE)

    async def expect_width(self, size):
        width = await self.page.evaluate("document.documentElement.scrollWidth")
        self.expect(width <= size["width"], "scrolls sideways", width)

    async def script_bytes(self):
        """Returns the compressed bytes of all scripts that the page loaded."""
        names = set(await self.page.evaluate(SCRIPTS))
        for name in names - self.script_sizes.keys():
            answer = await self.page.request.get(name)
            self.script_sizes[name] = len(gzip.compress(await answer.body(), 6))
        return sum(self.script_sizes[name] for name in names)


async def find_faults_in_other_colours_and_widths(page):
    """Returns what axe finds on the open page in dark on a wide screen and in light on a phone."""
    faults = []
    for size, scheme in ((WIDE, "dark"), (PHONE, "light")):
        await page.set_viewport_size(size)
        await page.emulate_media(color_scheme=scheme)
        faults += [(page.url, scheme, *fault) for fault in await find_accessibility_faults(page)]
    return faults


@pytest.mark.timeout(400)
async def test_every_page_is_accessible_fits_a_phone_and_is_small(browser_deployment):
    program, faults = await ProgramWrites.create(browser_deployment), []
    async with long_names(browser_deployment):
        for pages in await list_gallery_pages(browser_deployment, program):
            async with browser_deployment.page(pages.account) as page:
                await page.add_init_script(WATCH)
                checks = PageChecks(page)
                for address in pages.addresses:
                    await checks.load(address)
                faults += [*checks.faults, *await find_faults_in_other_colours_and_widths(page)]
    assert faults == []


async def test_preview_of_a_taken_back_session_is_accessible_and_escapes_names(browser_deployment):
    program = await ProgramWrites.create(browser_deployment)
    for text in (*PAYLOADS[:5], LONG_NAMES[0]):
        await program.annotate(text)
    async with browser_deployment.page(program.owner) as page:
        await page.add_init_script(WATCH)
        await open_rollback_preview(page, program.audit_address)
        shown = " ".join((await page.inner_text("main")).split())
        assert all(text in shown for text in PAYLOADS[:5])
        checks = PageChecks(page)
        await page.set_viewport_size(WIDE)
        await checks.check()
    assert checks.faults == []


async def test_approval_page_escapes_what_programs_send(browser_deployment):
    program = await ProgramWrites.create(browser_deployment)
    fields = ("name", "utm_source", "utm_medium", "utm_campaign", "utm_term", "utm_content")
    async with browser_deployment.watched_pages(program.owner) as assert_page_shows:
        for texts in value_batches(PAYLOADS, len(fields)):
            address = await program.open_approval(**dict(zip(fields, texts, strict=True)))
            await assert_page_shows(address, [PAYLOADS[0], *texts])
