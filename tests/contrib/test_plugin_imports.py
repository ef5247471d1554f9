"""What comes from outside uses what outsiders may use."""

import ast
from pathlib import Path

import pytest

CONTRIB = Path(__file__).parents[2] / "contrib"
SOURCES = sorted(path for path in CONTRIB.rglob("*.py") if not path.name.startswith("test_"))


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: f"{path.parent.name}.{path.stem}")
def test_contrib_plugins_import_only_the_plugin_api(path):
    for node in ast.walk(ast.parse(path.read_text())):
        names = [node.module] if isinstance(node, ast.ImportFrom) else []
        names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        for name in names:
            assert not name.startswith(("service_core", "plugins", "hosts")) or name == "service_core.plugin"
