"""Every name that plugins import from `service_core.plugin` is documented."""

import pytest

from hosts.reference.plugin_api import exported_names_in_import_order, render_plugin_api_page
from hosts.reference.plugin_hooks import kinds_with_hook
from service_core.extensions.plugin_values import VALUE_KINDS
from service_core.plugin import API_VERSION
from tests.architecture.sources import ROOT


def test_every_exported_name_has_a_docstring_of_its_own():
    assert [export.name for export in exported_names_in_import_order() if not export.description] == []


def test_reference_page_is_a_snapshot_of_the_surface_with_signatures():
    page = (ROOT / "docs/reference/plugin-api.md").read_text()
    assert page == render_plugin_api_page(), (
        "run `touchpoint docs --write`, and raise API_VERSION for a change"
    )
    assert f"Version {API_VERSION} of the plugin API" in page
    assert "| `RateLimiter` | protocol | `consume(key, limit, window_seconds)` |" in page
    assert "| `operation` | function | `(route, *, scope=, " in page


@pytest.mark.parametrize("hook", VALUE_KINDS)
def test_every_hook_has_an_executed_example(hook):
    assert kinds_with_hook(hook) != [], "tests/plugin_author runs the example of each kind"


def test_every_exported_name_is_on_the_reference_page():
    page = (ROOT / "docs/reference/plugin-api.md").read_text()
    assert [
        export.name for export in exported_names_in_import_order() if f"`{export.name}`" not in page
    ] == []
