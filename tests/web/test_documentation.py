"""The documentation at its address: HTML, Markdown, the index for programs, and the search that leads there."""

import json
import re

import pytest

from hosts.client_address import ClientAddressResolver
from hosts.composition.compose import compose
from hosts.http.app import create_unprotected_quart_app
from hosts.web.documentation import create_documentation_blueprint
from service_core.access.api_keys import (
    create_named_key_clamping_rate_limit_to_plan,
    create_workspace_with_keys,
)
from service_core.api.http_messages import ApiRequest
from service_core.documentation.site import Documentation
from service_core.kernel.clock import system_clock
from service_core.kernel.settings import Settings


def compose_service(folder, **http):
    return compose(Settings.model_validate({"storage": {"events": "memory://"}, "http": http}), folder)


@pytest.fixture
def browser(tmp_path):
    service = compose_service(tmp_path)
    app = create_unprotected_quart_app(
        service.dispatch,
        ClientAddressResolver(),
        [create_documentation_blueprint(service.component(Documentation))],
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
    links = [link for link in re.findall('href="([^"]+)"', start) if not link.startswith(("data:", "#"))]
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
