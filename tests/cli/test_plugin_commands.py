"""Commands of plugins: under their name, and never loaded for others."""

import sys

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from hosts.cli import app
from hosts.composition.compose import _load_registry
from service_core.extensions.command_groups import BUILT_IN_COMMANDS, CommandGroup
from service_core.kernel.errors import StartupError

PLUGIN = """
from pydantic import BaseModel
from service_core.plugin import CommandGroup, PluginInfo, hook

class ShopSettings(BaseModel):
    region: str = "eu"

def open_commands(settings):
    import typer
    app = typer.Typer()

    @app.callback()
    def group(): "Commands of the shop."

    @app.command("greet")
    def greet(name: str, config: str = ""): typer.echo(f"Hello {name} of {settings.region}.")

    return app

@hook
def plugin_info():
    return PluginInfo("Shop", settings=ShopSettings)

@hook
def command_groups():
    return [CommandGroup("NAME", open_commands)]
"""


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Writes plugins into the plugin folder; gives the variable that names it."""
    _load_registry.cache_clear()
    monkeypatch.setitem(sys.modules, "touchpoint_plugin_shop", None)

    def install(**codes):
        for name, code in codes.items():
            (tmp_path / f"{name}.py").write_text(code)
        return {"TOUCHPOINT_PLUGINS__FOLDER": str(tmp_path)}

    yield install
    _load_registry.cache_clear()


def test_command_of_a_plugin_runs_with_its_settings(touchpoint, install):
    variables = install(shop=PLUGIN.replace("NAME", "shop-tools"))
    assert touchpoint("shop-tools", "greet", "Ada", **variables).stdout == "Hello Ada of eu.\n"
    variables |= {"TOUCHPOINT_PLUGINS__SHOP__REGION": "us"}
    assert touchpoint("shop-tools", "greet", "Ada", **variables).stdout == "Hello Ada of us.\n"
    assert "Commands of the shop." in touchpoint("shop-tools", "--help", **variables).stdout


def test_plugins_are_not_loaded_for_built_in_commands_and_help(touchpoint, install):
    variables = install(shop="raise SystemExit('imported')")
    assert "touchpoint" in touchpoint("--version", **variables).stdout
    assert "Usage" in touchpoint("--help", **variables).stdout
    assert "Usage" in touchpoint("key", "--help", **variables).stdout


def test_unknown_command_names_faulty_plugins_that_may_have_brought_it(touchpoint, install):
    refused = touchpoint("shop-tools", code=2, **install(shop="raise RuntimeError('no licence')"))
    assert "No such command" in refused.output
    assert "no licence" in refused.output


def test_command_of_a_disabled_plugin_is_unknown(touchpoint, install):
    variables = install(shop=PLUGIN.replace("NAME", "shop-tools"))
    refused = touchpoint("--without-plugin", "shop", "shop-tools", "greet", "Ada", code=2, **variables)
    assert "No such command" in refused.output


def test_two_plugins_with_one_command_are_reported_with_both_names(touchpoint, install):
    code = PLUGIN.replace("NAME", "shop-tools")
    listed = touchpoint("plugins", **install(shop=code, store=code))
    assert "the command 'shop-tools'" in listed.stderr
    assert "shop.py" in listed.stderr
    assert "store.py" in listed.stderr


def test_name_of_a_built_in_command_is_refused(touchpoint, install):
    listed = touchpoint("plugins", **install(shop=PLUGIN.replace("NAME", "key")))
    assert "The command 'key' is built in" in listed.stderr
    with pytest.raises(StartupError, match="is not of lower case"):
        CommandGroup("Shop Tools", lambda _: None)


def test_commands_that_are_no_typer_app_are_refused_with_the_plugin(touchpoint, install):
    code = PLUGIN.replace("NAME", "shop-tools").replace("return app", "return 'app'")
    refused = touchpoint("shop-tools", "greet", "Ada", code=2, **install(shop=code))
    assert "which is no typer.Typer" in refused.stderr


def test_names_of_built_in_commands_are_those_of_the_command_line():
    assert {*get_command(app).commands} == BUILT_IN_COMMANDS


def test_version_needs_no_plugin():
    assert CliRunner().invoke(app, ["--version"]).exit_code == 0
