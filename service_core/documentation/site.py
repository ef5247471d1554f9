"""The documentation site: pages by path and folder, search index, and the text files for language models."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Final

from service_core.documentation.pages import INDEX, Page, load_pages_index_first, load_pictures
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
"""Folder to its heading, in order."""


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder of pages with its heading."""

    title: str
    pages: tuple[Page, ...]


@dataclass(frozen=True, slots=True)
class Neighbours:
    """The page before and the page after a page, in the order of the folders; None at the ends."""

    previous: Page | None
    next: Page | None


class Documentation:
    """The documentation; pages are loaded on first use.

    Args:
        url: its URL, without a trailing slash.
        folder: folder of its pages; None for those of this installation.
    """

    def __init__(self, url: str, folder: Path | None = None) -> None:
        self.url: Final = url
        self._folder = folder

    @cached_property
    def pages(self) -> Mapping[str, Page]:
        """Path to page."""
        return MappingProxyType({page.path: page for page in load_pages_index_first(self._folder)})

    @cached_property
    def pictures(self) -> Mapping[str, bytes]:
        """Path to SVG picture."""
        return MappingProxyType(load_pictures(self._folder))

    @cached_property
    def folders(self) -> tuple[Folder, ...]:
        """The folders that have pages, in the order in which they are read; pages of a folder are sorted by path."""
        other_folders = {page.folder for page in self.pages.values()} - _FOLDER_TITLES.keys()
        return tuple(
            Folder(_FOLDER_TITLES.get(folder, folder.capitalize()), pages)
            for folder in (*_FOLDER_TITLES, *sorted(other_folders))
            if (pages := tuple(page for page in self.pages.values() if page.folder == folder))
        )

    def neighbours_in_reading_order(self, page: Page) -> Neighbours:
        """Returns the page before and the page after a page."""
        order = [page for folder in self.folders for page in folder.pages]
        position = order.index(page)
        return Neighbours(
            order[position - 1] if position else None,
            order[position + 1] if position + 1 < len(order) else None,
        )

    @cached_property
    def search_index(self) -> SearchIndex:
        """The full-text index of all sections."""
        return SearchIndex(self.pages.values())

    def page_url(self, page: Page, anchor: str = "", *, suffix: str = "") -> str:
        """Returns the URL of a page or of a section in it."""
        path = page.path if suffix or page.path != INDEX else ""
        return f"{self.url}/{path}{suffix}" + (f"#{anchor}" if anchor else "")

    def llms_txt(self) -> str:
        """Returns ``llms.txt``: every page with its Markdown URL and a summary."""
        return "\n".join([_LLMS_TXT_TITLE, *self._index_lines_grouped_by_folder()])

    def llms_full_txt(self) -> str:
        """Returns ``llms-full.txt``: the text of all pages."""
        parts = (
            f"<!-- {self.page_url(page, suffix='.md')} -->\n\n{page.text.strip()}\n"
            for page in self.pages.values()
        )
        return "\n".join(parts)

    def _index_lines_grouped_by_folder(self) -> Iterator[str]:
        for folder in self.folders:
            yield f"## {folder.title}\n"
            yield from (self._index_line(page) for page in folder.pages)
            yield ""

    def _index_line(self, page: Page) -> str:
        summary = f": {page.first_sentence_if_prose}" if page.first_sentence_if_prose else ""
        return f"- [{page.title}]({self.page_url(page, suffix='.md')}){summary}"
