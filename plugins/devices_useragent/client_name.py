"""The browser or application of a user agent."""

from dataclasses import dataclass
from typing import Final

from plugins.devices_useragent.detector_data import load_entries
from plugins.devices_useragent.pattern_list import PatternList

_KINDS: Final = ("feed_readers", "mobile_apps", "mediaplayers", "pim", "browsers", "libraries")
"""Data files, in the order in which a client is looked for."""


@dataclass(frozen=True, slots=True)
class Client:
    """A browser or application, as the detection data writes it.

    Attributes:
        name: such as ``Mobile Safari``.
        version: such as ``17.5``, or empty.
        kind: the data file that names it, such as ``browsers``.
    """

    name: str
    version: str
    kind: str


class ClientDetector:
    """Detects feed readers, applications, players, mail programs, browsers and libraries, in this order."""

    def __init__(self) -> None:
        files = [(kind, load_entries(f"client/{kind}")) for kind in _KINDS]
        self._kinds_and_names = [(kind, entry.pattern.name) for kind, entries in files for entry in entries]
        self._patterns = PatternList(entry.pattern for _, entries in files for entry in entries)

    def detect(self, user_agent: str, normalized: str) -> Client | None:
        """Returns the client of a user agent.

        Args:
            user_agent: the agent as sent.
            normalized: the same in lower case and ASCII.
        """
        match = self._patterns.first_match(normalized)
        if match is None:
            return None
        kind, name = self._kinds_and_names[match.index]
        if "\\g<" in name:
            name = _in_original_case(match.name, user_agent, normalized)
        return Client(name, match.version, kind)


def _in_original_case(text: str, user_agent: str, normalized: str) -> str:
    """Returns the words of a text as the user agent writes them."""
    return " ".join(_word_in_original_case(word, user_agent, normalized) for word in text.split(" "))


def _word_in_original_case(word: str, user_agent: str, normalized: str) -> str:
    start = normalized.find(word.lower())
    return user_agent[start : start + len(word)] if start >= 0 else word
