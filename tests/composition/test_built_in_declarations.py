"""Built-in plugins declare of themselves what plugins of others have to: label, icon, hosts, data, credentials."""

from pathlib import Path
from urllib.parse import urlsplit

import pytest

import plugins
from hosts.composition.compose import load_installed_registry_once
from hosts.composition.plugin_descriptions import describe_plugins
from hosts.plugin_author.source_rules import find_undeclared_hosts, find_undeclared_secrets, parse_sources
from service_core.extensions.discovery import PluginOrigin
from service_core.plugin import PluginData

FOLDER = Path(plugins.__file__).parent
REGISTRY = load_installed_registry_once()
BUILT_IN = {
    plugin.installed.name: plugin
    for plugin in REGISTRY.loaded_plugins
    if plugin.installed.origin is PluginOrigin.BUILT_IN and plugin.installed.name != "builtin"
}
READ_BY_HOOK = {
    "ad_platforms": PluginData.CREDENTIALS,
    "conversion_senders": PluginData.EVENTS,
    "revenue_providers": PluginData.PAYMENTS,
    "ingest_protocols": PluginData.EVENTS,
    "attribution_models": PluginData.EVENTS,
}


def test_every_folder_is_a_plugin_that_declares_itself():
    assert {path.parent.name for path in FOLDER.glob("*/__init__.py")} == set(BUILT_IN)


@pytest.mark.parametrize("name", BUILT_IN)
def test_built_in_plugin_declares_label_icon_version_homepage_and_api_version(name):
    plugin = BUILT_IN[name]
    assert plugin.info.label != ""
    assert 1 <= len(plugin.info.icon) <= 2
    assert plugin.version != ""
    assert plugin.homepage.endswith(f"/plugins/{name}")
    assert plugin.info.api_version == "1.0"


@pytest.mark.parametrize("name", BUILT_IN)
def test_built_in_plugin_declares_every_host_and_credential_of_its_source(name):
    plugin = BUILT_IN[name]
    credentials = {field for shown in plugin.connections.values() for field in shown.credential_names}
    findings = [
        str(finding)
        for file, tree in parse_sources(FOLDER / name).items()
        for finding in (
            *find_undeclared_hosts(file, tree, plugin.info.hosts),
            *find_undeclared_secrets(file, tree, credentials),
        )
    ]
    assert findings == []


@pytest.mark.parametrize("name", BUILT_IN)
def test_built_in_plugin_declares_the_data_that_its_hooks_read(name):
    plugin = BUILT_IN[name]
    needed = {READ_BY_HOOK[hook] for hook in plugin.provided_ids_by_hook if hook in READ_BY_HOOK}
    assert needed <= {*plugin.info.reads}


@pytest.mark.parametrize("id_", REGISTRY.connectable_providers.by_id)
def test_built_in_provider_declares_label_homepage_and_help_of_each_credential(id_):
    declaration = REGISTRY.connectable_providers.by_id[id_].declaration
    assert declaration is not None
    assert urlsplit(declaration.homepage).scheme == "https"
    assert declaration.credentials
    assert all(field.label and field.help for field in declaration.credentials)


def test_description_of_a_plugin_has_its_connections_and_how_to_test_them():
    (meta,) = [plugin for plugin in describe_plugins(REGISTRY)["plugins"] if plugin["name"] == "ads_meta"]
    (connection,) = meta["connections"]
    assert connection["provider"] == "meta"
    assert connection["test"] == "touchpoint connection test meta"
    assert [field["name"] for field in connection["credentials"]] == ["access_token"]
    assert meta["hosts"] == ["graph.facebook.com"]
