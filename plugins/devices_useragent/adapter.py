"""The `UserAgentParser` port on the data of Matomo's device detector.

All patterns but a few are checked by a Rust matcher that is linear in the length of the agent, the rest with
a time limit, and the length is capped: no user agent can hold the consumer up.
"""

from functools import cache, lru_cache
from typing import TYPE_CHECKING, Final

from service_core.plugin import Device

if TYPE_CHECKING:
    from plugins.devices_useragent.detection import DeviceDetector

MAX_USER_AGENT_LENGTH: Final = 512
"""Characters that are looked at; an agent's marks stand in the first few hundred."""


class DeviceDetectorAdapter:
    """Parses user agents and caches the results.

    Args:
        cache_size: how many descriptions are kept.
    """

    def __init__(self, cache_size: int) -> None:
        self._parse_cached = lru_cache(cache_size)(_detect)

    def parse(self, user_agent: str) -> Device:
        """Returns device and bot signs of a user agent; never raises."""
        return self._parse_cached(user_agent[:MAX_USER_AGENT_LENGTH])


def _detect(user_agent: str) -> Device:
    return _shared_detector().detect(user_agent)


@cache
def _shared_detector() -> "DeviceDetector":
    """Returns the detector of this process; its patterns are compiled when the first user agent is parsed."""
    from plugins.devices_useragent.detection import DeviceDetector  # noqa: PLC0415 - 100 MB, for the first agent

    return DeviceDetector()
