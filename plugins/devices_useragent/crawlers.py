"""Detects crawlers and headless browsers by two public crawler lists and common words.

People use products whose names contain those of crawlers: phones called Spider 8 and M bot 54, the Sogou browser.
So names are compared at the start of words, outside the description of an Android device, and the name of
the browser itself is none of a crawler.
"""

import re
from typing import Final

from crawleruseragents import CRAWLER_USER_AGENTS_DATA  # type: ignore[import-untyped]  # ships no types
from ua_parser_rs import UserAgentExtractor

from plugins.devices_useragent.client_name import Client
from plugins.devices_useragent.crawler_classes import Crawler, CrawlerClassifier, unlisted_crawler
from plugins.devices_useragent.pattern_list import LinearSearch, normalize_user_agent

_HEADLESS_WORDS: Final = (
    *("headless", "phantomjs", "slimerjs", "puppeteer", "playwright", "selenium", "jsdom"),
)
_BOT_WORDS: Final = (
    *(r"(?:^|[^u]|(?:^|[^c])u)bots?\b", "crawler", "spider", "slurp", "scraper"),
    *("feed(?:parser|fetcher| fetcher)", r"\+https?://"),
)
"""An agent that names itself so, or gives the page of its owner; Cubot makes phones."""
_ANDROID_DEVICE: Final = re.compile(
    r"\((?![^()]*(?:compatible;|http|-google/))[^()]*\bandroid\b[^()]*\)", re.IGNORECASE
)
"""Part of an agent with brand, model and build of an Android device."""
_NOT_A_LETTER: Final = re.compile(r"[^a-z]")


class CrawlerDetector:
    """Detects crawlers and headless browsers.

    The public list has some 1,500 patterns. As one alternation of `re` a look takes 300 microseconds; the
    prefiltered set of the Rust matcher takes two.
    """

    def __init__(self) -> None:
        self._headless_words = LinearSearch(*_HEADLESS_WORDS)
        self._bot_words = LinearSearch(*_BOT_WORDS)
        self._crawler_list = UserAgentExtractor(
            [
                (_match_at_word_start(entry["pattern"]), None, None, None, None, None)
                for entry in CRAWLER_USER_AGENTS_DATA
            ]
        )
        self._classifier = CrawlerClassifier()

    def detect(self, user_agent: str, client: Client | None, *, os_known: bool) -> Crawler | None:
        """Returns the crawler of a user agent that is in a crawler list or identifies itself as a bot; else None.

        Args:
            user_agent: the agent as sent.
            client: its browser or application.
            os_known: whether the agent names an operating system.
        """
        undescribed = _ANDROID_DEVICE.sub("()", user_agent)
        normalized = normalize_user_agent(undescribed)
        if classified := self._classifier.classify_listed_crawler(normalized):
            return classified
        listed = self._crawler_list.extract(undescribed)
        if self._bot_words.matches(normalized):
            return unlisted_crawler(listed.family if listed else None)
        if listed is None:
            return None
        person = user_agent.startswith("Mozilla/") and os_known and _is_name_of(client, listed.family)
        return None if person and not self.is_headless(user_agent) else unlisted_crawler(listed.family)

    def is_headless(self, user_agent: str) -> bool:
        """Returns whether the user agent is a headless browser."""
        return self._headless_words.matches(user_agent.lower())


def _match_at_word_start(pattern: str) -> str:
    """Returns the pattern as its first group; one that begins with a letter or digit does not match inside a word."""
    return f"(?:^|[^A-Za-z0-9])({pattern})" if pattern[:1].isalnum() else f"({pattern})"


def _is_name_of(client: Client | None, matched: str) -> bool:
    """Returns whether the matched text is part of the name of a browser or application."""
    if client is None or client.kind not in {"browsers", "mobile_apps"}:
        return False
    word = _NOT_A_LETTER.sub("", matched.lower())
    return bool(word) and word in _NOT_A_LETTER.sub("", client.name.lower())
