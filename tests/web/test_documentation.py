"""The documentation at its address: HTML, Markdown, the index for programs, and the search that leads there."""

import json
import re
from html import unescape
from urllib.parse import quote, urlencode, urlsplit

import pytest
from markupsafe import escape

from hosts.client_address import ClientAddressResolver
from hosts.composition.compose import compose
from hosts.http.app import create_unprotected_quart_app
from hosts.web.documentation import create_documentation_blueprint, create_llms_txt_blueprint
from service_core.access.api_keys import (
    create_named_key_clamping_rate_limit_to_plan,
    create_workspace_with_keys,
)
from service_core.api.http_messages import ApiRequest
from service_core.documentation.site import Documentation
from service_core.kernel.clock import system_clock
from service_core.kernel.settings import Settings
from tests.fixtures.accessibility import find_accessibility_faults
from tests.fixtures.browser_deployment import CHROMIUM
from tests.fixtures.xss_payloads import PAYLOADS


def compose_service(folder, **http):
    return compose(Settings.model_validate({"storage": {"events": "memory://"}, "http": http}), folder)


@pytest.fixture
def browser(tmp_path):
    service = compose_service(tmp_path)
    app = create_unprotected_quart_app(
        service.dispatch,
        ClientAddressResolver(),
        [
            create_documentation_blueprint(service.component(Documentation), "https://app.example.com/app"),
            create_llms_txt_blueprint(service.component(Documentation)),
        ],
    )
    return app.test_client()


async def fetch_page_text(browser, path, kind):
    answer = await browser.get(path)
    assert answer.status_code == 200, path
    assert answer.mimetype == kind
    assert "script-src 'self'" in answer.headers["Content-Security-Policy"]
    return await answer.get_data(as_text=True)


async def test_page_is_read_as_html_and_as_markdown_by_its_suffix(browser):
    shown = await fetch_page_text(browser, "/docs/consumers/writes", "text/html")
    assert re.search('<h1 id="[a-z-]+">Writes, dry runs and undo', shown)
    assert 'href="../style.css"' in shown
    written = await fetch_page_text(browser, "/docs/consumers/writes.md", "text/markdown")
    assert written.startswith("# Writes, dry runs and undo")


async def test_links_between_pages_lead_to_pages(browser):
    start = await fetch_page_text(browser, "/docs/", "text/html")
    links = [
        link
        for link in re.findall('href="([^"]+)"', start)
        if not link.startswith(("data:", "#", "https://app.example.com/"))
    ]
    assert "consumers/quickstart" in links
    for link in links:
        answer = await browser.get("/docs/" + link.removeprefix("./"))
        assert answer.status_code == 200, link
    assert (await browser.get("/docs")).headers["Location"] == "docs/"


async def test_long_page_lists_its_sections_and_each_entry_leads_to_one(browser):
    shown = await fetch_page_text(browser, "/docs/reference/operations", "text/html")
    contents = shown.partition('<nav class="contents"')[2].partition("</nav>")[0]
    entries = re.findall('href="#([^"]+)">([^<]+)', contents)
    assert len(entries) > 10
    for anchor, title in entries:
        assert re.search(f'<h2 id="{anchor}">(<code>)?{title}', shown)


async def test_llms_txt_and_full_text_are_served(browser):
    index = await fetch_page_text(browser, "/docs/llms.txt", "text/plain")
    addresses = re.findall(r"\]\(http://127\.0\.0\.1:8080(/docs/[^)]+\.md)\)", index)
    assert len(addresses) > 20
    assert await fetch_page_text(browser, "/llms.txt", "text/plain") == index
    whole = await fetch_page_text(browser, "/docs/llms-full.txt", "text/plain")
    for address in addresses[:5]:
        assert (await fetch_page_text(browser, address, "text/markdown")).strip() in whole


@pytest.mark.parametrize(
    "path", ["/docs/nothing", "/docs/../pyproject.toml", "/docs/changelog.d/x.md", "/docs/x.html"]
)
async def test_unknown_page_is_not_found(browser, path):
    assert (await browser.get(path)).status_code in {401, 404}


class DocumentationSearch:
    """Whoever holds a key."""

    def __init__(self, service, key):
        self.service, self.key = service, key

    async def ask(self, query):
        request = ApiRequest("GET", "/v1/docs/search", query, {"authorization": f"Bearer {self.key}"})
        response = await self.service.dispatch(request)
        return response.status, json.loads(response.body)


@pytest.fixture
async def documentation_search(tmp_path):
    service = compose_service(tmp_path, docs_url="https://docs.example.com/")
    async with service:
        store, now = service.ports.workspace, system_clock()
        initialized_deployment = await create_workspace_with_keys(store.credentials, now, name="shop")
        minted = await create_named_key_clamping_rate_limit_to_plan(
            store.credentials,
            initialized_deployment.workspace,
            now,
            name="Reader",
            requested_rate_limit=10_000,
        )
        yield DocumentationSearch(service, minted.secret)


async def test_search_returns_sections_with_link_and_excerpt(documentation_search):
    status, answer = await documentation_search.ask("q=idempotency%20key&limit=3")
    assert status == 200
    assert (answer["query"], answer["count"]) == ("idempotency key", len(answer["results"]))
    assert 1 <= answer["count"] <= 3
    for result in answer["results"]:
        assert set(result) == {"title", "section", "url", "excerpt", "score"}
        assert re.fullmatch(r"https://docs\.example\.com/[a-z0-9/-]+#[\w-]+", result["url"])
    scores = [result["score"] for result in answer["results"]]
    assert scores == sorted(scores, reverse=True)


@pytest.mark.parametrize(
    ("words", "section"),
    [
        ("undo a change", "consumers/writes#writes-dry-runs-and-undo"),
        ("approval of changes", "consumers/writes#writes-that-need-a-plan-or-a-person"),
        ("attribution window", "consumers/query-api#attribution"),
        ("webhook", "consumers/reports#webhooks"),
    ],
)
async def test_search_prefers_the_pages_of_users_to_those_of_operators(documentation_search, words, section):
    _, answer = await documentation_search.ask(f"q={quote(words)}")
    assert answer["results"][0]["url"] == f"https://docs.example.com/{section}"


async def test_search_finds_an_endpoint_by_its_description(documentation_search):
    _, answer = await documentation_search.ask("q=conversion+rule+pixel")
    assert any("/v1/rules" in result["section"] or "rules" in result["url"] for result in answer["results"])


@pytest.mark.parametrize(("query", "count"), [("q=key", 5), ("q=key&limit=1000", 20), ("q=key&limit=0", 1)])
async def test_number_of_sections_is_clamped(documentation_search, query, count):
    assert (await documentation_search.ask(query))[1]["count"] == count


@pytest.mark.parametrize("query", ["", "q=", "q=%20%20"])
async def test_blank_search_is_refused(documentation_search, query):
    assert await documentation_search.ask(query) == (
        400,
        {"error": "q is required", "code": "missing_query", "field": "q"},
    )


@pytest.mark.parametrize("name", ["packages", "event-flow", "query-flow"])
async def test_picture_is_served_with_its_style_policy(browser, name):
    answer = await browser.get(f"/docs/reference/{name}.svg")
    assert (answer.status_code, answer.mimetype) == (200, "image/svg+xml")
    assert (
        answer.headers["Content-Security-Policy"] == "default-src 'none'; style-src 'unsafe-inline'; sandbox"
    )
    assert (await answer.get_data(as_text=True)).startswith("<svg ")


def links_inside(html, opening):
    """Text and target of the links in the element that the text opens, up to the end of its ``nav`` or ``main``."""
    part = re.split("</nav>|</main>", html.partition(opening)[2])[0]
    return [
        (target, unescape(re.sub("<[^>]+>", "", text)).strip())
        for target, text in re.findall('<a [^>]*?href="([^"]*)"[^>]*>(.*?)</a>', part, re.DOTALL)
    ]


async def test_search_page_leads_to_the_sections_that_hold_the_words(browser):
    page = await fetch_page_text(browser, "/docs/search?q=idempotency+key", "text/html")
    found = links_inside(page, '<ol class="results">')
    assert len(found) > 3
    for target, title in found[:5]:
        path, _, anchor = target.partition("#")
        shown = await fetch_page_text(browser, f"/docs/{path.removeprefix('./')}", "text/html")
        assert f'id="{anchor}"' in shown, title
    assert 'value="idempotency key"' in page


async def test_search_page_says_when_nothing_is_found_or_asked(browser):
    assert "No results." in await fetch_page_text(browser, "/docs/search?q=zzzqqq", "text/html")
    assert "Try “refund”" in await fetch_page_text(browser, "/docs/search?q=+", "text/html")


@pytest.mark.parametrize("payload", PAYLOADS[:20])
async def test_search_page_shows_the_query_as_text(browser, payload):
    page = await fetch_page_text(browser, f"/docs/search?{urlencode({'q': payload})}", "text/html")
    clipped = payload[:200].strip()
    assert str(escape(clipped)) in page
    assert clipped == str(escape(clipped)) or clipped not in page


async def test_tree_lists_every_page_and_marks_the_current_one(browser):
    page = await fetch_page_text(browser, "/docs/consumers/writes", "text/html")
    tree = links_inside(page, '<nav class="tree"')
    paths = {target.removeprefix("../") for target, _ in tree}
    assert paths == {
        path.removesuffix("index") if path == "index" else path for path in Documentation("").pages
    }
    assert re.findall('href="([^"]*)" aria-current="page"', page) == ["../consumers/writes"]
    assert page.count("<details open>") == 1


async def test_next_links_lead_through_all_pages_and_previous_links_back(browser):
    documentation = Documentation("")
    page, seen = documentation.pages["index"], []
    while page is not None:
        seen.append(page.path)
        neighbours = documentation.neighbours_in_reading_order(page)
        if neighbours.next is not None:
            assert documentation.neighbours_in_reading_order(neighbours.next).previous is page
        page = neighbours.next
    assert sorted(seen) == sorted(documentation.pages)
    shown = await fetch_page_text(browser, f"/docs/{seen[1]}", "text/html")
    up = "../" * seen[1].count("/")
    pair = [target for target, _ in links_inside(shown, '<nav class="neighbours"')]
    assert pair == [f"{up}{seen[0]}", f"{up}{seen[2]}"]


async def test_unknown_page_says_so_in_html_with_search_and_tree(browser):
    answer = await browser.get("/docs/consumers/nothing")
    page = await answer.get_data(as_text=True)
    assert (answer.status_code, answer.mimetype) == (404, "text/html")
    assert "<h1>Page not found</h1>" in page
    assert 'action="../search"' in page
    assert '<nav class="tree"' in page


async def test_pages_lead_back_to_the_application(browser):
    for path in ("/docs/", "/docs/search", "/docs/consumers/writes"):
        page = await fetch_page_text(browser, path, "text/html")
        assert '<a href="https://app.example.com/app">Back to the app</a>' in page


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium: install it or name it in CHROMIUM")
async def test_code_is_copied_by_its_button_and_pages_fit_a_phone(browser):
    from playwright.async_api import async_playwright  # noqa: PLC0415 - its driver starts a process

    async def answer_from_application(route):
        given = await browser.get(urlsplit(route.request.url)._replace(scheme="", netloc="").geturl())
        await route.fulfill(
            status=given.status_code, headers=dict(given.headers), body=await given.get_data()
        )

    async with async_playwright() as playwright:
        chromium = await playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        context = await chromium.new_context(viewport={"width": 390, "height": 800}, color_scheme="dark")
        await context.grant_permissions(["clipboard-read", "clipboard-write"])
        page, faults = await context.new_page(), []
        page.on("console", lambda values: "Content Security" in values.text and faults.append(values.text))
        await page.route("**/*", answer_from_application)
        for path in ("/docs/consumers/share-links", "/docs/search?q=key", "/docs/none"):
            await page.goto(f"http://localhost{path}")
            assert await page.evaluate("document.documentElement.scrollWidth") <= 390, path
            assert await find_accessibility_faults(page) == [], path
        await page.goto("http://localhost/docs/consumers/share-links")
        await page.locator("pre + button").first.click()
        await page.locator("button", has_text="Copied").wait_for()
        copied = await page.evaluate("navigator.clipboard.readText()")
        shown = (await page.locator("pre > code").first.text_content()).rstrip()
        assert shown.startswith("$ curl")
        assert copied == shown.removeprefix("$ ")
        assert faults == []
        await chromium.close()
