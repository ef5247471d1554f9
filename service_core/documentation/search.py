"""Full-text search of documentation sections, with stemming."""

import json
import re
import sqlite3
import weakref
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from service_core.documentation.pages import Page, Section, markdown_as_one_plain_line

_MAX_WORDS: Final = 24
_SEARCH_SQL: Final = """
    SELECT rowid, snippet(sections, 2, '', '', '…', 30),
        bm25(sections, 4.0, 10.0, 1.0) * coalesce(json_extract(?, '$."' || folder || '"'), 1.0) AS cost
    FROM sections WHERE sections MATCH ? ORDER BY cost, rowid LIMIT ?
"""
"""A word counts four times in the title of the page, and ten times in the heading of the section."""

API_READER_WEIGHTS: Final = MappingProxyType(
    {"consumers": 1.3, "reference": 1.1, "contributors": 0.7, "adr": 0.7}
)
"""Folder -> factor of the scores of its pages, for readers who use the API and the web application."""

_WORD: Final = re.compile(r"[^\W_]+")
_STOP_WORDS: Final = frozenset(
    ["a", "an", "and", "are", "can", "do", "does", "for", "from", "get", "how", "i", "in", "is", "it", "my", "of", "on", "or", "that", "the", "this", "to", "what", "when", "where", "which", "why", "with"]
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class SectionMatch:
    """A section that matches a search; a higher score is better."""

    page: Page
    section: Section
    excerpt: str
    score: float


class SearchIndex:
    """The sections of pages in an in-memory SQLite full-text index.

    Args:
        pages: the pages to index.
    """

    def __init__(self, pages: Iterable[Page]) -> None:
        self._sections = [(page, section) for page in pages for section in page.sections if section.text]
        self._index = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
        weakref.finalize(self, self._index.close)
        self._index.execute(
            "CREATE VIRTUAL TABLE sections USING fts5(page, heading, body, folder UNINDEXED, tokenize = 'porter unicode61')"
        )
        self._index.executemany(
            "INSERT INTO sections (rowid, page, heading, body, folder) VALUES (?, ?, ?, ?, ?)",
            (
                (row_id, page.title, section.title, markdown_as_one_plain_line(section.text), page.folder)
                for row_id, (page, section) in enumerate(self._sections)
            ),
        )

    def search_all_words_else_any(
        self, text: str, limit: int, folder_weights: Mapping[str, float] = MappingProxyType({})
    ) -> list[SectionMatch]:
        """Returns the best sections with all words of a text, or with some words if none has all.

        Args:
            text: the words.
            limit: the most sections.
            folder_weights: folder -> factor of the scores of its pages; 1 for other folders.
        """
        words = _query_words(text)
        weights = json.dumps(dict(folder_weights))
        return self._run_query(" ".join(words), limit, weights) or self._run_query(
            " OR ".join(words), limit, weights
        )

    def _run_query(self, expression: str, limit: int, weights_json: str) -> list[SectionMatch]:
        if not expression:
            return []
        rows = self._index.execute(_SEARCH_SQL, (weights_json, expression, limit))
        return [self._build_match(row_id, excerpt, -cost) for row_id, excerpt, cost in rows]

    def _build_match(self, row_id: int, excerpt: str, score: float) -> SectionMatch:
        page, section = self._sections[row_id]
        return SectionMatch(page, section, excerpt, round(score, 4))


def _query_words(text: str) -> list[str]:
    """Returns the quoted words of a query; stop words only if there are no others."""
    words = _WORD.findall(text.lower())[:_MAX_WORDS]
    specific = [word for word in words if word not in _STOP_WORDS]
    return [f'"{word}"' for word in specific or words]
