"""Public pages in a real browser: texts of strangers stay text, and everything can be reached without a mouse."""

from urllib.parse import urlencode

import pytest

from service_core.access.api_keys import create_named_key_clamping_rate_limit_to_plan
from service_core.access.members.models import Member
from service_core.access.roles import Role
from service_core.analytics.query.parse_filters import MAX_FILTERS
from service_core.kernel.clock import system_clock
from tests.fixtures.accessibility import find_accessibility_faults
from tests.fixtures.browser_deployment import IN_BROWSER, WATCH
from tests.fixtures.xss_payloads import LONG_NAMES, PAYLOADS

pytestmark = IN_BROWSER

QUESTIONS = {
    "page_path": "pageviews",
    "event_name": "events",
    "utm_source": "visitors",
    "utm_campaign": "visitors",
    "browser": "visitors",
    "landing_page": "visitors",
}


async def open_public_page(browser_deployment, kind, object_id):
    link = await browser_deployment.gallery.share(kind, object_id, show_workspace_name=True)
    return f"{browser_deployment.root}{link['path']}"


@pytest.mark.parametrize(("dimension", "metric"), QUESTIONS.items())
async def test_event_texts_are_escaped_on_public_pages(browser_deployment, dimension, metric):
    plan = {"metrics": [metric], "dimensions": [dimension], "limit": 1000}
    report = await browser_deployment.gallery.report(f"By {dimension}", source="query", plan=plan)
    address = await open_public_page(browser_deployment, "report", report)
    async with browser_deployment.watched_pages() as assert_page_shows:
        await assert_page_shows(address, PAYLOADS)


async def test_names_of_saved_objects_are_escaped(browser_deployment):
    gallery = browser_deployment.gallery
    drawn = {"source": "catalog", "metric_id": "visitors", "chart": "line"}
    names = ["".join(pair)[:120] for pair in zip(PAYLOADS[::2], PAYLOADS[1::2], strict=False)]
    async with browser_deployment.watched_pages() as assert_page_shows:
        for start in range(0, len(names), 20):
            some = names[start : start + 20]
            cards = [await gallery.report(name, **drawn) for name in some]
            title = PAYLOADS[start][:120]
            await assert_page_shows(
                await open_public_page(
                    browser_deployment, "dashboard", await gallery.dashboard(cards, title)
                ),
                [title, *some],
            )
    await browser_deployment.store.members.save_member_unless_no_owner_left(
        Member(gallery.workspace.id, browser_deployment.eve.id, Role.MEMBER, system_clock()), system_clock()
    )
    async with browser_deployment.watched_pages(browser_deployment.eve) as assert_page_shows:
        for section in ("audit", "shared"):
            await assert_page_shows(
                f"{browser_deployment.app}/w/{gallery.workspace.public_id}/{section}", [title]
            )


async def test_hostile_markdown_executes_nothing(browser_deployment):
    gallery = browser_deployment.gallery
    report = await gallery.report(PAYLOADS[0])
    forms = [
        *PAYLOADS,
        *(f"[{'x' * 3}]({url})" for url in LEADING),
        *(f"![x]({url})" for url in LEADING),
        *(f"<{url}>" for url in LEADING),
        *(f"[ref{index}]: {url}\n\n[a][ref{index}]" for index, url in enumerate(LEADING)),
        "```\n<script>alert(1)</script>\n```",
        "`<img src=x onerror=alert(1)>`",
        "# <script>alert(1)</script>",
        "| <script>alert(1)</script> |\n|---|\n| <img src=x onerror=alert(1)> |",
    ]
    body = "\n\n".join(forms) + f"\n\n::report[{report}]\n"
    address = await open_public_page(
        browser_deployment, "analysis", await gallery.analysis(body, [report], PAYLOADS[1])
    )
    async with browser_deployment.watched_pages() as assert_page_shows:
        await assert_page_shows(address, [PAYLOADS[0], PAYLOADS[1]])
    async with browser_deployment.page() as page:
        await page.goto(address)
        led = await page.evaluate("[...document.querySelectorAll('main a[href]')].map((one) => one.protocol)")
        loaded = (
            "document.querySelectorAll('main img, main iframe, main script, main style, main [style]').length"
        )
        assert await page.evaluate(loaded) == 0
    assert set(led) <= {"http:", "https:", "mailto:"}


LEADING = (
    "javascript:alert(1)", "JaVaScRiPt:alert(1)", "java&#x0A;script:alert(1)", "&#106;avascript:alert(1)",
    "vbscript:msgbox(1)", "data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==",
    "data:image/svg+xml,<svg onload=alert(1)>", "//evil.example/x", "https://evil.example/x.png",
    "file:///etc/passwd", "blob:x", "\\u0001javascript:alert(1)",
)  # fmt: skip


async def test_public_pages_do_not_scroll_sideways_on_a_phone(browser_deployment):
    gallery = browser_deployment.gallery
    plans = [
        {"metrics": ["visitors"], "dimensions": ["page_path"]},
        {"metrics": ["visitors", "sessions", "events", "pageviews"], "dimensions": ["page_path", "browser"]},
        {"metrics": ["visitors"], "dimensions": ["utm_source"], "interval": "day"},
    ]
    cards = [
        await gallery.report(name[:120], source="query", plan=plan)
        for name, plan in zip(LONG_NAMES, plans, strict=False)
    ]
    steps = [LONG_NAMES[0], LONG_NAMES[3]]
    cards.append(await gallery.report("Funnel", source="query", steps=steps))
    row = "|".join(["wide"] * 30)
    body = "\n\n".join(
        [*LONG_NAMES, f"    {LONG_NAMES[0]}", f"`{LONG_NAMES[1]}`", f"|{row}|\n|{'-|' * 30}\n|{row}|"]
    )
    addresses = [
        await open_public_page(
            browser_deployment, "dashboard", await gallery.dashboard(cards, LONG_NAMES[0][:120])
        ),
        await open_public_page(
            browser_deployment, "analysis", await gallery.analysis(body, (), LONG_NAMES[1])
        ),
    ]
    async with browser_deployment.page(viewport={"width": 390, "height": 800}) as page:
        for address in addresses:
            await page.goto(address)
            await page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
            assert await page.evaluate("document.documentElement.scrollWidth") <= 390, address


async def test_chart_values_are_keyboard_accessible_and_charts_have_labels(browser_deployment):
    dashboard = f"{browser_deployment.root}{browser_deployment.shared[0]['path']}"
    async with browser_deployment.page() as page:
        await page.goto(dashboard)
        pictures = "[...document.querySelectorAll('svg:not([aria-hidden=true]):not(svg svg)')].filter((one) => one.role !== 'img' || !one.ariaLabel).length"
        assert await page.evaluate(pictures) == 0
        for _ in range(30):
            await page.keyboard.press("Tab")
            if await page.evaluate("document.activeElement.tagName") == "SUMMARY":
                break
        await page.keyboard.press("Enter")
        assert await page.evaluate("document.activeElement.parentElement.open")
        outline = await page.evaluate("parseFloat(getComputedStyle(document.activeElement).outlineWidth)")
        assert outline >= 2


async def test_chart_shows_the_value_under_the_pointer(browser_deployment):
    report = f"{browser_deployment.root}{browser_deployment.shared[2]['path']}"
    async with browser_deployment.page() as page:
        await page.goto(report)
        stop = page.locator(".stop").nth(3)
        await stop.locator(".hit").hover()
        shown = await stop.locator(".tip").evaluate(
            "(tip) => [getComputedStyle(tip).opacity, tip.textContent]"
        )
        assert shown[0] == "1"
        assert " · " in shown[1]


async def test_public_page_cannot_be_framed_and_sets_no_cookie(browser_deployment):
    address = f"{browser_deployment.root}{browser_deployment.shared[0]['path']}"
    async with browser_deployment.page(signed_in=False) as page:
        answer = await page.goto(address)
        assert answer.status == 200
        assert await page.context.cookies() == []
        assert answer.headers["x-frame-options"] == "DENY"


async def test_event_texts_are_escaped_on_the_overview(browser_deployment):
    address = f"{browser_deployment.app}/w/{browser_deployment.gallery.workspace.public_id}"
    async with browser_deployment.watched_pages(
        await browser_deployment.add_gallery_viewer()
    ) as assert_page_shows:
        for query in ("range=today", "range=last_7_days", "by=browser", "metric=pageviews&pages=entry"):
            await assert_page_shows(f"{address}?{query}", ["Visitors", "Channels", "Countries"])


async def test_every_value_of_a_filter_is_escaped(browser_deployment):
    address = f"{browser_deployment.app}/w/{browser_deployment.gallery.workspace.public_id}"
    async with browser_deployment.watched_pages(
        await browser_deployment.add_gallery_viewer()
    ) as assert_page_shows:
        for start in range(0, len(PAYLOADS), MAX_FILTERS):
            some = PAYLOADS[start : start + MAX_FILTERS]
            chosen = urlencode([("f", f"page_path:contains:{payload}") for payload in some])
            await assert_page_shows(f"{address}?{chosen}", [f"Page contains {payload}" for payload in some])


async def test_event_texts_are_escaped_in_details_and_realtime(browser_deployment):
    address = f"{browser_deployment.app}/w/{browser_deployment.gallery.workspace.public_id}"
    async with browser_deployment.watched_pages(
        await browser_deployment.add_gallery_viewer()
    ) as assert_page_shows:
        for dimension in ("page_path", "landing_page", "utm_campaign", "browser", "event_name"):
            for payload in PAYLOADS[:3]:
                # The table with its columns stands there only when the payload was found.
                await assert_page_shows(
                    f"{address}/details/{dimension}?{urlencode({'q': payload})}", [payload, "Visitors"]
                )
        await assert_page_shows(f"{address}/realtime", ["Realtime"])


async def test_key_in_the_url_fragment_opens_the_overview_and_is_removed(browser_deployment):
    now = system_clock()
    key = await create_named_key_clamping_rate_limit_to_plan(
        browser_deployment.store.credentials,
        browser_deployment.gallery.workspace,
        now,
        name="Reader",
        requested_rate_limit=100,
    )
    async with browser_deployment.page(signed_in=False) as page:
        await page.add_init_script(WATCH)
        await page.goto(f"{browser_deployment.app}/#key={key.secret}&range=last_7_days")
        await page.wait_for_selector("figure.plot svg")
        assert key.secret not in page.url
        chosen = page.locator(".range-bar summary").first
        assert (await chosen.inner_text()).endswith("Last 7 days")
        await chosen.click()
        await page.click("text=Last 90 days")
        await page.wait_for_selector(".range-bar summary:has-text('Last 90 days')")
        assert (await page.evaluate("document.activeElement.innerText")).endswith("Last 90 days")
        await page.click(".tile a:has-text('Sessions')")
        await page.wait_for_selector("h2:has-text('Sessions')")
        assert await page.evaluate("document.activeElement.innerText") == "Sessions"
        assert await page.evaluate("[window.seen, window.owned]") == [[], None]


async def test_front_page_is_readable_on_a_phone_and_without_images(browser_deployment):
    key = await create_named_key_clamping_rate_limit_to_plan(
        browser_deployment.store.credentials,
        browser_deployment.gallery.workspace,
        system_clock(),
        name="Phone",
        requested_rate_limit=100,
    )
    small = {"viewport": {"width": 375, "height": 800}, "color_scheme": "dark"}
    async with browser_deployment.page(signed_in=False, **small) as page:
        await page.goto(f"{browser_deployment.app}/#key={key.secret}")
        await page.wait_for_selector(".board")
        await page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        assert await page.evaluate("document.documentElement.scrollWidth") <= 375
        assert await find_accessibility_faults(page) == []
        assert await page.locator(".plot").count() == 1
        assert await page.locator(".lg .numbers tbody tr").count() > 0
