"""A served deployment with people, saved work and a browser beside it, shared by the tests that look at pages."""

import asyncio
import os
import shutil
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from urllib.parse import urlencode

import pytest
import pytest_asyncio

from hosts.guard import guarded
from hosts.serving import bind, serve
from service_core.access.keys import found_workspace
from service_core.access.members.enrol import enrol
from service_core.access.members.model import Account, Member
from service_core.access.members.sign_in import SignIn
from service_core.access.person import caller_of
from service_core.access.requests.file import Filing, file_request
from service_core.access.roles import Role
from service_core.changes.write import Writes
from service_core.kernel.clock import system_clock
from service_core.kernel.ids import new_id
from service_core.kernel.operations import Scope
from service_core.testing.story import Story
from service_core.workspace.links.domains.plan import claim
from service_core.workspace.links.resource import domain_of
from service_core.workspace.scripts.bodies import NewProposal
from service_core.workspace.scripts.model import Condition
from service_core.workspace.scripts.plan import propose
from tests.oauth.walk import CHALLENGE
from tests.web.gallery import Gallery, exhibits, hostile
from tests.web.stage import PASSWORD, application, built

CHROMIUM = os.environ.get("CHROMIUM") or next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None
)
IN_BROWSER = [
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium: install it or name it in CHROMIUM"),
    pytest.mark.asyncio(loop_scope="session"),
]
"""Marks of a test that uses the house: all share one browser and one loop."""

GUARD_MILLISECONDS = 100_000
"""Against hanging."""

WATCH = """
window.seen = [];
document.addEventListener("securitypolicyviolation", (event) => window.seen.push(event.violatedDirective));
"""


@dataclass
class House:
    """A deployment that is served, and a browser beside it."""

    service: object
    root: str
    browser: object
    founded: object
    ann: Account
    owner: Member
    gallery: Gallery
    eve: Account
    shared: list

    @property
    def app(self):
        return f"{self.root}/app"

    @property
    def settings(self):
        return f"{self.app}/w/{self.founded.workspace.public_id}"

    @property
    def store(self):
        return self.service.ports.workspace

    @asynccontextmanager
    async def watched(self, account=None):
        """Looks at pages: nothing of them runs, leads elsewhere or is refused, and texts show as they are."""
        faults = []
        async with self.page(account) as page:
            await page.add_init_script(WATCH)
            page.on("dialog", lambda dialog: faults.append(dialog.message))
            page.on("request", lambda sent: sent.url.startswith(self.root) or faults.append(sent.url))
            page.on("console", lambda said: "Content Security" in said.text and faults.append(said.text))

            async def look(address, texts):
                await page.goto(address)
                seen = await page.evaluate("[window.seen, window.owned, document.body.innerText]")
                assert seen[:2] == [[], None], address
                visible = " ".join(seen[2].split())
                for text in texts:
                    assert " ".join(text.split()) in visible, text

            yield look
        assert not faults

    @asynccontextmanager
    async def page(self, account=None, *, signed_in=True, **options):
        context = await self.browser.new_context(**options)
        context.set_default_timeout(GUARD_MILLISECONDS)
        if signed_in:
            opened = await self.service.part(SignIn).admit(account or self.ann)
            cookie = {"name": "touchpoint", "value": opened.secret, "url": self.root, "sameSite": "Lax"}
            await context.add_cookies([cookie])
        try:
            yield await context.new_page()
        finally:
            await context.close()

    async def asked(self, *scopes, **texts):
        """The page of a new request for a key."""
        given = {"requester": "Agent key", "name": "Helper key", "reason": None, "client_name": None} | texts
        filing = Filing(filer=new_id(), scopes=frozenset(scopes or [Scope.READ]), **given)
        filed = await file_request(self.store, self.founded.workspace, filing, system_clock())
        return f"{self.app}/approve?request={filed.token}"

    async def consent(self, redirect="http://127.0.0.1:1/callback", name="Good helper"):
        """The consent page of a new program."""
        from service_core.access.oauth.model import Client  # noqa: PLC0415

        client = Client(str(new_id()), name, (redirect,), system_clock())
        await self.store.save_client(client)
        query = {
            "response_type": "code",
            "client_id": client.id,
            "redirect_uri": redirect,
            "scope": " ".join(Scope),
            "state": "x",
            "code_challenge": CHALLENGE,
            "code_challenge_method": "S256",
        }
        return f"{self.root}/oauth/authorize?{urlencode(query)}"

    async def proposed(self, name, content="chat()", note="Please", value="x"):
        """The id of a new proposal."""
        who = caller_of(self.ann, self.owner, self.founded.workspace, system_clock())
        condition = Condition(type="url_parameter", operator="equals", value=value, parameter=value)
        wanted = NewProposal(name=name, type="inline", content=content, note=note, conditions=[condition])
        reply = await self.service.part(Writes).run(who, propose(who, wanted), dry_run=False)
        return reply.answer.data["id"]

    async def claimed(self):
        """The page of link domains, with one more that waits for its proof."""
        who = caller_of(self.ann, self.owner, self.founded.workspace, system_clock())
        plan = claim(who, f"{'long-' * 8}{new_id().hex[-8:]}.example.com", domain_of(self.service.settings))
        await self.service.part(Writes).run(who, plan, dry_run=False)
        return f"{self.settings}/domains"

    async def linked(self):
        """The page of identity links, with an event that joins long ids; two people carry the external one."""
        story = Story(self.founded.workspace.id)
        for user in ("long-id-" * 12, new_id().hex):
            ids = {"strong_id": user, "external_ids": {"crm": "c" * 200}}
            event_id = f"{new_id()}{'x' * 200}"
            story.happens("$identify", at="2026-07-01", visitor="v" * 200, event_id=event_id, **ids)
        await self.service.ports.events.append(story.events)
        return f"{self.settings}/identity?event={event_id}"

    async def everywhere(self):
        """Every page there is to look at."""
        return [
            f"{self.app}/", f"{self.app}/sign-in", f"{self.app}/workspaces", f"{self.app}/account", f"{self.app}/lost-password",
            f"{self.app}/password?token=x", f"{self.settings}/keys", f"{self.settings}/members", await self.linked(),
            f"{self.settings}/connections", f"{self.settings}/tracking", await self.asked(*Scope), await self.consent(), f"{self.app}/checkout/canceled",
            f"{self.app}/w/none/keys", f"{self.settings}/audit", f"{self.settings}/scripts", f"{self.settings}/shared",
            f"{self.app}/container/proposals/{await self.proposed('Chat widget')}",
            await self.claimed(), *(f"{self.root}{link['path']}" for link in self.shared),
        ]  # fmt: skip


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def house(tmp_path_factory):
    from playwright.async_api import async_playwright  # noqa: PLC0415 - its driver starts a process

    listener = bind("127.0.0.1:0")
    # A name, not an address: browsers have passkeys for names alone.
    root = f"http://localhost:{listener.getsockname()[1]}"
    folder = tmp_path_factory.mktemp("house")
    service, _ = built(
        folder, clock=system_clock, settings={"http": {"root_url": root}, "storage": {"events": "memory://"}}
    )
    stop = asyncio.Event()
    async with service, async_playwright() as playwright:
        store = service.ports.workspace
        founded = await found_workspace(store, system_clock(), name="Example Shop")
        hashed = await service.ports.passwords.hash(PASSWORD)
        added = await enrol(
            store, store, founded.workspace, email="ann@example.com", role=Role.OWNER, now=system_clock()
        )
        ann = replace(added.account, password=hashed)
        await store.save_account(ann)
        serving = asyncio.create_task(serve(guarded(application(service)), listener, "uvicorn", stop))
        browser = await playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox"], timeout=GUARD_MILLISECONDS
        )
        gallery = await Gallery(service).open(system_clock(), events=hostile)
        eve = Account(new_id(), "eve@example.com", "Eve", system_clock())
        await store.save_account(eve)
        await store.save_member(Member(gallery.workspace.id, eve.id, Role.VIEWER, system_clock()))
        yield House(service, root, browser, founded, ann, added.member, gallery, eve, await exhibits(gallery))
        await browser.close()
        stop.set()
        await serving


CONTRAST = """
() => {
  const paint = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const channels = (colour) => {
    paint.clearRect(0, 0, 1, 1); paint.fillStyle = colour; paint.fillRect(0, 0, 1, 1);
    return [...paint.getImageData(0, 0, 1, 1).data];
  };
  const light = ([r, g, b]) => [r, g, b].map((v) => v / 255)
    .map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (node) => {
    for (let at = node; at; at = at.parentElement) {
      const colour = channels(getComputedStyle(at).backgroundColor);
      if (colour[3] === 255) return colour;
    }
    return [255, 255, 255];
  };
  const poor = [];
  for (const node of document.body.querySelectorAll("*")) {
    const own = [...node.childNodes].some((child) => child.nodeType === 3 && child.textContent.trim());
    if (!own || !node.checkVisibility()) continue;
    const [a, b] = [light(channels(getComputedStyle(node).color)), light(behind(node))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) poor.push([node.textContent.trim().slice(0, 40), ratio]);
  }
  return poor;
}
"""
