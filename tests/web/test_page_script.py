"""`GET /t.js` in a real browser, on pages of somebody's shop, with the real ingest host behind it (contract 11.1)."""

import asyncio
import json
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from uuid import UUID

import pytest
import pytest_asyncio

from hosts.ingest.run import application
from hosts.serving import bind, serve
from hosts.worker.consumer import pipeline_of
from service_core.access.keys import found_workspace
from service_core.access.members.enrol import enrol
from service_core.access.person import caller_of
from service_core.access.roles import Role
from service_core.changes.write import Writes
from service_core.gateway.exchange import Request
from service_core.kernel.clock import system_clock
from service_core.workspace.scripts.bodies import NewProposal
from service_core.workspace.scripts.plan import propose
from service_core.workspace.scripts.review import review
from tests.web.house import GUARD_MILLISECONDS, IN_BROWSER

pytestmark = IN_BROWSER

CHROME = (
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36"
)
GUARD_SECONDS = 100
"""Against hanging."""

STUB = """
<script>
  window.touchpoint ??= { q: [] };
  for (const name of ["track", "page", "identify", "alias", "group", "optOut"])
    touchpoint[name] ??= (...given) => touchpoint.q.push([name, ...given]);
</script>
"""
HEAD = """<!doctype html><meta charset="utf-8"><title>Shop {path}</title>{stub}
<script>window.faults = []; onerror = onunhandledrejection = (fault) => {{ faults.push(String(fault)); }};</script>
<script async src="{ingest}/t.js" data-workspace-id="{workspace}" {attributes}></script>{body}"""
AHEAD = "const real = Date.now.bind(Date); window.ahead = 0; Date.now = () => real() + window.ahead;"
SIGNAL = "Object.defineProperty(Navigator.prototype, '%s', { get: () => %s });"


@dataclass
class Shop:
    """A site that carries the script, and the queue where its events arrive."""

    house: object
    ingest: str
    port: int
    founded: object = None
    attributes: str = ""
    stub: str = ""
    body: str = ""
    policy: str = ""
    asked: list = field(default_factory=list)

    @property
    def workspace(self):
        return self.founded.workspace

    def url(self, path="/", host="localhost"):
        return f"http://{host}:{self.port}{path}"

    async def answer(self, reader, writer):
        request = (await reader.readuntil(b"\r\n\r\n")).decode()
        self.asked.append(request)
        path = request.split(" ")[1]
        page = HEAD.format(
            path=path.partition("?")[0], ingest=self.ingest, workspace=self.workspace.public_id,
            attributes=self.attributes, stub=self.stub, body=self.body,
        )  # fmt: skip
        policy = f"Content-Security-Policy: {self.policy}\r\n" if self.policy else ""
        head = f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n{policy}Connection: close\r\n\r\n"
        writer.write(head.encode() + page.encode())
        await writer.drain()
        writer.close()

    async def asked_for(self, path):
        """An answer of the API."""
        headers = {"authorization": f"Bearer {self.founded.agent_key.secret}"}
        day = [(system_clock() + timedelta(days=days)).date() for days in (-1, 1)]
        query = "start_date={}&end_date={}".format(*day)
        return json.loads((await self.house.service.dispatch(Request("GET", path, query, headers, b""))).body)

    async def events(self, until):
        """What the service has of this workspace, once it comes to something."""
        async with asyncio.timeout(GUARD_SECONDS):
            while True:
                found = [
                    json.loads(one.arrival.body)
                    for one in await self.house.service.ports.queue.take(10_000)
                    if one.arrival.workspace_id == self.workspace.id
                ]
                found.sort(key=lambda event: event["timestamp"])
                if until(found):
                    return found
                await asyncio.sleep(0.02)

    async def named(self, *names):
        """The events, once these and no others are there."""
        found = await self.events(lambda found: len(found) >= len(names))
        assert sorted(event["event"] for event in found) == sorted(names)
        return found

    @asynccontextmanager
    async def visitor(self, *scripts, **options):
        """A browser of its own; whatever happens, the pages it sees meet no fault of the script."""
        context = await self.house.browser.new_context(**options)
        context.set_default_timeout(GUARD_MILLISECONDS)
        for script in scripts:
            await context.add_init_script(script)
        try:
            yield context
            for page in context.pages:
                assert await page.evaluate("window.faults ?? []") == []
        finally:
            await context.close()

    @asynccontextmanager
    async def visited(self, path="/", *scripts, host="localhost", **options):
        async with self.visitor(*scripts, **options) as context:
            page = await context.new_page()
            await page.goto(self.url(path, host))
            await ready(page)
            yield page


async def ready(page):
    await page.wait_for_function("window.touchpoint?.isReady")


async def cookies(page):
    return {each["name"]: each for each in await page.context.cookies()}


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def grounds(house):
    """The ingest host of the house, and a place for a shop."""
    stop, listener = asyncio.Event(), bind("127.0.0.1:0")
    app = application(house.service.settings, house.service.ports)
    serving = asyncio.create_task(serve(app, listener, "uvicorn", stop))
    shop = Shop(house, f"http://localhost:{listener.getsockname()[1]}", 0)

    async def answer(reader, writer):
        await shop.answer(reader, writer)

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    shop.port = server.sockets[0].getsockname()[1]
    async with server:
        yield shop
        stop.set()
        await serving


@pytest_asyncio.fixture(loop_scope="session")
async def shop(grounds):
    made = await found_workspace(grounds.house.store, system_clock(), name="Shop")
    plain = Shop(grounds.house, grounds.ingest, grounds.port, made)
    grounds.answer, before = plain.answer, grounds.answer
    yield plain
    grounds.answer = before


async def test_a_page_view_tells_the_page_the_visit_and_the_screen(shop):
    path = "/shoes?utm_source=news&gclid=c1&lyr=tag&color=red#top"
    async with shop.visited(path, locale="de-DE", screen={"width": 1200, "height": 800}) as page:
        (event,) = await shop.named("page_view")
        kept = await cookies(page)
    sent = event["properties"]
    assert (sent["url"], sent["title"]) == (shop.url(path.removesuffix("#top")), "Shop /shoes")
    assert (sent["utm_source"], sent["gclid"], sent["lyr"], "color" in sent) == ("news", "c1", "tag", False)
    assert "referrer" not in sent
    context = event["context"]
    assert (context["library"], context["locale"]) == ("touchpoint-web", "de-DE")
    assert context["screen"] == {"width": 1200, "height": 800}
    assert event["visitor_id"] == kept["tp_vid"]["value"]
    assert context["session_id"] == kept["tp_sid"]["value"].partition(".")[0]


async def test_what_pages_send_is_what_questions_are_answered_from(shop):
    path, agent = "/shoes?utm_source=News&utm_medium=email", CHROME
    async with shop.visited(
        path, user_agent=agent, locale="de-DE", screen={"width": 1200, "height": 800}
    ) as page:
        await page.evaluate(
            "touchpoint.identify('u1'); touchpoint.track('purchase', { value: 9.5, currency: 'EUR' })"
        )
        await shop.named("page_view", "$identify", "purchase")
    pipeline = pipeline_of(shop.house.service.ports, shop.house.service.settings.ingest)
    while await pipeline.drain_once():
        pass
    rows = {row["event_name"]: row for row in (await shop.asked_for("/v1/events"))["events"]}
    viewed, bought = rows["page_view"], rows["purchase"]
    told = {
        "source": "web", "sdk_name": "touchpoint-web", "session_origin": "client", "attribution_source": "news",
        "channel": "email", "page_path": "/shoes", "browser": "Chrome", "device_type": "desktop", "language": "de-DE",
        "screen_width": 1200, "is_bot": False,
    }  # fmt: skip
    assert {name: viewed[name] for name in told} == told
    assert (bought["revenue"], bought["currency"], bought["attribution_source"]) == (9.5, "EUR", "news")
    seen = await shop.asked_for("/v1/overview")
    assert (seen["visitors_total"], seen["sessions_total"], seen["pageviews_total"]) == (1, 1, 1)


async def test_visitor_and_session_last_over_pages_and_their_cookies_as_long_as_promised(shop):
    async with shop.visited("/a") as page:
        await page.reload()
        await ready(page)
        first, second = await shop.named("page_view", "page_view")
        kept, now = await cookies(page), system_clock().timestamp()
    assert first["visitor_id"] == second["visitor_id"]
    assert first["context"]["session_id"] == second["context"]["session_id"]
    assert first["event_id"] != second["event_id"]
    assert abs(kept["tp_vid"]["expires"] - now - 365 * 86400) < 3600
    assert abs(kept["tp_sid"]["expires"] - now - 30 * 60) < 600
    assert {each["sameSite"] for each in kept.values()} == {"Lax"}


async def test_a_session_ends_after_thirty_idle_minutes(shop):
    async with shop.visited("/", AHEAD) as page:
        for minutes in (29, 58, 89):
            await page.evaluate(f"ahead = {minutes} * 60_000; touchpoint.track('at {minutes}')")
        found = await shop.named("page_view", "at 29", "at 58", "at 89")
    sessions = [event["context"]["session_id"] for event in found]
    assert sessions[0] == sessions[1] == sessions[2] != sessions[3]
    assert len({event["visitor_id"] for event in found}) == 1


async def test_www_and_shop_of_a_site_are_one_visitor(shop):
    async with shop.visited("/", host="www.example.localhost") as page:
        await page.goto(shop.url("/", "shop.example.localhost"))
        await ready(page)
        first, second = await shop.named("page_view", "page_view")
        kept = await cookies(page)
    assert first["visitor_id"] == second["visitor_id"]
    assert kept.keys() == {"tp_vid", "tp_sid"}
    assert {each["domain"] for each in kept.values()} == {".example.localhost"}


async def test_a_page_that_moves_by_itself_is_another_page_view(shop):
    async with shop.visited("/a?utm_source=x") as page:
        await page.evaluate("history.pushState({}, '', '/b'); document.title = 'B'")
        await page.evaluate("history.pushState({}, '', '/b#part'); history.replaceState({}, '', '/b#two')")
        await shop.events(lambda found: len(found) == 2)
        await page.evaluate("history.go(-2)")
        first, second, third = await shop.named("page_view", "page_view", "page_view")
    urls = [event["properties"]["url"] for event in (first, second, third)]
    assert urls == [shop.url("/a?utm_source=x"), shop.url("/b"), shop.url("/a?utm_source=x")]
    assert [second["properties"][name] for name in ("title", "referrer")] == ["B", urls[0]]
    assert ("utm_source" in second["properties"], "utm_source" in third["properties"]) == (False, True)


async def test_what_is_called_before_the_script_is_there_is_not_lost(shop):
    shop.stub = (
        STUB + "<script>touchpoint.track('early', { size: 3 }); const { track } = touchpoint;</script>"
    )
    async with shop.visited() as page:
        await page.evaluate("track('late')")
        found = await shop.named("page_view", "early", "late")
    assert next(each for each in found if each["event"] == "early")["properties"]["size"] == 3


async def test_people_and_groups_are_told_as_the_intake_reads_them(shop):
    async with shop.visited() as page:
        await page.evaluate(
            "touchpoint.identify('u1', { email: 'a@example.com' }); touchpoint.identify({ name: 'Ann' });"
            "touchpoint.alias('u2', 'u1'); touchpoint.group('g1', { plan: 'pro' }); touchpoint.page({ url: 'app://x' })"
        )
        found = await shop.named("page_view", "$identify", "$identify", "$alias", "$group", "page_view")
    known, named = (event for event in found if event["event"] == "$identify")
    assert (known["user_id"], known["properties"]["traits"]) == ("u1", {"email": "a@example.com"})
    assert ("user_id" in named, named["properties"]["traits"]) == (False, {"name": "Ann"})
    told = {event["event"]: event["properties"] for event in found}
    assert (told["$alias"]["user_id"], told["$alias"]["previous_id"]) == ("u2", "u1")
    assert (told["$group"]["group_id"], told["$group"]["traits"]) == ("g1", {"plan": "pro"})
    assert told["page_view"]["url"] == "app://x"


async def test_track_returns_the_id_ad_platforms_get_of_the_event(shop):
    async with shop.visited() as page:
        bare, own, order = await page.evaluate(
            "[touchpoint.track('a'), touchpoint.track('b', {}, { event_id: 'e1' }), touchpoint.track('c', { order_id: 'o1' })]"
        )
        found = {event["event"]: event for event in await shop.named("page_view", "a", "b", "c")}
    assert (found["a"]["event_id"], own, order) == (bare, "e1", "o1")


async def test_events_of_a_page_that_is_left_arrive(shop):
    async with shop.visited() as page:
        await page.evaluate("touchpoint.track('last'); location.href = 'about:blank'")
        await shop.named("page_view", "last")


async def test_what_cannot_be_sent_is_sent_by_a_later_page_once(shop):
    async with shop.visited() as page:
        await shop.named("page_view")
        await page.context.set_offline(True)
        await page.evaluate("touchpoint.track('lost', { order_id: 'o1' })")
        await page.wait_for_function("localStorage.tp_kept")
        await page.close()
        await page.context.set_offline(False)
        later = await page.context.new_page()
        await later.goto(shop.url("/later"))
        await shop.named("page_view", "lost", "page_view")
        assert await later.evaluate("localStorage.getItem('tp_kept')") is None


@pytest.mark.parametrize("status", [429, 500])
async def test_a_service_that_is_busy_gets_the_events_again(shop, status):
    tries = []

    async def refuse_once(route):
        tries.append(json.loads(route.request.post_data)["events"])
        await (route.fulfill(status=status, body="{}") if len(tries) == 1 else route.continue_())

    async with shop.visitor() as context:
        await context.route("**/batch", refuse_once)
        page = await context.new_page()
        await page.goto(shop.url())
        await shop.named("page_view")
    assert [event["event_id"] for event in tries[0]] == [event["event_id"] for event in tries[1]]


async def test_what_the_service_refuses_for_good_is_not_sent_again(shop):
    async with shop.visited() as page:
        await shop.named("page_view")
        await page.evaluate("touchpoint.track(''); touchpoint.track('x'.repeat(300_000))")
        await page.evaluate("touchpoint.track('good')")
        found = await shop.events(lambda found: len(found) == 2)
        assert found[-1]["event"] == "good"
        await page.wait_for_function("!localStorage.tp_kept")


async def test_what_is_no_event_harms_neither_the_page_nor_other_events(shop):
    async with shop.visited() as page:
        await page.evaluate(
            "const loop = {}; loop.loop = loop; touchpoint.track('bad', loop); touchpoint.track('n', { big: 1n })"
        )
        await page.evaluate("touchpoint.track('good'); touchpoint.identify(null); touchpoint.track()")
        await shop.named("page_view", "good", "$identify")


@pytest.mark.parametrize(
    ("attributes", "signal", "value", "counts"),
    [
        ("", "globalPrivacyControl", "true", False),
        ('data-respect-gpc="false"', "globalPrivacyControl", "true", True),
        ("", "doNotTrack", "'1'", True),
        ('data-respect-dnt="true"', "doNotTrack", "'1'", False),
    ],
)
async def test_signals_of_the_browser_are_respected(shop, attributes, signal, value, counts):
    shop.attributes = attributes
    async with shop.visitor(SIGNAL % (signal, value)) as context:
        asked = []
        context.on("request", lambda request: asked.append(request.url))
        page = await context.new_page()
        await page.goto(shop.url())
        await ready(page)
        assert bool(await page.evaluate("touchpoint.track('x')")) is counts
        await page.goto("about:blank")
        if counts:
            await shop.named("page_view", "x")
        else:
            assert [url for url in asked if url.startswith(shop.ingest)] == [f"{shop.ingest}/t.js"]
            assert await context.cookies() == []


async def test_whoever_opts_out_stays_out_until_they_opt_in(shop):
    async with shop.visited() as page:
        await shop.named("page_view")
        assert (
            await page.evaluate("touchpoint.track('dropped'); touchpoint.optOut(); touchpoint.track('x')")
            is None
        )
        assert (await cookies(page)).keys() == {"tp_out"}
        await page.reload()
        await ready(page)
        assert await page.evaluate("touchpoint.track('y')") is None
        await page.evaluate("touchpoint.optOut(false); touchpoint.track('back')")
        await shop.named("page_view", "back")
        assert (await cookies(page)).keys() == {"tp_vid", "tp_sid"}


async def test_a_choice_made_before_the_script_is_there_counts_from_the_first_event(shop):
    shop.stub = STUB + "<script>touchpoint.track('x'); touchpoint.optOut();</script>"
    async with shop.visited() as page:
        assert (await cookies(page)).keys() == {"tp_out"}
        await page.goto("about:blank")
    assert await shop.events(lambda found: True) == []


FORM = '<form onsubmit="return false"><input type="password" value="secret"><input type="email" value="%s"><button>Go</button></form>'


async def test_forms_say_who_visits_where_the_page_asks_for_it(shop):
    shop.attributes, shop.body = 'data-auto-identify="true"', FORM % "ann@example.com"
    async with shop.visited() as page:
        await page.click("button")
        await page.click("button")
        found = await shop.named("page_view", "$identify")
    assert found[1]["properties"]["traits"] == {"email": "ann@example.com"}
    assert "secret" not in json.dumps(found)


async def test_forms_say_nothing_otherwise(shop):
    shop.body = FORM % "ann@example.com"
    async with shop.visited() as page:
        await page.click("button")
        await page.evaluate("touchpoint.track('after')")
        await shop.named("page_view", "after")


async def test_other_parameters_and_cookies_of_ad_platforms_are_told_where_named(shop):
    shop.attributes = 'data-tracked-params="partner, url" data-debug="true"'
    said = []
    async with shop.visitor() as context:
        await context.add_cookies([{"name": "_fbp", "value": "fb.1.2", "url": shop.url()}])
        page = await context.new_page()
        page.on("console", lambda message: said.append(message.text))
        await page.goto(shop.url("/?partner=p1&url=x"))
        (event,) = await shop.named("page_view")
    sent = event["properties"]
    assert (sent["partner"], sent["fbp"], sent["url"]) == ("p1", "fb.1.2", shop.url("/?partner=p1&url=x"))
    assert any(text.startswith("[touchpoint]") for text in said)


async def test_a_page_that_may_keep_nothing_is_counted_all_the_same(shop):
    shop.policy = "sandbox allow-scripts"
    async with shop.visited() as page:
        await page.evaluate("touchpoint.track('x')")
        first, second = await shop.named("page_view", "x")
    assert first["visitor_id"] == second["visitor_id"]
    assert first["context"]["session_id"] == second["context"]["session_id"]


async def test_the_script_counts_once_however_often_it_is_there(shop):
    shop.body = f'<script src="{shop.ingest}/t.js" data-workspace-id="{shop.workspace.public_id}"></script>'
    async with shop.visited() as page:
        await page.evaluate("touchpoint.track('x')")
        await shop.named("page_view", "x")


async def approve(shop, **fields):
    house, now = shop.house, system_clock()
    owner = await enrol(
        house.store, house.store, shop.workspace, email=house.ann.email, role=Role.OWNER, now=now
    )
    who = caller_of(owner.account, owner.member, shop.workspace, now)
    writes = house.service.part(Writes)
    proposed = await writes.run(who, propose(who, NewProposal.model_validate(fields)), dry_run=False)
    await writes.run(who, review(who, UUID(proposed.answer.data["id"]), "approved", None), dry_run=False)


def script(name, **fields):
    return {"name": name, "type": "inline", "content": f"(window.ran ??= []).push('{name}')"} | fields


async def test_approved_scripts_run_by_their_triggers_conditions_and_frequencies(shop):
    shop.policy = f"script-src 'nonce-abc' {shop.ingest}; connect-src {shop.ingest}; img-src {shop.ingest}"
    shop.attributes = 'nonce="abc"'
    cart = [{"type": "url_path", "operator": "starts_with", "value": "/cart"}]
    other = [
        {"type": "url_parameter", "operator": "equals", "value": "b", "parameter": "a"},
        {"type": "device_type", "operator": "not_equals", "value": "mobile"},
    ]
    for each in (
        script("plain"), script("loaded", trigger="window_load"), script("ready", trigger="dom_ready"),
        script("in cart", conditions=cart), script("other", conditions=other),
        script("session", frequency="once_per_session"), script("clicked", trigger="custom"),
        script("once", trigger="custom", frequency="once_per_page"),
        script("broken", content="throw new Error('of its own')"),
        script("seen", type="pixel", content="https://pixel.example/p.gif"),
    ):  # fmt: skip
        await approve(shop, **each)
    shop.stub = f'<script nonce="abc">{STUB.replace("<script>", "").replace("</script>", "")}touchpoint.track("once")</script>'
    seen = "() => window.ran?.includes('once') && [...ran].sort()"
    async with shop.visitor() as context:
        page = await context.new_page()
        await page.goto(shop.url("/?a=b"))
        first = await (await page.wait_for_function(seen)).json_value()
        assert first == ["loaded", "once", "other", "plain", "ready", "session"]
        await page.evaluate("touchpoint.track('once'); touchpoint.track('clicked')")
        await page.evaluate("touchpoint.track('clicked')")
        await page.evaluate("history.pushState({}, '', '/cart/1')")
        await page.wait_for_function("ran.includes('in cart')")
        assert sorted(await page.evaluate("ran")) == sorted([*first, "clicked", "clicked", "in cart"])
        await page.goto(shop.url("/?a=c"))
        again = await (await page.wait_for_function(seen)).json_value()
        assert again == ["loaded", "once", "plain", "ready"]


async def test_pixels_hear_of_what_rules_send_under_the_id_the_platform_gets(shop):
    mapped = {"enabled": True, "event_mappings": {"purchase": "Purchase", "lead": "Lead"}}
    pixels = {"meta": {"pixel_id": "12", **mapped}, "tiktok": {"pixel_id": "C1", **mapped}, "other": mapped}
    shop.stub = STUB + (
        "<script>window.told = []; window.fbq = (...given) => told.push(given);"
        "window.ttq = { instance: (id) => ({ track: (...given) => told.push([id, ...given]) }) };"
        "touchpoint.track('purchase', { value: 9.5, currency: 'EUR', order_id: 1001 })</script>"
    )
    async with shop.visitor() as context:
        body = json.dumps({"scripts": [], "pixels": pixels, "config": {}})
        await context.route("**/container-scripts", lambda route: route.fulfill(body=body))
        page = await context.new_page()
        await page.goto(shop.url())
        await page.wait_for_function("told.length === 2")
        lead = await page.evaluate("touchpoint.track('lead')")
        await page.evaluate("touchpoint.track('other')")
        told = await page.evaluate("told")
    money = {"value": 9.5, "currency": "EUR"}
    assert told == [
        ["trackSingle", "12", "Purchase", money, {"eventID": "1001"}],
        ["C1", "Purchase", money, {"event_id": "1001"}],
        ["trackSingle", "12", "Lead", {}, {"eventID": lead}],
        ["C1", "Lead", {}, {"event_id": lead}],
    ]
