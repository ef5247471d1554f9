"""`GET /t.js` in a real browser: what pages send, and of whom."""

from hosts.worker.consumer import build_ingest_pipeline
from service_core.kernel.clock import system_clock
from tests.fixtures.browser_deployment import IN_BROWSER
from tests.fixtures.tracked_site import (
    CHROME,
    CLOCK_OFFSET_SCRIPT,
    QUEUE_STUB,
    cookies_by_name,
    wait_for_script,
)

pytestmark = IN_BROWSER


async def test_page_view_contains_page_visit_and_screen_fields(tracked_site):
    path = "/shoes?utm_source=news&gclid=c1&lyr=tag&color=red#top"
    async with tracked_site.visited(path, locale="de-DE", screen={"width": 1200, "height": 800}) as page:
        (event,) = await tracked_site.named("page_view")
        kept = await cookies_by_name(page)
    sent = event["properties"]
    assert (sent["url"], sent["title"]) == (tracked_site.url(path.removesuffix("#top")), "Shop /shoes")
    assert (sent["utm_source"], sent["gclid"], sent["lyr"], "color" in sent) == ("news", "c1", "tag", False)
    assert "referrer" not in sent
    context = event["context"]
    assert (context["library"], context["locale"]) == ("touchpoint-web", "de-DE")
    assert context["screen"] == {"width": 1200, "height": 800}
    assert event["visitor_id"] == kept["tp_vid"]["value"]
    assert context["session_id"] == kept["tp_sid"]["value"].partition(".")[0]


async def test_tracked_events_appear_in_the_reports(tracked_site):
    path, agent = "/shoes?utm_source=News&utm_medium=email", CHROME
    async with tracked_site.visited(
        path, user_agent=agent, locale="de-DE", screen={"width": 1200, "height": 800}
    ) as page:
        await page.evaluate(
            "touchpoint.identify('u1'); touchpoint.track('purchase', { value: 9.5, currency: 'EUR' })"
        )
        await tracked_site.named("page_view", "$identify", "purchase")
    pipeline = build_ingest_pipeline(
        tracked_site.browser_deployment.service.ports, tracked_site.browser_deployment.service.settings
    )
    while await pipeline.process_batch():
        pass
    rows = {row["event_name"]: row for row in (await tracked_site.asked_for("/v1/events"))["events"]}
    viewed, bought = rows["page_view"], rows["purchase"]
    values = {
        "source": "web", "sdk_name": "touchpoint-web", "session_origin": "client", "attribution_source": "news",
        "channel": "email", "page_path": "/shoes", "browser": "Chrome", "device_type": "desktop", "language": "de-DE",
        "screen_width": 1200, "is_bot": False,
    }  # fmt: skip
    assert {name: viewed[name] for name in values} == values
    assert (bought["revenue"], bought["currency"], bought["attribution_source"]) == (9.5, "EUR", "news")
    seen = await tracked_site.asked_for("/v1/overview")
    assert (seen["visitors_total"], seen["sessions_total"], seen["pageviews_total"]) == (1, 1, 1)


async def test_visitor_and_session_persist_across_pages_for_the_specified_time(tracked_site):
    async with tracked_site.visited("/a") as page:
        await page.reload()
        await wait_for_script(page)
        first, second = await tracked_site.named("page_view", "page_view")
        kept, now = await cookies_by_name(page), system_clock().timestamp()
    assert first["visitor_id"] == second["visitor_id"]
    assert first["context"]["session_id"] == second["context"]["session_id"]
    assert first["event_id"] != second["event_id"]
    assert abs(kept["tp_vid"]["expires"] - now - 365 * 86400) < 3600
    assert abs(kept["tp_sid"]["expires"] - now - 30 * 60) < 600
    assert {each["sameSite"] for each in kept.values()} == {"Lax"}


async def test_session_ends_after_thirty_idle_minutes(tracked_site):
    async with tracked_site.visited("/", CLOCK_OFFSET_SCRIPT) as page:
        for minutes in (29, 58, 89):
            await page.evaluate(f"ahead = {minutes} * 60_000; touchpoint.track('at {minutes}')")
        found = await tracked_site.named("page_view", "at 29", "at 58", "at 89")
    sessions = [event["context"]["session_id"] for event in found]
    assert sessions[0] == sessions[1] == sessions[2] != sessions[3]
    assert len({event["visitor_id"] for event in found}) == 1


async def test_subdomains_of_a_site_share_a_visitor(tracked_site):
    async with tracked_site.visited("/", host="www.example.localhost") as page:
        await page.goto(tracked_site.url("/", "shop.example.localhost"))
        await wait_for_script(page)
        first, second = await tracked_site.named("page_view", "page_view")
        kept = await cookies_by_name(page)
    assert first["visitor_id"] == second["visitor_id"]
    assert kept.keys() == {"tp_vid", "tp_sid"}
    assert {each["domain"] for each in kept.values()} == {".example.localhost"}


async def test_single_page_navigation_sends_a_page_view(tracked_site):
    async with tracked_site.visited("/a?utm_source=x") as page:
        await page.evaluate("history.pushState({}, '', '/b'); document.title = 'B'")
        await page.evaluate("history.pushState({}, '', '/b#part'); history.replaceState({}, '', '/b#two')")
        await tracked_site.events(lambda found: len(found) == 2)
        await page.evaluate("history.go(-2)")
        first, second, third = await tracked_site.named("page_view", "page_view", "page_view")
    urls = [event["properties"]["url"] for event in (first, second, third)]
    assert urls == [
        tracked_site.url("/a?utm_source=x"),
        tracked_site.url("/b"),
        tracked_site.url("/a?utm_source=x"),
    ]
    assert [second["properties"][name] for name in ("title", "referrer")] == ["B", urls[0]]
    assert ("utm_source" in second["properties"], "utm_source" in third["properties"]) == (False, True)


async def test_calls_before_the_script_loads_are_queued(tracked_site):
    tracked_site.stub = (
        QUEUE_STUB + "<script>touchpoint.track('early', { size: 3 }); const { track } = touchpoint;</script>"
    )
    async with tracked_site.visited() as page:
        await page.evaluate("track('late')")
        found = await tracked_site.named("page_view", "early", "late")
    assert next(each for each in found if each["event"] == "early")["properties"]["size"] == 3


async def test_identify_and_group_send_fields_read_by_ingestion(tracked_site):
    async with tracked_site.visited() as page:
        await page.evaluate(
            "touchpoint.identify('u1', { email: 'a@example.com' }); touchpoint.identify({ name: 'Ann' });"
            "touchpoint.alias('u2', 'u1'); touchpoint.group('g1', { plan: 'pro' }); touchpoint.page({ url: 'app://x' })"
        )
        found = await tracked_site.named(
            "page_view", "$identify", "$identify", "$alias", "$group", "page_view"
        )
    known, named = (event for event in found if event["event"] == "$identify")
    assert (known["user_id"], known["properties"]["traits"]) == ("u1", {"email": "a@example.com"})
    assert ("user_id" in named, named["properties"]["traits"]) == (False, {"name": "Ann"})
    values = {event["event"]: event["properties"] for event in found}
    assert (values["$alias"]["user_id"], values["$alias"]["previous_id"]) == ("u2", "u1")
    assert (values["$group"]["group_id"], values["$group"]["traits"]) == ("g1", {"plan": "pro"})
    assert values["page_view"]["url"] == "app://x"


async def test_track_returns_the_event_id_sent_to_ad_platforms(tracked_site):
    async with tracked_site.visited() as page:
        bare, own, order = await page.evaluate(
            "[touchpoint.track('a'), touchpoint.track('b', {}, { event_id: 'e1' }), touchpoint.track('c', { order_id: 'o1' })]"
        )
        found = {event["event"]: event for event in await tracked_site.named("page_view", "a", "b", "c")}
    assert (found["a"]["event_id"], own, order) == (bare, "e1", "o1")


async def test_configured_ad_parameters_and_cookies_are_sent(tracked_site):
    tracked_site.attributes = 'data-tracked-params="partner, url" data-debug="true"'
    reported = []
    async with tracked_site.visitor() as context:
        await context.add_cookies([{"name": "_fbp", "value": "fb.1.2", "url": tracked_site.url()}])
        page = await context.new_page()
        page.on("console", lambda message: reported.append(message.text))
        await page.goto(tracked_site.url("/?partner=p1&url=x"))
        (event,) = await tracked_site.named("page_view")
    sent = event["properties"]
    assert (sent["partner"], sent["fbp"], sent["url"]) == (
        "p1",
        "fb.1.2",
        tracked_site.url("/?partner=p1&url=x"),
    )
    assert any(text.startswith("[touchpoint]") for text in reported)


async def test_script_included_twice_counts_once(tracked_site):
    tracked_site.body = f'<script src="{tracked_site.ingest}/t.js" data-workspace-id="{tracked_site.workspace.public_id}"></script>'
    async with tracked_site.visited() as page:
        await page.evaluate("touchpoint.track('x')")
        events = await tracked_site.named("page_view", "x")
    assert [event["event"] for event in events].count("page_view") == 1
