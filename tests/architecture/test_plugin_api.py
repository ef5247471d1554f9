"""Every name that plugins import from `service_core.plugin` is documented."""

from hosts.reference.plugin_api import exported_names
from tests.architecture.sources import ROOT


def test_every_exported_name_has_a_docstring_of_its_own():
    assert [export.name for export in exported_names() if not export.description] == []


def test_every_exported_name_is_on_the_reference_page():
    page = (ROOT / "docs/reference/plugin-api.md").read_text()
    assert [export.name for export in exported_names() if f"`{export.name}`" not in page] == []
