"""Rules for source files that no linter checks: size, shape of plugins and ports, cheap imports."""

import ast
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.architecture.sources import ROOT, SOURCES, base_names, classes_in, module_name, parse_source

PLUGINS = sorted(
    path for path in (ROOT / "plugins").iterdir() if path.is_dir() and path.name != "__pycache__"
)
HEAVY = (
    *("alembic", "duckdb", "maxminddb", "polars", "quart", "redis", "sqlalchemy", "ua_parser_rs", "webauthn"),
    "device_detector",
)
INGEST = (
    *("hosts.ingest.run", "hosts.servers.uvicorn", "plugins.ingest_spool.adapter"),
    *("plugins.workspace_sql.adapter", "plugins.workspace_sql.sqlite"),
)
SERVE = (
    *(
        *INGEST,
        "hosts.single_process",
        "hosts.servers.hypercorn",
        "hosts.roles.api_app",
        "plugins.devices_useragent.adapter",
    ),
    *("plugins.events_sql.adapter", "plugins.events_sql.dialects.duckdb.backend"),
)
"""Modules that the ingest host, and the process of the API, have loaded when they start to answer."""

CONSUMER = (
    *("hosts.consumer.run", "plugins.ingest_spool.adapter", "plugins.devices_useragent.adapter"),
    *("plugins.workspace_sql.adapter", "plugins.workspace_sql.sqlite"),
)
"""Modules that the consumer has loaded when it waits for the first event."""

UNUSED = (
    *("alembic", "crawleruseragents", "cryptography", "dependency_injector.containers", "device_detector"),
    *("httpx2", "maxminddb", "polars", "redis", "rich", "sqlalchemy.orm", "webauthn"),
)
"""Modules of several megabytes that an idle service must not have loaded."""

LONG_FILES = {
    "service_core/plugin.py": "one import line for each name of the plugin API; a second file would be a second API"
}
"""Files that may exceed the limit, each with its reason; the list only shrinks."""


def test_files_have_at_most_450_lines():
    lines = {module_name(path): len(path.read_text().splitlines()) for path in SOURCES}
    long = {name: count for name, count in lines.items() if count > 450 and name not in LONG_FILES}
    assert not long, "split them by topic"


def test_every_module_has_a_docstring():
    assert [module_name(path) for path in SOURCES if not ast.get_docstring(parse_source(path))] == []


def test_file_names_are_not_vague():
    empty = {"utils", "util", "helpers", "helper", "manager", "common", "misc", "service", "base"}
    assert [module_name(path) for path in SOURCES if path.stem in empty] == []


@pytest.mark.parametrize("folder", PLUGINS, ids=lambda folder: folder.name)
def test_plugin_folders_have_the_same_shape(folder):
    names = {path.name for path in folder.iterdir()}
    assert {"__init__.py", "README.md"} <= names
    assert len((folder / "__init__.py").read_text().splitlines()) <= 30


LARGE_PROTOCOLS: dict[str, str] = {
    "plugins/events_sql/execution/query_executor.py:EngineSession": "2026-11-22: the dialects get a small interface",
    "plugins/events_sql/execution/query_executor.py:Backend": "2026-11-22: the dialects get a small interface",
    "service_core/delivery/postbacks/outbox.py:PostbackOutbox": "2026-11-22: the workspace store splits its ports",
}
"""Protocols with more than six methods, each with its reason; the list only shrinks."""


def test_protocols_have_one_to_six_documented_methods():
    wrong = []
    for path in SOURCES:
        for node in classes_in(path):
            if "Protocol" not in base_names(node) or len(node.bases) > 1:
                continue
            methods = [item for item in node.body if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef)]
            name = f"{module_name(path)}:{node.name}"
            if len(methods) > 6 and name not in LARGE_PROTOCOLS:
                wrong.append(f"{name} has {len(methods)} methods")
            if path.name == "ports.py":
                wrong += [
                    f"{name}.{method.name} has no docstring"
                    for method in methods
                    if not ast.get_docstring(method)
                ]
    assert wrong == []


MODELS_IN_OPERATIONS = {
    "service_core/analytics/attribution_reads/operations.py",
    "service_core/analytics/cohorts/operations.py",
    "service_core/analytics/funnels/operations.py",
    "service_core/analytics/install_attribution/operations.py",
    "service_core/analytics/people/operations.py",
    "service_core/commerce/subscriptions/operations.py",
    "service_core/delivery/exports/operations.py",
    "service_core/ingestion/operations.py",
}
"""Modules that still declare request or response models beside their operations; the list only shrinks."""


def test_request_and_response_models_stand_in_schemas():
    models = {"QueryModel", "BodyModel", "ResponseModel", "DryRunBody", "DryRunQuery", "ListQuery"}
    found = {
        module_name(path)
        for path in SOURCES
        if path.name == "operations.py"
        for node in classes_in(path)
        if base_names(node) & models
    }
    assert sorted(found - MODELS_IN_OPERATIONS) == []


def test_conftest_files_have_at_most_150_lines():
    lines = {
        module_name(path): len(path.read_text().splitlines())
        for path in (ROOT / "tests").rglob("conftest.py")
    }
    assert {name for name, count in lines.items() if count > 150} == set()


def test_modules_hold_no_mutable_state():
    held = [
        f"{module_name(path)}:{line}" for path in SOURCES for line in mutable_assignments(parse_source(path))
    ]
    assert held == [], "declare constants as Final"


def mutable_assignments(tree: ast.Module) -> Iterator[int]:
    """Line numbers of module-level lists, dicts and sets that are not Final."""
    for node in tree.body:
        value = getattr(node, "value", None)
        if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(
            value, ast.List | ast.Dict | ast.Set | ast.DictComp
        ):
            annotation = ast.unparse(node.annotation) if isinstance(node, ast.AnnAssign) else ""
            if "Final" not in annotation and "Mapping" not in annotation:
                yield node.lineno


def loaded_names(names: tuple[str, ...], modules: tuple[str, ...]) -> str:
    """The modules of `names` that are loaded after importing `modules`."""
    code = f"import sys, {', '.join(modules)}\nprint(*[name for name in {names!r} if name in sys.modules])"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    return ran.stdout.strip()


def test_importing_plugins_loads_no_heavy_library():
    plugins = tuple(f"plugins.{folder.name}" for folder in PLUGINS)
    assert loaded_names(HEAVY, plugins) == "", "heavy imports belong inside `open`"


def test_idle_service_has_loaded_no_unused_library():
    advice = "import it where it is used: every idle process pays for it in memory"
    assert loaded_names(UNUSED, SERVE) == "", advice
    assert loaded_names((*UNUSED, "duckdb", "hypercorn", "quart", "uvicorn"), CONSUMER) == "", advice
    assert loaded_names((*UNUSED, *HEAVY[1:5], "sqlalchemy.dialects.postgresql"), INGEST) == "", advice
