"""The report of ``touchpoint plugin check``, as JSON and as Markdown; its level follows from the rules that ran."""

import platform
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from importlib.metadata import version
from typing import Any

from service_core.extensions.plugin_info import API_VERSION


class Level(StrEnum):
    """Quality level of a plugin; each includes the rules of those before it."""

    BRONZE = "bronze"
    SILVER = "silver"
    GOLD = "gold"


@dataclass(frozen=True)
class RuleResult:
    """The result of one rule.

    Attributes:
        rule: name of the rule.
        level: the level that needs it.
        passed: whether the plugin keeps it; None if it did not run, which no level forgives.
        details: what was found.
        seconds: how long it took.
    """

    rule: str
    level: Level
    passed: bool | None
    details: tuple[str, ...] = ()
    seconds: float = 0.0


@dataclass(frozen=True)
class KitTest:
    """A test that ran.

    Attributes:
        name: its class and function.
        promise: first line of its docstring; empty for none.
        kit: the kit it comes from; empty for a test of the plugin itself.
        passed: whether it passed; None if it was skipped.
        seconds: how long it took.
    """

    name: str
    promise: str
    kit: str
    passed: bool | None
    seconds: float


@dataclass(frozen=True)
class PluginReport:
    """What was checked of a plugin, and how it went.

    Attributes:
        name: name of the plugin.
        declared: what it declares and provides.
        results: the rules.
        tests: its tests, each with its promise.
    """

    name: str
    declared: Mapping[str, Any]
    results: tuple[RuleResult, ...]
    tests: tuple[KitTest, ...]

    @property
    def level(self) -> Level | None:
        """The highest level whose rules, and those of the levels before it, all passed."""
        reached = None
        for level in Level:
            if not all(result.passed for result in self.results if result.level is level):
                break
            reached = level
        return reached

    def to_json(self) -> dict[str, Any]:
        """Returns the report as a JSON object."""
        return {
            "plugin": self.name,
            "level": self.level,
            "versions": _package_versions(),
            "declared": dict(self.declared),
            "rules": [asdict(result) for result in self.results],
            "tests": [asdict(test) for test in self.tests],
            "seconds": round(sum(result.seconds for result in self.results), 2),
        }

    def to_markdown(self) -> str:
        """Returns the report as a Markdown page."""
        return "\n".join(
            (
                f"# Check of the plugin {self.name}",
                "",
                f"Level: **{self.level or 'none'}**. "
                + ", ".join(f"{name} {number}" for name, number in _package_versions().items())
                + ".",
                "",
                "| rule | level | result | seconds |",
                "|---|---|---|---|",
                *(
                    f"| {result.rule} | {result.level} | {_RESULT_WORDS[result.passed]} | {result.seconds:.1f} |"
                    for result in self.results
                ),
                "",
                *_detail_lines(self.results),
                "## Tests",
                "",
                "| test | promise | result | seconds |",
                "|---|---|---|---|",
                *(
                    f"| `{test.name}` | {test.promise.replace('|', '/')} | {_RESULT_WORDS[test.passed]} | {test.seconds:.2f} |"
                    for test in self.tests
                ),
                "",
            )
        )


_RESULT_WORDS: "Mapping[bool | None, str]" = {True: "passed", False: "failed", None: "did not run"}


def _package_versions() -> dict[str, str]:
    return {
        "touchpoint": version("touchpoint-analytics"),
        "plugin API": API_VERSION,
        "Python": platform.python_version(),
        "platform": sys.platform,
    }


def _detail_lines(results: tuple[RuleResult, ...]) -> list[str]:
    lines: list[str] = []
    for result in results:
        if result.details:
            lines += [f"## {result.rule.capitalize()}", "", *(f"- {detail}" for detail in result.details), ""]
    return lines
