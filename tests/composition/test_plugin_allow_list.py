"""Operators allow plugins by hash, and grant what reaches beyond the workspace of a caller."""

import importlib
import importlib.util
import os
import py_compile
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest

from hosts.composition.plugin_grants import require_granted_dependencies
from service_core import builtin
from service_core.extensions.discovery import PluginOrigin, PluginSelection, find_plugins
from service_core.extensions.registry import collect_plugins_into_registry
from service_core.kernel.errors import StartupError
from service_core.kernel.settings import PluginsSettings
from tests.fixtures.plugin_packages import write_plugin_package

EMPTY = "from service_core.plugin import hook"
WITH_SETTINGS = """
from pydantic import BaseModel
from service_core.plugin import PluginInfo, hook

class ShopSettings(BaseModel):
    token: str = ""

@hook
def plugin_info():
    return PluginInfo("Shop", settings=ShopSettings)
"""
TASK = """
from datetime import timedelta
from service_core.plugin import {kind}, PluginData, PluginInfo, ScheduledJob, hook

async def run(*, workspace, asked: {kind}):
    pass

@hook
def plugin_info():
    return PluginInfo("Task", reads=(PluginData.CREDENTIALS,))

@hook
def scheduled_jobs():
    return [ScheduledJob(id="asking", label="Asking", every=timedelta(hours=1), run=run)]
"""
ASKING = """
from {module} import {kind}
from service_core.plugin import Caller, PluginData, PluginInfo, ResponseModel, hook, operation

class Answer(ResponseModel):
    workspace: str

@operation("GET /asking", tag="shop")
async def ask(*, caller: Caller, asked: {kind}{optional}) -> Answer:
    "Answer."
    return Answer(workspace=caller.workspace.name)

@hook
def plugin_info():
    return PluginInfo("Asking", reads=({reads}))

@hook
def operations():
    return [ask]
"""


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Installs a package with a plugin and the list of its files; gives the folder."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path])

    def install(name, code=EMPTY):
        write_plugin_package(tmp_path, name, code)
        (info,) = tmp_path.glob(f"touchpoint_{name}-*.dist-info")
        files = [f"module_of_touchpoint_{name}.py", *(f"{info.name}/{file.name}" for file in info.iterdir())]
        (info / "RECORD").write_text("".join(f"{file},,\n" for file in [*files, f"{info.name}/RECORD"]))
        return tmp_path

    return install


def asking(kind, reads="", *, module="service_core.plugin", optional=""):
    return ASKING.format(kind=kind, reads=reads, module=module, optional=optional)


def find_others(allowed):
    selection = PluginSelection(allowed=None if allowed is None else frozenset(allowed.items()))
    plugins, faults = find_plugins(selection, (), discover_entry_points=True)
    others = {plugin.name: plugin for plugin in plugins if plugin.origin is not PluginOrigin.BUILT_IN}
    return others, [fault.message for fault in faults]


def test_plugin_with_the_allowed_hash_is_loaded_and_another_one_refused_by_name(install):
    install("hashed_one")
    install("hashed_two")
    hashes = {name: plugin.hash_files().hash for name, plugin in find_others(None)[0].items()}
    others, faults = find_others({"hashed_one": hashes["hashed_one"]})
    assert set(others) == {"hashed_one"}
    (fault,) = faults
    assert "'hashed_two' (touchpoint-hashed-two 1.0) is refused: plugins.allowed does not name it." in fault
    assert set(find_others({})[0]) == set()


def test_component_that_reads_any_workspace_needs_a_grant(install):
    install("asking_component", asking("CurrencyConverter", module="service_core.analytics.fx.convert"))
    registry = collect_plugins_into_registry([("builtin", builtin)])
    with pytest.raises(StartupError, match="CurrencyConverter, which reaches every workspace"):
        require_granted_dependencies(registry, PluginsSettings())


def test_settings_of_another_plugin_need_a_grant_and_own_ones_none(install):
    install("settings_owner", WITH_SETTINGS)
    module = "module_of_touchpoint_settings_owner"
    install("asking_settings", asking("ShopSettings", module=module))
    registry = collect_plugins_into_registry([("builtin", builtin)])
    with pytest.raises(StartupError, match="ShopSettings, which reaches credentials") as refused:
        require_granted_dependencies(registry, PluginsSettings())
    assert "settings_owner" not in str(refused.value)


@pytest.mark.parametrize(("kind", "is_refused"), [("SecretCipher", True), ("EventReader", False)])
def test_background_task_needs_a_grant_for_credentials_only(install, kind, is_refused):
    install("asking_task", TASK.format(kind=kind))
    registry = collect_plugins_into_registry([("builtin", builtin)])
    if is_refused:
        with pytest.raises(StartupError, match=r"The task 'asking' of plugin .*plugins.granted"):
            require_granted_dependencies(registry, PluginsSettings())
    require_granted_dependencies(registry, PluginsSettings(granted={"asking_task": ("credentials",)}))


def test_plugin_whose_files_changed_is_refused_before_it_is_imported(install):
    folder = install("hashed_three")
    allowed = {"hashed_three": find_others(None)[0]["hashed_three"].hash_files().hash}
    (folder / "module_of_touchpoint_hashed_three.py").write_text("raise SystemExit('imported')")
    others, (fault,) = find_others(allowed)
    assert others == {}
    assert "another hash" in fault


def test_hash_ignores_byte_code_and_what_installers_write(install):
    folder = install("hashed_four")
    before = find_others(None)[0]["hashed_four"].hash_files().hash
    (info,) = folder.glob("touchpoint_hashed_four-*.dist-info")
    (info / "INSTALLER").write_text("pip")
    record = info / "RECORD"
    record.write_text(record.read_text() + f"{info.name}/INSTALLER,,\n__pycache__/x.pyc,,\n")
    assert find_others(None)[0]["hashed_four"].hash_files().hash == before


def test_hash_covers_byte_code_that_the_package_ships_as_a_module(install):
    folder = install("hashed_six")
    (info,) = folder.glob("touchpoint_hashed_six-*.dist-info")
    record = info / "RECORD"
    record.write_text(f"{record.read_text()}helper.pyc,,\n")
    hashes = set()
    for code in (b"old", b"new"):
        (folder / "helper.pyc").write_bytes(code)
        hashes.add(find_others(None)[0]["hashed_six"].hash_files().hash)
    assert len(hashes) == 2


def load_allowed(name):
    """Returns what imports a plugin whose present hash is allowed."""
    (plugin,) = find_others({name: find_others(None)[0][name].hash_files().hash})[0].values()
    importlib.invalidate_caches()
    return plugin.load


def test_byte_code_of_another_source_is_not_executed(install):
    folder = install("forged_one", "value = 'source'")
    source = folder / "module_of_touchpoint_forged_one.py"
    forged = folder / "forged.py"
    forged.write_text("value = 'forged'")
    cached = Path(importlib.util.cache_from_source(source))
    for mode in (py_compile.PycInvalidationMode.UNCHECKED_HASH, py_compile.PycInvalidationMode.TIMESTAMP):
        os.utime(forged, ns=(source.stat().st_atime_ns, source.stat().st_mtime_ns))
        py_compile.compile(str(forged), cfile=str(cached), invalidation_mode=mode)
        assert load_allowed("forged_one")().value == "source"
        del sys.modules[source.stem]


def test_byte_code_of_the_plugin_folder_is_not_executed(tmp_path):
    (tmp_path / "shop.py").write_text("value = 'source'")
    (tmp_path / "other.py").write_text("value = 'forged'")
    cached = importlib.util.cache_from_source(tmp_path / "shop.py")
    mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
    py_compile.compile(str(tmp_path / "other.py"), cfile=cached, invalidation_mode=mode)
    plugins, _ = find_plugins(PluginSelection(folder=tmp_path), (), discover_entry_points=True)
    assert next(plugin for plugin in plugins if plugin.name == "shop").load().value == "source"


def test_file_that_takes_the_place_of_a_hashed_one_is_not_imported(install):
    folder = install("forged_two")
    load = load_allowed("forged_two")
    module = "module_of_touchpoint_forged_two"
    (folder / f"{module}{EXTENSION_SUFFIXES[0]}").write_bytes(b"forged")
    importlib.invalidate_caches()
    with pytest.raises(ImportError, match=r"is none of the files whose hash plugins\.allowed names"):
        load()


def test_source_that_changed_after_the_comparison_is_not_executed(install):
    folder = install("forged_three")
    load = load_allowed("forged_three")
    (folder / "module_of_touchpoint_forged_three.py").write_text("raise SystemExit('executed')")
    with pytest.raises(ImportError, match="has changed since its hash was compared"):
        load()


def test_module_outside_the_files_of_its_package_has_no_hash(install, tmp_path):
    folder = install("hashed_five")
    (info,) = folder.glob("touchpoint_hashed_five-*.dist-info")
    (info / "entry_points.txt").write_text("[touchpoint]\nhashed_five = json\n")
    plugin = find_others(None)[0]["hashed_five"]
    with pytest.raises(StartupError, match="not imported from the files"):
        plugin.hash_files()
    assert "cannot be compared" in find_others({"hashed_five": "sha256:0"})[1][0]


def test_file_of_the_plugin_folder_has_a_hash(tmp_path):
    (tmp_path / "shop.py").write_text(EMPTY)
    selection = PluginSelection(folder=tmp_path, allowed=frozenset())
    _, (fault,) = find_plugins(selection, (), discover_entry_points=True)
    assert fault.plugin.hash_files().hash.startswith("sha256:")


@pytest.mark.parametrize(
    ("kind", "data", "grant"),
    [("SecretCipher", "CREDENTIALS", "credentials"), ("RateLimiter", "WORKSPACES", "workspaces")],
)
@pytest.mark.parametrize("optional", ["", " | None"])
def test_operation_that_reaches_further_needs_its_declaration_and_the_grant(
    install, kind, data, grant, optional
):
    name = f"asking_{grant}"
    install(name, asking(kind, f"PluginData.{data},", optional=optional))
    registry = collect_plugins_into_registry([("builtin", builtin)])
    with pytest.raises(StartupError, match=rf"GET /asking of plugin .*{kind}.*plugins.granted"):
        require_granted_dependencies(registry, PluginsSettings())
    require_granted_dependencies(registry, PluginsSettings(granted={name: (grant,)}))


def test_grant_without_a_declaration_is_not_enough(install):
    install("asking_silently", asking("SecretCipher"))
    registry = collect_plugins_into_registry([("builtin", builtin)])
    with pytest.raises(StartupError, match=r"Its declaration has to name PluginData\.CREDENTIALS"):
        require_granted_dependencies(registry, PluginsSettings(granted={"asking_silently": ("credentials",)}))


def test_operation_that_asks_for_its_caller_alone_needs_no_grant(install):
    install("asking_little", asking("Clock"))
    registry = collect_plugins_into_registry([("builtin", builtin)])
    require_granted_dependencies(registry, PluginsSettings())
    assert "asking_little" in {plugin.installed.name for plugin in registry.loaded_plugins}
