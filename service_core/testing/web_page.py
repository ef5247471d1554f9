"""The conformance kit of pages: override the fixture ``page`` and inherit the tests.

::

    class TestMyPage(PageConformance):
        @pytest.fixture
        def page(self):
            return MY_PAGE
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from service_core.extensions.pages import PageAnswer, PageRequest, WebPage

_STATIC_TYPES: Final = frozenset({".css", ".js", ".svg"})
_FORBIDDEN_BY_POLICY: Final = {
    "a script inside the page": re.compile(r"<script(?![^>]*\bsrc=)", re.IGNORECASE),
    "a style inside the page": re.compile(r"<style\b|\sstyle\s*=", re.IGNORECASE),
    "an event attribute": re.compile(r"<[a-z][^>]*\son[a-z]+\s*=", re.IGNORECASE),
    "a file of another host": re.compile(
        r"<(?:script|link|img|iframe|source|video|audio|object|embed|form)\b[^>]*"
        r"\b(?:src|srcset|href|data|action)\s*=\s*[\"']?(?:https?:)?//",
        re.IGNORECASE,
    ),
    "an address that is a script": re.compile(r"=\s*[\"']?\s*javascript:", re.IGNORECASE),
}
_OTHER_HOST_IN_STATIC_FILE: Final = re.compile(
    r"(?:@import\s+[\"']|url\([\"']?|(?:fetch|import)\(\s*[\"'`])(?:https?:)?//", re.IGNORECASE
)
_UNESCAPED: Final = re.compile(r"\|\s*safe\b|autoescape\s+false")


class UnavailableApi:
    """A `PageApi` whose reads have no answer; it remembers them."""

    def __init__(self) -> None:
        self.paths: list[str] = []

    async def get(self, path: str, **parameters: str) -> PageAnswer:  # noqa: ARG002 - as in the port
        """Returns no answer."""
        self.paths.append(path)
        return PageAnswer({}, "This cannot be read now. Try again in a minute.")

    async def query(self, body: Mapping[str, Any]) -> PageAnswer:  # noqa: ARG002 - as in the port
        """Returns no answer."""
        return await self.get("/query")


class PageConformance:
    """All tests of the kit; override the fixture ``page``."""

    @pytest.fixture
    def page(self) -> WebPage:
        """Returns the page under test."""
        raise pytest.UsageError("override the fixture `page` with the page under test")

    async def test_page_is_shown_while_nothing_can_be_read(self, page: WebPage) -> None:
        """A read without an answer is told on the page; it is no exception."""
        assert isinstance(await page.load(PageRequest(UnavailableApi(), {})), Mapping)

    async def test_page_takes_any_query_parameter(self, page: WebPage) -> None:
        """Parameters of the address are typed by anybody: a wrong one is no exception."""
        parameters = dict.fromkeys(("from", "to", "id", "page", "limit"), "'\"<script>\0")
        assert isinstance(await page.load(PageRequest(UnavailableApi(), parameters)), Mapping)

    async def test_paths_of_reads_begin_with_a_slash(self, page: WebPage) -> None:
        """Paths are below ``/v1`` and begin with a slash."""
        api = UnavailableApi()
        await page.load(PageRequest(api, {}))
        assert [path for path in api.paths if not path.startswith("/")] == []

    def test_template_extends_the_layout_of_a_workspace(self, page: WebPage) -> None:
        """The page has the menu and the heading of all pages."""
        assert '{% extends "workspace_layout.html" %}' in (page.template_folder / page.template).read_text()

    @pytest.mark.parametrize("kind", _FORBIDDEN_BY_POLICY)
    def test_templates_have_nothing_that_the_content_security_policy_blocks(
        self, page: WebPage, kind: str
    ) -> None:
        """Scripts and styles are files of the page; nothing is loaded from another host."""
        pattern = _FORBIDDEN_BY_POLICY[kind]
        assert [file.name for file in _templates(page) if pattern.search(file.read_text())] == [], kind

    def test_templates_escape_every_value(self, page: WebPage) -> None:
        """Values are text of visitors; none is written as HTML. They are escaped in ``.html`` files only."""
        files = [file for file in page.template_folder.rglob("*") if file.is_file()]
        assert [file.name for file in files if file.suffix != ".html"] == []
        assert [file.name for file in _templates(page) if _UNESCAPED.search(file.read_text())] == []

    def test_static_files_are_of_served_types(self, page: WebPage) -> None:
        """Style sheets, scripts and SVG images directly in ``static``; others are not served."""
        static = page.folder / "static"
        files = static.iterdir() if static.is_dir() else ()
        assert [file.name for file in files if file.suffix not in _STATIC_TYPES] == []

    def test_static_files_load_nothing_from_another_host(self, page: WebPage) -> None:
        """The content security policy blocks style sheets, fonts, modules and requests of other hosts."""
        static = page.folder / "static"
        files = [file for file in static.iterdir() if file.is_file()] if static.is_dir() else []
        assert [file.name for file in files if _OTHER_HOST_IN_STATIC_FILE.search(file.read_text())] == []

    def test_templates_have_no_syntax_error(self, page: WebPage) -> None:
        """Each template is one of Jinja."""
        jinja = pytest.importorskip("jinja2")
        for file in _templates(page):
            try:
                jinja.Environment().parse(file.read_text())
            except jinja.TemplateSyntaxError as fault:
                pytest.fail(f"{file.name}, line {fault.lineno}: {fault.message}")


def _templates(page: WebPage) -> Iterator[Path]:
    yield from sorted(page.template_folder.rglob("*.html"))
