"""Names crawlers and classifies them: AI training, AI search, assistants that act for people, search engines, others.

The classes of AI companies' agents are those of ``ai_agents.toml``, where each stands with its source; every other
crawler has the class of its category in Matomo's data.
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from plugins.devices_useragent.detector_data import load_entries
from plugins.devices_useragent.pattern_list import PatternList

AGENTS_FILE: Final = Path(__file__).with_name("ai_agents.toml")
_OTHER_CLASS: Final = "other"
_UNSPECIFIC_NAMES: Final = frozenset({"Generic Bot"})
_CLASS_BY_CATEGORY: Final[Mapping[str, str]] = {
    "AI Data Scraper": "ai_training",
    "AI Search Crawler": "ai_search",
    "AI Assistant": "ai_assistant",
    "AI Agent": "ai_assistant",
    "Search bot": "search_engine",
    "Search tools": "search_engine",
}
_MAX_NAME_LENGTH: Final = 100


@dataclass(frozen=True, slots=True)
class Crawler:
    """A crawler: its name if a list has one, and its class."""

    name: str | None
    kind: str


class CrawlerClassifier:
    """Finds name and class of a crawler by its user agent."""

    def __init__(self) -> None:
        agents = tomllib.loads(AGENTS_FILE.read_text())["agents"]
        self._ai_agents = {agent["name"].lower(): Crawler(agent["name"], agent["class"]) for agent in agents}
        longest_first = sorted(self._ai_agents, key=len, reverse=True)
        self._ai_agent_names = re.compile(rf"(?<![a-z0-9])(?:{'|'.join(map(re.escape, longest_first))})")
        self._entries = load_entries("bots")
        self._patterns = PatternList(
            entry.pattern._replace(
                version="", name=entry.pattern.name if "\\g<" in entry.pattern.name else ""
            )
            for entry in self._entries
        )

    def classify_listed_crawler(self, normalized: str) -> Crawler | None:
        """Returns the crawler of an agent in lower case and ASCII; None if neither list has it."""
        if named := self._ai_agent_names.search(normalized):
            return self._ai_agents[named[0]]
        match = self._patterns.first_match(normalized)
        if match is None:
            return None
        entry = self._entries[match.index]
        name = match.name or entry.pattern.name
        shown = None if name in _UNSPECIFIC_NAMES else name[:_MAX_NAME_LENGTH] or None
        return Crawler(shown, _CLASS_BY_CATEGORY.get(entry.category, _OTHER_CLASS))


def unlisted_crawler(matched_name: str | None) -> Crawler:
    """Returns a crawler of no known category.

    Args:
        matched_name: the part of the agent that a list of names matched; None if the agent only names itself a bot.
    """
    name = (matched_name or "").strip(" /;()")[:_MAX_NAME_LENGTH]
    return Crawler(name or None, _OTHER_CLASS)
