"""Reads the detection patterns of Matomo's device detector from the installed ``device-detector`` package."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import yaml

from plugins.devices_useragent.pattern_list import Pattern

PACKAGE: Final = "device_detector"


@dataclass(frozen=True, slots=True)
class Entry:
    """A pattern of a data file with what it says.

    Attributes:
        pattern: the expression, its version and its name.
        device_type: type of the devices the pattern names, as the data writes it.
        versions: patterns of the version, checked when the entry matches.
        models: patterns of the models of a brand, each with its device type.
        category: kind of a bot, as the data writes it; empty for other entries.
    """

    pattern: Pattern
    device_type: str | None = None
    versions: tuple[Pattern, ...] = ()
    models: tuple[tuple[Pattern, str | None], ...] = ()
    category: str = ""


def find_package_folder() -> Path:
    """Returns the folder of the installed package without importing it."""
    spec = find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise ImportError(f"The package {PACKAGE} is not installed.")
    return Path(spec.origin).parent


def load_entries(*names: str) -> tuple[Entry, ...]:
    """Returns the entries of data files in their order, such as ``client/browsers``."""
    folder = find_package_folder() / "regexes" / "upstream"
    return tuple(entry for name in names for entry in _entries_of_file(_load_yaml(folder / f"{name}.yml")))


def _load_yaml(file: Path) -> Any:
    with file.open("rb") as stream:
        return yaml.load(stream, Loader=yaml.CSafeLoader)


def _entries_of_file(content: Sequence[Mapping[str, Any]] | Mapping[str, Mapping[str, Any]]) -> list[Entry]:
    """Returns the entries of a list, or of a mapping from brand to entry."""
    return [_parse_entry(value) for value in (content.values() if isinstance(content, Mapping) else content)]


def _parse_entry(value: Mapping[str, Any]) -> Entry:
    device_type = value.get("device")
    return Entry(
        Pattern(value["regex"], str(value.get("version") or ""), str(value.get("name") or "")),
        device_type,
        tuple(Pattern(each["regex"], str(each["version"])) for each in value.get("versions", ())),
        tuple((Pattern(each["regex"]), each.get("device", device_type)) for each in value.get("models", ())),
        str(value.get("category") or ""),
    )
