"""Checks a plugin offline: its declaration, its imports, its tests and kits, its types, and what a security review reads."""

import json
import os
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any, Final

from hosts.plugin_author.report import KitTest, Level, PluginReport, RuleResult
from hosts.plugin_author.run_tests import run_tests_offline
from hosts.plugin_author.source_rules import (
    Finding,
    find_blocking_calls,
    find_dangerous_calls,
    find_forbidden_imports,
    find_undeclared_hosts,
    find_undeclared_secrets,
    parse_sources,
)
from service_core.kernel.errors import StartupError

_DESCRIBE_SECONDS: Final = 60
_TYPES_SECONDS: Final = 300


@dataclass(frozen=True)
class CheckedPlugin:
    """A plugin under check.

    Attributes:
        path: its folder with a ``pyproject.toml``, or its one file.
        name: name of its entry point, or of its file.
        modules: files and folders of its code.
        search_path: folder from which it is imported.
        metadata: the table ``project``; empty for one file.
    """

    path: Path
    name: str
    modules: tuple[Path, ...]
    search_path: Path
    metadata: Mapping[str, Any]

    @property
    def environment(self) -> dict[str, str]:
        """Environment of subprocesses: the plugin can be imported, and settings of a deployment are left out."""
        known = {name: value for name, value in os.environ.items() if not name.startswith("TOUCHPOINT_")}
        path = os.pathsep.join([str(self.search_path), *filter(None, [known.get("PYTHONPATH")])])
        return known | {"PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}


def check_plugin(path: Path, *, with_types: bool = True) -> PluginReport:
    """Returns the report of a plugin.

    Args:
        path: folder with a ``pyproject.toml`` with an entry point of the group ``touchpoint``, or one Python file.
        with_types: whether to run mypy.

    Raises:
        StartupError: there is no plugin at the path, or its source cannot be parsed.
    """
    plugin = find_plugin(path)
    try:
        sources = {name: tree for module in plugin.modules for name, tree in parse_sources(module).items()}
    except SyntaxError as fault:
        raise StartupError(f"{fault.filename or path} cannot be parsed: {fault.msg}.") from None
    with tempfile.TemporaryDirectory(prefix="touchpoint-plugin-") as temporary:
        site = _write_entry_point(plugin, Path(temporary))
        described = _describe_in_subprocess(plugin, site)
        results = [
            *_check_declaration(described),
            _findings_rule("imports", Level.BRONZE, lambda: [
                finding for name, tree in sources.items() for finding in find_forbidden_imports(name, tree)
            ]),
        ]  # fmt: skip
        tests, tests_result = run_tests_offline(plugin.path, plugin.environment, site)
        results += [tests_result, _kit_rule(tests)]
        results.append(_types_rule(plugin, with_types=with_types))
        declared = described.get("plugin") or {}
        secrets = described.get("credential_names", [])
        results.append(_findings_rule("security", Level.GOLD, lambda: [
            finding
            for name, tree in sources.items()
            for finding in (
                *find_undeclared_hosts(name, tree, declared.get("hosts", [])),
                *find_undeclared_secrets(name, tree, secrets),
                *find_blocking_calls(name, tree),
                *find_dangerous_calls(name, tree),
            )
        ]))  # fmt: skip
        results.append(_documentation_rule(plugin))
    return PluginReport(plugin.name, declared, tuple(results), tuple(tests))


def find_plugin(path: Path) -> CheckedPlugin:
    """Returns the plugin at a path.

    Raises:
        StartupError: there is none.
    """
    path = path.absolute()
    if path.suffix == ".py" and path.is_file():
        return CheckedPlugin(path, path.stem, (path,), path.parent, {})
    try:
        table = tomllib.loads((path / "pyproject.toml").read_text(encoding="utf-8"))
        project = table["project"]
        ((name, reference),) = project["entry-points"]["touchpoint"].items()
        module = reference.partition(":")[0].strip()
    except (OSError, KeyError, ValueError, TypeError, AttributeError):
        raise StartupError(
            f"There is no plugin at {path}. Name a Python file, or a folder whose pyproject.toml has one entry point of the "
            "group touchpoint."
        ) from None
    for root in (path, path / "src"):
        for code in (root / module.partition(".")[0], root / f"{module}.py"):
            if code.exists():
                return CheckedPlugin(path, name, (code,), root, project | {"module": reference})
    raise StartupError(f"{path} has no module {module}, which its entry point names.")


def _write_entry_point(plugin: CheckedPlugin, folder: Path) -> Path:
    """Writes the metadata that pip would install, so that the plugin is found without being installed."""
    if not plugin.metadata:
        return folder
    name, version = plugin.metadata.get("name", plugin.name), plugin.metadata.get("version", "0")
    info = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (info / "entry_points.txt").write_text(f"[touchpoint]\n{plugin.name} = {plugin.metadata['module']}\n")
    return folder


def _describe_in_subprocess(plugin: CheckedPlugin, site: Path) -> dict[str, Any]:
    """Returns what the plugin declares, its faults, and the names of the credentials of its connections."""
    folder = "" if plugin.metadata else str(plugin.search_path)
    environment = plugin.environment
    environment["PYTHONPATH"] = os.pathsep.join([str(site), environment["PYTHONPATH"]])
    command = [sys.executable, "-m", "hosts.plugin_author.describe", folder, plugin.name]
    try:
        done = subprocess.run(  # noqa: S603 - the command is ours
            command, env=environment, capture_output=True, text=True, check=True, timeout=_DESCRIBE_SECONDS
        )
    except subprocess.TimeoutExpired:
        return {"faults": [f"it cannot be imported in {_DESCRIBE_SECONDS} seconds"]}
    except subprocess.CalledProcessError as fault:
        return {"faults": [fault.stderr.strip().rpartition("\n")[2]]}
    try:
        described: dict[str, Any] = json.loads(done.stdout.rpartition("\n")[2])
    except ValueError:
        return {"faults": ["it ends the process, or prints while the process ends"]}
    return described


def _check_declaration(described: Mapping[str, Any]) -> list[RuleResult]:
    declared = described.get("plugin") or {}
    faults = list(described.get("faults", []))
    problems = [] if declared.get("is_declared") else ["it has no hook plugin_info with a label"]
    return [
        RuleResult("loads", Level.BRONZE, not faults and bool(declared), tuple(faults)),
        RuleResult("declaration", Level.BRONZE, not problems, tuple(problems)),
    ]


def _findings_rule(name: str, level: Level, find: Callable[[], list[Finding]]) -> RuleResult:
    began = monotonic()
    findings = find()
    return RuleResult(name, level, not findings, tuple(map(str, findings)), monotonic() - began)


def _kit_rule(tests: list[KitTest]) -> RuleResult:
    kits = sorted({test.kit for test in tests if test.kit and test.passed is not None})
    details = (
        (f"ran {', '.join(kits)}",)
        if kits
        else ("no test class inherits from a kit of service_core.testing",)
    )
    return RuleResult("kit", Level.SILVER, bool(kits), details)


def _types_rule(plugin: CheckedPlugin, *, with_types: bool) -> RuleResult:
    """Runs mypy over the code of the plugin; the rule has not run where mypy is not installed."""
    if not with_types:
        return RuleResult("types", Level.SILVER, None, ("left out",))
    began = monotonic()
    cache = Path(tempfile.gettempdir()) / f"touchpoint-plugin-types-{os.getuid()}"
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--no-error-summary",
        "--follow-imports=silent",
        "--cache-dir",
        str(cache),
    ]
    try:
        done = subprocess.run(  # noqa: S603 - the command is ours
            [*command, *map(str, plugin.modules)],
            env=plugin.environment, cwd=plugin.search_path, capture_output=True, text=True, check=False, timeout=_TYPES_SECONDS,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return RuleResult("types", Level.SILVER, False, (f"mypy takes more than {_TYPES_SECONDS} seconds",))
    if "No module named mypy" in done.stderr:
        return RuleResult("types", Level.SILVER, None, ("mypy is not installed",))
    lines = tuple((done.stdout or done.stderr).strip().splitlines())
    return RuleResult("types", Level.SILVER, done.returncode == 0, lines, monotonic() - began)


def _documentation_rule(plugin: CheckedPlugin) -> RuleResult:
    """Checks that a package has what its readers need: a readme, a description and the type marker."""
    if not plugin.metadata:
        return RuleResult("documentation", Level.GOLD, False, ("one file has no package with a README.md",))
    missing = [name for name in ("description", "readme", "version") if not plugin.metadata.get(name)]
    problems = [f"pyproject.toml has no {name}" for name in missing]
    problems += [] if (plugin.path / "README.md").is_file() else ["there is no README.md"]
    return RuleResult("documentation", Level.GOLD, not problems, tuple(problems))
