"""The documentation for people and programs, under ``/docs``: HTML, Markdown and the index files."""

from collections.abc import Iterator
from functools import lru_cache
from importlib.resources import files
from typing import Final
from urllib.parse import urlsplit

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup
from quart import Blueprint, Response, render_template

from hosts.web.page_security import HEADERS
from service_core.documentation.pages import INDEX, Page, unique_heading_anchors
from service_core.documentation.site import Documentation

_MARKDOWN: Final = MarkdownIt("commonmark", {"html": False}).enable("table")
_SUFFIX: Final = ".md"
_STYLE: Final = "style.css"
_FAVICON: Final = "favicon.svg"
_NO_CACHE_HEADERS: Final = HEADERS | {"Cache-Control": "no-cache"}

_PICTURE_HEADERS: Final = _NO_CACHE_HEADERS | {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox"
}
"""A picture has its colours in a style element; it loads and runs nothing."""


def create_documentation_blueprint(documentation: Documentation) -> Blueprint:
    """The blueprint of the documentation; its links are relative, so a proxy may serve it anywhere.

    Args:
        documentation: the pages.
    """
    blueprint = Blueprint("handbook", __name__, url_prefix="/docs", template_folder="templates")
    style, favicon = ((files("hosts.web") / "static" / name).read_bytes() for name in (_STYLE, _FAVICON))

    @blueprint.get("")
    async def redirect_to_index() -> Response:
        return Response("", 302, {**_NO_CACHE_HEADERS, "Location": "docs/"})

    @blueprint.get("/")
    async def show_index() -> Response:
        return await _page_response(documentation.pages[INDEX])

    @blueprint.get(f"/{_STYLE}")
    async def send_stylesheet() -> Response:
        return _text_response(style, "text/css")

    @blueprint.get(f"/{_FAVICON}")
    async def send_favicon() -> Response:
        return _text_response(favicon, "image/svg+xml")

    @blueprint.get("/llms.txt")
    async def send_llms_txt() -> Response:
        return _text_response(documentation.llms_txt(), "text/plain")

    @blueprint.get("/llms-full.txt")
    async def send_llms_full_txt() -> Response:
        return _text_response(documentation.llms_full_txt(), "text/plain")

    @blueprint.get("/<path:path>")
    async def show_page_or_picture(path: str) -> Response:
        if path in documentation.pictures:
            return Response(documentation.pictures[path], 200, _PICTURE_HEADERS, mimetype="image/svg+xml")
        document = documentation.pages.get(path.removesuffix(_SUFFIX))
        if document is None:
            return Response("Not found", 404, _NO_CACHE_HEADERS, mimetype="text/plain")
        return (
            _text_response(document.text, "text/markdown")
            if path.endswith(_SUFFIX)
            else await _page_response(document)
        )

    return blueprint


def _text_response(text: str | bytes, kind: str) -> Response:
    return Response(text, 200, _NO_CACHE_HEADERS, mimetype=kind)


async def _page_response(page: Page) -> Response:
    up = "../" * page.path.count("/")
    body, sections = _cached_html_and_section_anchors(page)
    shown = await render_template("documentation.html", page=page, up=up, body=body, sections=sections)
    return Response(shown, 200, _NO_CACHE_HEADERS, mimetype="text/html")


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
