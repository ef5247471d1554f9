"""What no linter knows about the house: sizes, shapes of plugins and ports, cheap imports."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = sorted(
    path
    for wing in ("service_core", "plugins", "hosts", "contrib")
    for path in (ROOT / wing).rglob("*.py")
    if "build" not in path.parts
)
PLUGINS = sorted(
    path for path in (ROOT / "plugins").iterdir() if path.is_dir() and path.name != "__pycache__"
)
HEAVY = ("alembic", "duckdb", "maxminddb", "polars", "quart", "redis", "sqlalchemy", "ua_parser", "webauthn")
INGEST = (
    *("hosts.ingest.run", "hosts.servers.hypercorn", "plugins.ingest_spool.adapter"),
    *("plugins.workspace_sql.adapter", "plugins.workspace_sql.sqlite"),
)
SERVE = (
    *(*INGEST, "hosts.single_process", "hosts.roles.api_app", "plugins.devices_useragent.adapter"),
    *("plugins.events_sql.adapter", "plugins.events_sql.dialects.duckdb.backend"),
)
"""What the two processes of a service have loaded by the time they answer."""

UNUSED = (
    *("alembic", "crawleruseragents", "cryptography", "dependency_injector.containers", "httpx2"),
    *("maxminddb", "polars", "redis", "rich", "sqlalchemy.orm", "webauthn"),
)
"""What they have no use for until then, in megabytes each."""

LONG_FILES: dict[str, str] = {}
"""Files that may pass the limit, each with its reason; the list only shrinks."""


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def test_a_file_is_one_idea():
    lines = {name_of(path): len(path.read_text().splitlines()) for path in SOURCES}
    long = {name: count for name, count in lines.items() if count > 450 and name not in LONG_FILES}
    assert not long, "split it by meaning"


def test_every_module_says_what_it_is_for():
    assert [name_of(path) for path in SOURCES if not ast.get_docstring(tree_of(path))] == []


def test_no_file_is_named_for_nothing():
    empty = {"utils", "util", "helpers", "helper", "manager", "common", "misc", "service", "base"}
    assert [name_of(path) for path in SOURCES if path.stem in empty] == []


@pytest.mark.parametrize("folder", PLUGINS, ids=lambda folder: folder.name)
def test_a_plugin_folder_has_the_uniform_shape(folder):
    names = {path.name for path in folder.iterdir()}
    assert {"__init__.py", "README.md"} <= names
    assert len((folder / "__init__.py").read_text().splitlines()) <= 30


@pytest.mark.parametrize("path", [path for path in SOURCES if path.name == "ports.py"], ids=name_of)
def test_ports_are_protocols_of_few_methods(path):
    for node in tree_of(path).body:
        if not isinstance(node, ast.ClassDef) or not any(
            ast.unparse(base) == "Protocol" for base in node.bases
        ):
            continue
        methods = [item for item in node.body if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef)]
        assert 1 <= len(methods) <= 6, f"{node.name} has {len(methods)} methods"
        assert all(ast.get_docstring(method) for method in methods), node.name


def test_no_module_holds_state_that_changes():
    held = [f"{name_of(path)}:{line}" for path in SOURCES for line in changeable(tree_of(path))]
    assert held == [], "a constant is Final"


def changeable(tree: ast.Module) -> Iterator[int]:
    """Lines of a module that hold a list, a dict or a set which is not said to be final."""
    for node in tree.body:
        value = getattr(node, "value", None)
        if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(
            value, ast.List | ast.Dict | ast.Set | ast.DictComp
        ):
            annotation = ast.unparse(node.annotation) if isinstance(node, ast.AnnAssign) else ""
            if "Final" not in annotation and "Mapping" not in annotation:
                yield node.lineno


def loaded_of(names: tuple[str, ...], modules: tuple[str, ...]) -> str:
    """Those of some names that are loaded with modules."""
    code = f"import sys, {', '.join(modules)}\nprint(*[name for name in {names!r} if name in sys.modules])"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    return ran.stdout.strip()


def test_plugins_are_cheap_to_import():
    plugins = tuple(f"plugins.{folder.name}" for folder in PLUGINS)
    assert loaded_of(HEAVY, plugins) == "", "heavy imports belong inside `open`"


def test_an_idle_service_holds_nothing_that_only_work_needs():
    advice = "import it where it is used: two idle processes take 250 MB at most"
    assert loaded_of(UNUSED, SERVE) == "", advice
    assert loaded_of((*UNUSED, *HEAVY[1:5], "sqlalchemy.dialects.postgresql"), INGEST) == "", advice
