"""Every name that plugins import from `service_core.plugin` is documented."""

from hosts.reference.plugin_api import exported_names_in_import_order
from tests.architecture.sources import ROOT


def test_every_exported_name_has_a_docstring_of_its_own():
    assert [export.name for export in exported_names_in_import_order() if not export.description] == []


def test_every_exported_name_is_on_the_reference_page():
    page = (ROOT / "docs/reference/plugin-api.md").read_text()
    assert [
        export.name for export in exported_names_in_import_order() if f"`{export.name}`" not in page
    ] == []
