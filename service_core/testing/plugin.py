"""The conformance kit of every plugin: it loads beside the core, and its hooks have no side effects.

Override the fixture ``plugin`` with the module and inherit the tests::

    class TestMyPlugin(PluginConformance):
        @pytest.fixture
        def plugin(self):
            return my_plugin
"""

import pytest

from service_core import builtin
from service_core.extensions.plugin_values import LoadedPlugin
from service_core.extensions.registry import collect_plugins_into_registry

_NAME = "plugin_under_test"


class PluginConformance:
    """All tests of the kit; override the fixture ``plugin``."""

    @pytest.fixture
    def plugin(self) -> object:
        """Returns the module under test."""
        raise pytest.UsageError("override the fixture `plugin` with the module under test")

    def test_plugin_loads_beside_the_core(self, plugin: object) -> None:
        """Its hooks return values of their types, and none of its ids is one of the core."""
        assert _load(plugin).provided_ids_by_hook

    def test_hooks_return_the_same_ids_each_time(self, plugin: object) -> None:
        """Hooks depend on nothing that changes."""
        assert _load(plugin).provided_ids_by_hook == _load(plugin).provided_ids_by_hook

    def test_plugin_declares_its_label(self, plugin: object) -> None:
        """The hook `plugin_info` names the plugin for people."""
        assert _load(plugin).info.label


def _load(plugin: object) -> LoadedPlugin:
    registry = collect_plugins_into_registry(
        [("builtin", builtin), (_NAME, plugin)], discover_entry_points=False
    )
    return registry.loaded_plugins[-1]
