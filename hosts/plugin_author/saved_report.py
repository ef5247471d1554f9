"""The report of ``touchpoint plugin check`` that an author ships in the package, and the level that follows from it."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from hosts.plugin_author.report import Level, PluginReport, RuleResult
from service_core.extensions.plugin_hashes import hash_named_files

RULES: Final[Mapping[str, Level]] = {
    "loads": Level.BRONZE,
    "declaration": Level.BRONZE,
    "imports": Level.BRONZE,
    "tests": Level.SILVER,
    "kit": Level.SILVER,
    "types": Level.SILVER,
    "security": Level.GOLD,
    "documentation": Level.GOLD,
}
"""Rule -> its level; a saved report without one of them gives no level."""

_FILE_NAME: Final = "plugin_report.json"


def save_report(report: PluginReport, code: Path) -> Path:
    """Writes a report into a package, or beside a one-file plugin, with the hash of the code; returns the file.

    Args:
        report: the report.
        code: folder of the package, or the file.
    """
    file = _report_file(code)
    text = json.dumps(report.to_json() | {"code": hash_code(code)}, indent=2)
    file.write_text(f"{text}\n", encoding="utf-8")
    return file


def read_level_of_unchanged_code(code: Path) -> Level | None:
    """Returns the level by the rules of the saved report; None without one, or if the code has changed since.

    Args:
        code: folder of the package, or the file.
    """
    try:
        saved = json.loads(_report_file(code).read_text(encoding="utf-8"))
        results = tuple(_read_result(rule) for rule in saved["rules"])
        is_current = saved["code"] == hash_code(code)
    except (OSError, ValueError, KeyError, TypeError):
        return None
    if not is_current or {result.rule for result in results} != RULES.keys():
        return None
    return PluginReport("", {}, results, ()).level


def hash_code(code: Path) -> str:
    """Returns the hash of the names and contents of all files of a package, or of one file, without byte code."""
    files = [code] if code.is_file() else [file for file in code.rglob("*") if file.is_file()]
    return hash_named_files(
        (file.name if file == code else file.relative_to(code).as_posix(), file)
        for file in files
        if file.suffix != ".pyc" and file.name != _FILE_NAME
    )


def _report_file(code: Path) -> Path:
    return code / _FILE_NAME if code.is_dir() else code.with_suffix(f".{_FILE_NAME}")


def _read_result(rule: dict[str, Any]) -> RuleResult:
    return RuleResult(rule["rule"], RULES[rule["rule"]], rule["passed"] is True)
