"""The documentation for people and programs, under ``/docs``: HTML, Markdown and the index files."""

from collections.abc import Iterator
from functools import lru_cache
from importlib.resources import files
from typing import Any, Final
from urllib.parse import urlsplit

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup
from quart import Blueprint, Response, render_template, request

from hosts.web.page_security import HEADERS
from service_core.documentation.pages import INDEX, Page, unique_heading_anchors
from service_core.documentation.site import Documentation

_MARKDOWN: Final = MarkdownIt("commonmark", {"html": False}).enable("table")
_SUFFIX: Final = ".md"
_ASSETS: Final = {
    "style.css": "text/css",
    "docs.css": "text/css",
    "copy_code.js": "text/javascript",
    "favicon.svg": "image/svg+xml",
}
"""Files that the pages load, and their media types."""
_MAX_QUERY_LENGTH: Final = 200
_MAX_RESULTS: Final = 20
_NO_CACHE_HEADERS: Final = HEADERS | {"Cache-Control": "no-cache"}

_PICTURE_HEADERS: Final = _NO_CACHE_HEADERS | {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox"
}
"""A picture has its colours in a style element; it loads and runs nothing."""


def create_llms_txt_blueprint(documentation: Documentation) -> Blueprint:
    """The blueprint of ``/llms.txt`` at the root of the host, where programs look for it first."""
    blueprint = Blueprint("llms_txt", __name__)

    @blueprint.get("/llms.txt")
    async def send_llms_txt() -> Response:
        return _text_response(documentation.llms_txt(), "text/plain")

    return blueprint


def create_documentation_blueprint(documentation: Documentation, app_url: str) -> Blueprint:
    """The blueprint of the documentation; its links are relative, so a proxy may serve it anywhere.

    Args:
        documentation: the pages.
        app_url: URL of the web application, which the pages link back to.
    """
    blueprint = Blueprint("documentation", __name__, url_prefix="/docs", template_folder="templates")
    assets = {name: (files("hosts.web") / "static" / name).read_bytes() for name in _ASSETS}
    view = _DocumentationView(documentation, app_url)

    @blueprint.get("")
    async def redirect_to_index() -> Response:
        return Response("", 302, {**_NO_CACHE_HEADERS, "Location": "docs/"})

    @blueprint.get("/")
    async def show_index() -> Response:
        return await view.page_response(documentation.pages[INDEX])

    @blueprint.get("/search")
    async def show_search_results() -> Response:
        return await view.search_response(request.args.get("q", "")[:_MAX_QUERY_LENGTH].strip())

    @blueprint.get("/llms.txt")
    async def send_llms_txt() -> Response:
        return _text_response(documentation.llms_txt(), "text/plain")

    @blueprint.get("/llms-full.txt")
    async def send_llms_full_txt() -> Response:
        return _text_response(documentation.llms_full_txt(), "text/plain")

    @blueprint.get("/<path:path>")
    async def show_page_or_asset(path: str) -> Response:
        if path in assets:
            return _text_response(assets[path], _ASSETS[path])
        if path in documentation.pictures:
            return Response(documentation.pictures[path], 200, _PICTURE_HEADERS, mimetype="image/svg+xml")
        document = documentation.pages.get(path.removesuffix(_SUFFIX))
        if document is None:
            return await view.not_found_response(path)
        return (
            _text_response(document.text, "text/markdown")
            if path.endswith(_SUFFIX)
            else await view.page_response(document)
        )

    return blueprint


class _DocumentationView:
    """Renders pages of the documentation with the tree of all pages beside them."""

    def __init__(self, documentation: Documentation, app_url: str) -> None:
        self._documentation = documentation
        self._app_url = app_url

    async def page_response(self, page: Page) -> Response:
        """Returns a page with links to the page before and the page after it."""
        body, sections = _cached_html_and_section_anchors(page)
        return await self._render_with_relative_links(
            "documentation.html",
            page.path,
            page=page,
            body=body,
            sections=sections,
            neighbours=self._documentation.neighbours_in_reading_order(page),
        )

    async def search_response(self, query: str) -> Response:
        """Returns the sections that match a query, the best first; the form alone without a query."""
        index = self._documentation.search_index
        matches = index.search_all_words_else_any(query, _MAX_RESULTS) if query else []
        return await self._render_with_relative_links(
            "documentation_search.html", "search", query=query, matches=matches
        )

    async def not_found_response(self, path: str) -> Response:
        """Returns the page of an address without a page, with the search."""
        return await self._render_with_relative_links("documentation_not_found.html", path, 404)

    async def _render_with_relative_links(
        self, template: str, path: str, status: int = 200, **values: Any
    ) -> Response:
        """Renders a template; its links are relative to the path."""
        html = await render_template(
            template,
            up="../" * path.count("/"),
            folders=self._documentation.folders,
            app_url=self._app_url,
            **values,
        )
        return Response(html, status, _NO_CACHE_HEADERS, mimetype="text/html")


def _text_response(text: str | bytes, kind: str) -> Response:
    return Response(text, 200, _NO_CACHE_HEADERS, mimetype=kind)


@lru_cache(maxsize=256)
def _cached_html_and_section_anchors(page: Page) -> tuple[Markup, tuple[tuple[str, str], ...]]:
    """The page as HTML, and anchor and title of its sections.

    Its headings can be linked to, and its links lead to other such pages.
    """
    tokens = _MARKDOWN.parse(page.text)
    sections = tuple(_add_anchors_and_yield_second_level(tokens))
    for token in _link_tokens(tokens):
        token.attrs["href"] = _drop_suffix_of_relative_link(str(token.attrs["href"]))
    written = _MARKDOWN.renderer.render(tokens, _MARKDOWN.options, {})
    # The pages are the project's own, and HTML in them is shown as text.
    return Markup(written), sections  # noqa: S704


def _add_anchors_and_yield_second_level(tokens: list[Token]) -> Iterator[tuple[str, str]]:
    """Give every heading its anchor; anchors and titles of those of the second level."""
    opened = [
        (token, tokens[place + 1].content)
        for place, token in enumerate(tokens)
        if token.type == "heading_open" and token.tag in {"h1", "h2", "h3"}
    ]
    for (token, text), anchor in zip(opened, unique_heading_anchors(text for _, text in opened), strict=True):
        token.attrs["id"] = anchor
        if token.tag == "h2":
            yield anchor, text.replace("`", "")


def _link_tokens(tokens: list[Token]) -> Iterator[Token]:
    for token in tokens:
        for inside in token.children or ():
            if inside.type == "link_open":
                yield inside


def _drop_suffix_of_relative_link(address: str) -> str:
    parts = urlsplit(address)
    if parts.scheme or not parts.path.endswith(_SUFFIX):
        return address
    return parts._replace(path=parts.path.removesuffix(_SUFFIX)).geturl()
