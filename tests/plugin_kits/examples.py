"""The examples of the docs, as `touchpoint plugin new` writes them: the right plugins that wrong ones change."""

import importlib.util
import sys
import tempfile
from functools import cache
from pathlib import Path
from types import ModuleType

from hosts.plugin_author.scaffold import write_plugin_package


@cache
def load_example(kind: str) -> tuple[ModuleType, ModuleType]:
    """Returns the module of a new plugin of a kind, named ``right_KIND``, and the module of its tests."""
    name = f"right_{kind}"
    with tempfile.TemporaryDirectory() as folder:
        package = write_plugin_package(kind, name, Path(folder))
        return (
            _import_file(name, package / name / "__init__.py"),
            _import_file(f"test_{name}", package / "tests" / f"test_{name}.py"),
        )


def _import_file(name: str, file: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, file)
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
