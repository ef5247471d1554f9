"""The `UserAgentParser` port on ua-parser's Rust matcher.

Both matchers are linear in the length of the agent, whatever its text, and its length is capped:
no user agent can hold the consumer up.
"""

from functools import cached_property, lru_cache
from typing import Final

from ua_parser import Parser, Result
from ua_parser.loaders import load_lazy_builtins
from ua_parser.regex import Resolver

from plugins.devices_useragent.crawlers import CrawlerDetector
from plugins.devices_useragent.device_type import classify_device_type
from plugins.devices_useragent.product_names import normalize_browser_name, normalize_os_name
from service_core.plugin import Device

MAX_USER_AGENT_LENGTH: Final = 512
"""Characters that are looked at; an agent's marks stand in the first few hundred."""


class UaParserAdapter:
    """Parses user agents and caches the results.

    Args:
        cache_size: how many descriptions are kept.
    """

    def __init__(self, cache_size: int) -> None:
        self._parse_cached = lru_cache(cache_size)(self._parse_uncached)

    @cached_property
    def _parser(self) -> Parser:
        """Returns the parser, compiled when the first user agent is parsed."""
        return Parser(Resolver(load_lazy_builtins()))

    @cached_property
    def _crawlers(self) -> CrawlerDetector:
        return CrawlerDetector()

    def parse(self, user_agent: str) -> Device:
        """Returns device and bot signs of a user agent; never raises."""
        return self._parse_cached(user_agent[:MAX_USER_AGENT_LENGTH])

    def _parse_uncached(self, user_agent: str) -> Device:
        parsed = self._parser.parse(user_agent)
        system = normalize_os_name(parsed.os.family) if parsed.os else None
        spider = parsed.device is not None and parsed.device.family == "Spider"
        return Device(
            device_type=classify_device_type(user_agent, system, recognized=_is_recognized(parsed)),
            browser=normalize_browser_name(parsed.user_agent.family) if parsed.user_agent else None,
            browser_version=_format_version(parsed.user_agent.major, parsed.user_agent.minor)
            if parsed.user_agent
            else None,
            os=system,
            os_version=_format_version(parsed.os.major, parsed.os.minor) if parsed.os else None,
            crawler=spider or self._crawlers.is_crawler(user_agent),
            headless=self._crawlers.is_headless(user_agent),
        )


def _is_recognized(parsed: Result) -> bool:
    return any(part is not None for part in (parsed.user_agent, parsed.os, parsed.device))


def _format_version(major: str | None, minor: str | None) -> str | None:
    """Returns ``major.minor`` as far as it is known."""
    return ".".join(part for part in (major, minor) if part) or None
