"""Writes the package of a new plugin."""

import keyword
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from hosts.plugin_author.kinds import KINDS, TEMPLATES, PluginKind
from service_core.documentation.pages import installed_docs_folder
from service_core.extensions.plugin_info import API_VERSION
from service_core.kernel.errors import StartupError

_FILE_IN_PAGE: Final = re.compile(r"^```python\n# (\w+\.py)\n(.*?)^```", re.MULTILINE | re.DOTALL)
_ASSET_IN_PAGE: Final = re.compile(
    r"^```(?:html|css)\n(?:<!--|/\*) ([\w/]+\.\w+) (?:-->|\*/)\n(.*?)^```", re.MULTILINE | re.DOTALL
)
"""A template or style sheet: its path in the package, and its text."""
_INSTALLED_TEST: Final = re.compile(r"\n\ndef test_it_is_installed_under_its_id\(\):\n(?:    .*\n)+")
_REGISTRY_IMPORT: Final = "from service_core.extensions.registry import collect_plugins_into_registry\n"
_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,39}[a-z0-9]")
_TAKEN_NAMES: Final = sys.stdlib_module_names | {"hosts", "plugins", "pytest", "service_core", "tests"}
_RENAMED_IN_TEMPLATES: Final = {
    "my_plugin": "{name}",
    "test_my_plugin": "test_{name}",
    "get_my_plugin": "get_{name}",
    "MyPlugin": "{class_name}",
    "TestMyPlugin": "Test{class_name}",
    "MyPluginSettings": "{class_name}Settings",
    "MyPluginGreeting": "{class_name}Greeting",
    "my-plugin": "{scheme}",
}
_PLUGIN_IMPORT: Final = "from service_core.plugin import"


def write_plugin_package(kind: str, name: str, parent: Path) -> Path:
    """Writes a package that can be installed and passes its tests; returns its folder.

    Args:
        kind: a key of `KINDS`.
        name: name of the plugin, of its module and of what it provides.
        parent: folder in which the new folder is made.

    Raises:
        StartupError: the name is no identifier in lower case, is that of another module, or the folder exists.
    """
    if not _NAME.fullmatch(name) or keyword.iskeyword(name):
        raise StartupError(f"{name!r} is no name of a plugin. Write it like acme_shop: a-z, 0-9 and _.")
    if name in _TAKEN_NAMES:
        raise StartupError(
            f"{name!r} is no name of a plugin: another module has it. Write it like acme_shop."
        )
    folder = parent / name
    if folder.exists():
        raise StartupError(f"{folder} exists already. Choose another name, or another folder with --dir.")
    module, test = _example_files(kind, name)
    files = {
        "pyproject.toml": _render_pyproject(name, KINDS[kind]),
        "README.md": _render_readme(name, kind),
        f"{name}/__init__.py": _with_declaration(module, KINDS[kind], _label(name)),
        f"{name}/py.typed": "",
        f"tests/test_{name}.py": test,
        f"tests/test_{name}_loads.py": _render_loading_test(name),
        **{f"{name}/{path}": text for path, text in _example_assets(kind, name)},
    }
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    return folder


def module_of_kind(kind: str) -> str:
    """Returns the code of the example of a kind, as ``touchpoint plugin new`` writes it for the name ``my_plugin``."""
    return _example_files(kind, "my_plugin")[0]


def _example_files(kind: str, name: str) -> tuple[str, str]:
    """Returns the module and the test of the example of a kind, renamed."""
    declared = KINDS[kind]
    page = installed_docs_folder() / declared.page if declared.page else TEMPLATES / f"{kind}.md"
    (_, module), (_, test), *_ = _FILE_IN_PAGE.findall(page.read_text(encoding="utf-8"))
    renamed = declared.renamed if declared.page else _RENAMED_IN_TEMPLATES
    return _rename_words(module, renamed, name), _rename_words(_without_installed_test(test), renamed, name)


def _example_assets(kind: str, name: str) -> list[tuple[str, str]]:
    """Returns path and text of the templates and static files of the example of a kind, renamed."""
    if KINDS[kind].page:
        return []
    found = _ASSET_IN_PAGE.findall((TEMPLATES / f"{kind}.md").read_text(encoding="utf-8"))
    return [
        (_rename_words(path, _RENAMED_IN_TEMPLATES, name), _rename_words(text, _RENAMED_IN_TEMPLATES, name))
        for path, text in found
    ]


def _without_installed_test(test: str) -> str:
    """Returns the tests of a page without the one that needs the plugin installed; the kit of plugins replaces it."""
    shortened = _INSTALLED_TEST.sub("", test)
    return shortened if shortened == test else shortened.replace(_REGISTRY_IMPORT, "")


def _rename_words(text: str, renamed: Mapping[str, str], name: str) -> str:
    """Returns an example with its names replaced by those of the plugin."""
    for old, new in renamed.items():
        pattern = re.escape(old) if old.startswith('"') else rf"\b{re.escape(old)}\b"
        replacement = new.format(
            name=name, class_name=_class_name(name), label=_label(name), scheme=name.replace("_", "-")
        )
        text = re.sub(pattern, replacement, text)
    return text


def _with_declaration(module: str, kind: PluginKind, label: str) -> str:
    """Returns the module with the hook `plugin_info`."""
    data = "PluginData, " if kind.reads else ""
    before, _, after = module.partition(_PLUGIN_IMPORT)
    reads = "".join(f"PluginData.{member}, " for member in kind.reads)
    hosts = "".join(f'"{host}", ' for host in kind.hosts)
    arguments = [f'label="{label}"', f'api_version="{API_VERSION}"']
    arguments += [f"hosts=({hosts.rstrip()})"] if hosts else []
    arguments += [f"reads=({reads.rstrip()})"] if reads else []
    lines = "".join(f"        {argument},\n" for argument in arguments)
    return (
        f"{before}{_PLUGIN_IMPORT} {data}PluginInfo\n{_PLUGIN_IMPORT}{after.rstrip()}\n\n\n"
        f'@hook\ndef plugin_info():\n    """The declaration of the plugin."""\n    return PluginInfo(\n{lines}    )\n'
    )


def _class_name(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("_"))


def _label(name: str) -> str:
    return name.replace("_", " ").capitalize()


def _render_pyproject(name: str, kind: PluginKind) -> str:
    return f"""[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "touchpoint-{name.replace("_", "-")}"
version = "0.1.0"
description = "A plugin of Touchpoint that {kind.summary}."
readme = "README.md"
requires-python = ">=3.11"
dependencies = ["touchpoint-analytics"]

[project.entry-points.touchpoint]
{name} = "{name}"

[tool.hatch.build.targets.wheel]
packages = ["{name}"]

[tool.pytest.ini_options]
asyncio_mode = "auto"
pythonpath = ["."]
"""


def _render_loading_test(name: str) -> str:
    return f"""import {name}
import pytest

from service_core.testing.plugin import PluginConformance


class Test{_class_name(name)}Loads(PluginConformance):
    @pytest.fixture
    def plugin(self):
        return {name}
"""


def _render_readme(name: str, kind: str) -> str:
    return f"""# {_label(name)}

A plugin of Touchpoint that {KINDS[kind].summary}.

| file | what it is |
|---|---|
| `pyproject.toml` | the package and its entry point of the group `touchpoint` |
| `{name}/__init__.py` | the plugin: its hooks, and what they return |
| `tests/test_{name}.py` | its tests |

`touchpoint plugin check .` runs the tests and the rules for plugins. `pip install .` installs it into the environment of the
service, and `touchpoint plugins` lists it.
"""
