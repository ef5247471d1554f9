"""Pages of the documentation and the sections they are made of, as plain Markdown."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

INSTALLED: Final = Path(__file__).parent / "shelf"
"""Where an installation keeps the pages."""

CHECKOUT: Final = Path(__file__).parents[2] / "docs"
"""Where they stand in a checkout."""

INDEX: Final = "index"
_UNREAD: Final = ("changelog.d",)
"""Folders that hold no pages."""

_HEADING: Final = re.compile(r"(#{1,3}) +(.+?)(?: +#+)?")
_FENCE: Final = re.compile(r" {0,3}(```|~~~)")
_PROSE: Final = re.compile(r"[\w`*\[]")
_COMMENT: Final = re.compile(r"<!--.*?-->\n*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Section:
    """A heading with what stands below it, up to the next one.

    Attributes:
        anchor: the id of the heading in the page.
        text: Markdown, without the heading.
    """

    title: str
    anchor: str
    text: str


@dataclass(frozen=True)
class Page:
    """A page.

    Attributes:
        path: below the address of the documentation, without a suffix: ``consumers/keys``.
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
        """The part of the documentation it belongs to; empty for the pages above all."""
        return self.path.rpartition("/")[0]

    @property
    def summary(self) -> str:
        """Its first sentence; nothing where it begins with a table, a list or code."""
        opening = self.sections[0].text.split("\n\n", 1)[0] if self.sections else ""
        if not opening or not _PROSE.match(opening):
            return ""
        return re.split(r"(?<=[.:]) (?=[A-Z])", plain(opening), maxsplit=1)[0].rstrip(":")

    @cached_property
    def sections(self) -> tuple[Section, ...]:
        """Its sections in order, those of the third level included."""
        parts = list(_parts(self.text))
        anchors = anchors_of(title for title, _ in parts)
        return tuple(
            Section(plain(title), anchor, text) for (title, text), anchor in zip(parts, anchors, strict=True)
        )


def read(folder: Path | None = None) -> tuple[Page, ...]:
    """Every page, the index first, then by path.

    Args:
        folder: where they are; None for those of this installation.
    """
    root = folder or (INSTALLED if INSTALLED.is_dir() else CHECKOUT)
    files = (file for file in root.rglob("*.md") if file.relative_to(root).parts[0] not in _UNREAD)
    pages = (
        Page(file.relative_to(root).with_suffix("").as_posix(), _COMMENT.sub("", file.read_text("utf-8")))
        for file in files
    )
    return tuple(sorted(pages, key=lambda page: (page.path != INDEX, page.path)))


def anchors_of(titles: Iterable[str]) -> list[str]:
    """Ids of the headings of one page, as they are usual for Markdown: words joined by hyphens."""
    seen: dict[str, int] = {}
    anchors = []
    for title in titles:
        words = re.sub(r"[^\w\- ]", "", plain(title).lower()).strip().replace(" ", "-")
        before = seen.get(words, 0)
        seen[words] = before + 1
        anchors.append(f"{words}-{before}" if before else words)
    return anchors


def plain(text: str) -> str:
    """Markdown as a line of plain text."""
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"(?m)^\|[-|: ]+\|$|^ {0,3}(?:```|~~~).*$", "", text)
    text = re.sub(r"(?m)^(?:[>\-*]|\d+\.|#{1,6}) +", "", text)
    text = re.sub(r"`|\*\*", "", re.sub(r"(?<!\\)\|", " ", text))
    return " ".join(text.split())


def _parts(text: str) -> Iterator[tuple[str, str]]:
    """Headings with what follows them; signs of headings in code are none."""
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
