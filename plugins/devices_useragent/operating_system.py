"""The operating system of a user agent."""

from dataclasses import dataclass
from functools import cache

from device_detector.parser.settings import (  # type: ignore[import-untyped]  # ships no types
    FAMILY_FROM_OS,
    OPERATING_SYSTEMS,
    OS_TO_ABBREV,
)

from plugins.devices_useragent.detector_data import load_entries
from plugins.devices_useragent.pattern_list import PatternList


@dataclass(frozen=True, slots=True)
class OperatingSystem:
    """An operating system, as the detection data writes it.

    Attributes:
        name: such as ``Ubuntu``.
        version: such as ``22.04``, or empty.
        family: such as ``GNU/Linux``; the name itself if the data knows no family.
    """

    name: str
    version: str
    family: str


class OperatingSystemDetector:
    """Detects operating systems and their versions."""

    def __init__(self) -> None:
        self._entries = load_entries("oss")
        self._patterns = PatternList(entry.pattern for entry in self._entries)
        self._version_patterns = cache(self._compile_version_patterns)

    def detect(self, normalized: str) -> OperatingSystem | None:
        """Returns the operating system of a normalized user agent."""
        match = self._patterns.first_match(normalized)
        if match is None:
            return None
        entry = self._entries[match.index]
        name = canonical_os_name(match.name if "\\g<" in entry.pattern.name else entry.pattern.name)
        version = match.version
        if entry.versions:
            of_version = self._version_patterns(match.index).first_match(normalized)
            version = of_version.version if of_version else version
        return OperatingSystem(name, version.replace("_", "."), os_family(name))

    def _compile_version_patterns(self, index: int) -> PatternList:
        return PatternList(self._entries[index].versions)


def canonical_os_name(name: str) -> str:
    """Returns the name of an operating system as the data writes it, whatever the case of the agent."""
    return str(OPERATING_SYSTEMS.get(OS_TO_ABBREV.get(name.lower()), name))


def os_family(name: str) -> str:
    """Returns the family of an operating system, such as ``GNU/Linux`` for ``Ubuntu``."""
    return str(FAMILY_FROM_OS.get(OS_TO_ABBREV.get(name.lower()), name))
