"""Pages of plugins: their routes, menu entries, templates and static files."""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from jinja2 import FileSystemLoader, PrefixLoader
from quart import Response, request

from hosts.web.api_client import ApiResult
from hosts.web.navigation import WORKSPACE_ROUTE_PREFIX, NavEntry, NavSection
from hosts.web.page_context import Page, PageContext
from hosts.web.workspace_view import WorkspaceView, open_workspace_view
from service_core.extensions.pages import PageAnswer, PageRequest, WebPage
from service_core.kernel.errors import ServiceUnavailable

STATIC_PREFIX: Final = "/static/pages"
"""Path of the static files of plugins below the application's address."""

LOAD_TIMEOUT_SECONDS: Final = 10.0
"""How long a page of a plugin may read what it shows."""


@dataclass(frozen=True, slots=True)
class MemberReads:
    """Implements `PageApi`: reads in the name of the person who looks at the page, and nothing else."""

    _view: WorkspaceView

    async def get(self, path: str, **parameters: str) -> PageAnswer:
        """Returns the answer of a read below ``/v1``."""
        return _to_page_answer(await self._view.get(path, **parameters))

    async def query(self, body: Mapping[str, Any]) -> PageAnswer:
        """Returns the answer of ``POST /query``."""
        return _to_page_answer(await self._view.post("/query", body))


def build_plugin_pages(pages: Iterable[WebPage]) -> tuple[Page, ...]:
    """Returns the pages with their routes."""
    return tuple(
        Page(f"{WORKSPACE_ROUTE_PREFIX}{page.path}", partial(_show_plugin_page, page)) for page in pages
    )


def build_navigation_entries(pages: Iterable[WebPage]) -> tuple[NavEntry, ...]:
    """Returns the menu entries of the pages."""
    return tuple(NavEntry(NavSection(page.section.value), page.label, page.path) for page in pages)


def build_template_loader(pages: Iterable[WebPage]) -> PrefixLoader:
    """Returns what finds a template of a page under the id of the page, so that it replaces no other."""
    return PrefixLoader({page.id: FileSystemLoader(page.template_folder) for page in pages})


def read_static_files(pages: Iterable[WebPage], suffixes: Iterable[str]) -> dict[tuple[str, str], bytes]:
    """Returns (id of a page, file name) -> content of the static files with these suffixes; links are left out."""
    allowed = frozenset(suffixes)
    return {
        (page.id, file.name): file.read_bytes()
        for page in pages
        if (page.folder / "static").is_dir()
        for file in (page.folder / "static").iterdir()
        if file.suffix.removeprefix(".") in allowed and file.is_file() and not file.is_symlink()
    }


async def _show_plugin_page(page: WebPage, context: PageContext, public_id: str) -> Response:
    """A page of a plugin, for members of the workspace.

    Raises:
        ServiceUnavailable: the plugin did not return within `LOAD_TIMEOUT_SECONDS`.
    """
    view = await open_workspace_view(context, public_id)
    try:
        async with asyncio.timeout(LOAD_TIMEOUT_SECONDS) as running:
            values = await page.load(PageRequest(MemberReads(view), dict(request.args.items())))
    except TimeoutError:
        if not running.expired():
            raise
        raise ServiceUnavailable(
            f"The page {page.label} took longer than {LOAD_TIMEOUT_SECONDS:g} seconds",
            hint="Choose a shorter range, or try again later.",
        ) from None
    return await view.render(
        f"{page.id}/{page.template}", values=values, static=f"{context.base}{STATIC_PREFIX}/{page.id}"
    )


def _to_page_answer(result: ApiResult) -> PageAnswer:
    return PageAnswer(result.data, None if result.ok else result.message)
