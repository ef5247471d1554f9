"""Operators allow plugins by hash, and grant what reaches beyond the workspace of a caller."""

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
    hashes = {name: plugin.hash() for name, plugin in find_others(None)[0].items()}
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
    allowed = {"hashed_three": find_others(None)[0]["hashed_three"].hash()}
    (folder / "module_of_touchpoint_hashed_three.py").write_text("raise SystemExit('imported')")
    others, (fault,) = find_others(allowed)
    assert others == {}
    assert "another hash" in fault


def test_hash_ignores_byte_code_and_what_installers_write(install):
    folder = install("hashed_four")
    before = find_others(None)[0]["hashed_four"].hash()
    (info,) = folder.glob("touchpoint_hashed_four-*.dist-info")
    (info / "INSTALLER").write_text("pip")
    record = info / "RECORD"
    record.write_text(record.read_text() + f"{info.name}/INSTALLER,,\n__pycache__/x.pyc,,\n")
    assert find_others(None)[0]["hashed_four"].hash() == before


@pytest.mark.parametrize("row", ["__pycache__/x.pyc,sha256=AAAA,3", "helper.pyc,,"])
def test_hash_covers_byte_code_that_the_package_ships(install, row):
    folder = install("hashed_six")
    (info,) = folder.glob("touchpoint_hashed_six-*.dist-info")
    record = info / "RECORD"
    record.write_text(f"{record.read_text()}{row}\n")
    file = folder / row.partition(",")[0]
    file.parent.mkdir(exist_ok=True)
    hashes = set()
    for code in (b"old", b"new"):
        file.write_bytes(code)
        hashes.add(find_others(None)[0]["hashed_six"].hash())
    assert len(hashes) == 2


def test_module_outside_the_files_of_its_package_has_no_hash(install, tmp_path):
    folder = install("hashed_five")
    (info,) = folder.glob("touchpoint_hashed_five-*.dist-info")
    (info / "entry_points.txt").write_text("[touchpoint]\nhashed_five = json\n")
    plugin = find_others(None)[0]["hashed_five"]
    with pytest.raises(StartupError, match="not imported from the files"):
        plugin.hash()
    assert "cannot be compared" in find_others({"hashed_five": "sha256:0"})[1][0]


def test_file_of_the_plugin_folder_has_a_hash(tmp_path):
    (tmp_path / "shop.py").write_text(EMPTY)
    selection = PluginSelection(folder=tmp_path, allowed=frozenset())
    _, (fault,) = find_plugins(selection, (), discover_entry_points=True)
    assert fault.plugin.hash().startswith("sha256:")


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
