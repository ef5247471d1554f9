"""The documentation as one thing: its pages by address, its index for programs, and what is in it."""

from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Final

from service_core.documentation.pages import INDEX, Page, load_pages
from service_core.documentation.search import SearchIndex

_LLMS_TXT_TITLE: Final = (
    "# Touchpoint\n\n> Self-hosted web analytics, attribution and revenue over one JSON API.\n"
)
_FOLDER_TITLES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "": "Start",
        "consumers": "Call the API",
        "deployers": "Run a deployment",
        "integrators": "Write a plugin",
        "reference": "Reference",
        "contributors": "Work on Touchpoint",
        "adr": "Decisions",
    }
)
"""Folder -> what its pages are for, in the order of the index."""


class Documentation:
    """The documentation; it is read when it is first asked for.

    Args:
        url: its address, without a slash at the end.
        folder: where its pages are; None for those of this installation.
    """

    def __init__(self, url: str, folder: Path | None = None) -> None:
        self.url: Final = url
        self._folder = folder

    @cached_property
    def pages(self) -> Mapping[str, Page]:
        """Path -> page."""
        return MappingProxyType({page.path: page for page in load_pages(self._folder)})

    @cached_property
    def search_index(self) -> SearchIndex:
        """What finds sections."""
        return SearchIndex(self.pages.values())

    def page_url(self, page: Page, anchor: str = "", *, suffix: str = "") -> str:
        """Where a page, or a section of it, is read."""
        path = page.path if suffix or page.path != INDEX else ""
        return f"{self.url}/{path}{suffix}" + (f"#{anchor}" if anchor else "")

    def llms_txt(self) -> str:
        """``llms.txt``: every page with its address as Markdown, and what it is about."""
        return "\n".join([_LLMS_TXT_TITLE, *self._index_lines()])

    def llms_full_txt(self) -> str:
        """``llms-full.txt``: every page, one after the other."""
        parts = (
            f"<!-- {self.page_url(page, suffix='.md')} -->\n\n{page.text.strip()}\n"
            for page in self.pages.values()
        )
        return "\n".join(parts)

    def _index_lines(self) -> Iterator[str]:
        others = {page.folder for page in self.pages.values()} - _FOLDER_TITLES.keys()
        for folder in (*_FOLDER_TITLES, *sorted(others)):
            inside = [page for page in self.pages.values() if page.folder == folder]
            if inside:
                yield f"## {_FOLDER_TITLES.get(folder, folder.capitalize())}\n"
                yield from (self._index_line(page) for page in inside)
                yield ""

    def _index_line(self, page: Page) -> str:
        summary = f": {page.summary}" if page.summary else ""
        return f"- [{page.title}]({self.page_url(page, suffix='.md')}){summary}"
