"""Documentation pages and their sections, as Markdown."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

BUNDLED_DOCS: Final = Path(__file__).parent / "bundled_docs"
"""Folder of the pages in an installation."""

SOURCE_DOCS: Final = Path(__file__).parents[2] / "docs"
"""Folder of the pages in a source checkout."""

INDEX: Final = "index"
_EXCLUDED_FOLDERS: Final = ("changelog.d",)
"""Folders without pages."""

_HEADING: Final = re.compile(r"(#{1,3}) +(.+?)(?: +#+)?")
_FENCE: Final = re.compile(r" {0,3}(```|~~~)")
_PROSE: Final = re.compile(r"[\w`*\[]")
_COMMENT: Final = re.compile(r"<!--.*?-->\n*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Section:
    """A heading with the text below it, up to the next heading.

    Attributes:
        anchor: id of the heading in the page.
        text: Markdown, without the heading.
    """

    title: str
    anchor: str
    text: str


@dataclass(frozen=True)
class Page:
    """A documentation page.

    Attributes:
        path: path below the documentation URL, without a suffix: ``consumers/keys``.
        text: Markdown.
    """

    path: str
    text: str

    @property
    def title(self) -> str:
        """Its first heading."""
        return self.sections[0].title if self.sections else self.path

    @property
    def folder(self) -> str:
        """The folder of its path; empty for top-level pages."""
        return self.path.rpartition("/")[0]

    @property
    def first_sentence_if_prose(self) -> str:
        """Its first sentence; empty if it begins with a table, a list or code."""
        opening = self.sections[0].text.split("\n\n", 1)[0] if self.sections else ""
        if not opening or not _PROSE.match(opening):
            return ""
        return re.split(r"(?<=[.:]) (?=[A-Z])", markdown_as_one_plain_line(opening), maxsplit=1)[0].rstrip(
            ":"
        )

    @cached_property
    def sections(self) -> tuple[Section, ...]:
        """Its sections in order, headings of level one to three."""
        parts = list(_split_sections_ignoring_code_fences(self.text))
        anchors = unique_heading_anchors(title for title, _ in parts)
        return tuple(
            Section(markdown_as_one_plain_line(title), anchor, text)
            for (title, text), anchor in zip(parts, anchors, strict=True)
        )


def installed_docs_folder() -> Path:
    """Returns the folder of the pages of this installation."""
    return BUNDLED_DOCS if BUNDLED_DOCS.is_dir() else SOURCE_DOCS


def load_pages_index_first(folder: Path | None = None) -> tuple[Page, ...]:
    """Returns all pages, the index first, then sorted by path.

    Args:
        folder: folder of the pages; None for those of this installation.
    """
    root = folder or installed_docs_folder()
    files = (file for file in root.rglob("*.md") if file.relative_to(root).parts[0] not in _EXCLUDED_FOLDERS)
    pages = (
        Page(file.relative_to(root).with_suffix("").as_posix(), _COMMENT.sub("", file.read_text("utf-8")))
        for file in files
    )
    return tuple(sorted(pages, key=lambda page: (page.path != INDEX, page.path)))


def load_pictures(folder: Path | None = None) -> dict[str, bytes]:
    """Returns path to content of all SVG pictures; see `load_pages_index_first`."""
    root = folder or installed_docs_folder()
    return {file.relative_to(root).as_posix(): file.read_bytes() for file in root.rglob("*.svg")}


def unique_heading_anchors(titles: Iterable[str]) -> list[str]:
    """Returns the ids of the headings of one page, in the usual Markdown form: words joined by hyphens."""
    seen: dict[str, int] = {}
    anchors = []
    for title in titles:
        words = re.sub(r"[^\w\- ]", "", markdown_as_one_plain_line(title).lower()).strip().replace(" ", "-")
        count = seen.get(words, 0)
        seen[words] = count + 1
        anchors.append(f"{words}-{count}" if count else words)
    return anchors


def markdown_as_one_plain_line(text: str) -> str:
    """Returns Markdown as one line of plain text."""
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"(?m)^\|[-|: ]+\|$|^ {0,3}(?:```|~~~).*$", "", text)
    text = re.sub(r"(?m)^(?:[>\-*]|\d+\.|#{1,6}) +", "", text)
    text = re.sub(r"`|\*\*", "", re.sub(r"(?<!\\)\|", " ", text))
    return " ".join(text.split())


def _split_sections_ignoring_code_fences(text: str) -> Iterator[tuple[str, str]]:
    """Yields headings with the text below them; ``#`` lines in code blocks are not headings."""
    title, lines = "", list[str]()
    fenced = False
    for line in text.splitlines():
        fenced ^= bool(_FENCE.match(line))
        heading = None if fenced else _HEADING.fullmatch(line)
        if heading is None:
            lines.append(line)
            continue
        if title:
            yield title, "\n".join(lines).strip()
        title, lines = heading[2], []
    if title:
        yield title, "\n".join(lines).strip()
