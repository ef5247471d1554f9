"""What stops the start says what to do, and what is installed is found."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from hosts.composition.compose import require_known_ports
from plugins.revenue_stripe.adapter import Stripe
from service_core.extensions.adapters import Adapter, AdapterSettings
from service_core.extensions.hooks import hook
from service_core.extensions.registry import collect_plugins_into_registry
from service_core.kernel.errors import StartupError
from service_core.kernel.operations import operation


class OwnSettings(AdapterSettings):
    threads: int = 1


def fake_adapter(port="geo", scheme="own", settings=OwnSettings):
    return Adapter(port=port, scheme=scheme, open=lambda opened: opened, settings=settings)


def plugin_with_hooks(**hooks):
    return SimpleNamespace(
        **{name: hook(lambda values=tuple(values): values) for name, values in hooks.items()}
    )


def load_test_registry(*adapters):
    return collect_plugins_into_registry(
        [("own", plugin_with_hooks(adapters=adapters or [fake_adapter()]))], discover_entry_points=False
    )


def startup_error(call, *args, **kwargs):
    with pytest.raises(StartupError) as caught:
        call(*args, **kwargs)
    return str(caught.value)


def open_stub_adapter(url, folder=Path("data")):
    return load_test_registry().open_adapter("geo", url, base_folder=folder)


def test_url_scheme_selects_the_adapter_and_the_rest_its_settings():
    assert open_stub_adapter("own:///places.csv?threads=2") == OwnSettings(
        url="own:///places.csv?threads=2", path=Path("data/places.csv"), threads=2
    )


@pytest.mark.parametrize(
    ("url", "fields"),
    [
        ("own://", {}),
        ("own:////var/x.db", {"path": Path("/var/x.db")}),
        ("own:///a%20b.db", {"path": Path("data/a b.db")}),
        (
            "own://u:p@h:5432/db",
            {"host": "h", "port": 5432, "user": "u", "password": "p", "path": Path("/db")},
        ),
    ],
)
def test_url_parts_become_settings(url, fields):
    assert open_stub_adapter(url) == OwnSettings(url=url, **fields)


def test_settings_never_show_a_password():
    assert "secret" not in repr(open_stub_adapter("own://ann:secret@h/db"))


def test_unknown_scheme_error_lists_installed_schemes():
    result = startup_error(open_stub_adapter, "mmdb:///city.mmdb")
    assert "'geo'" in result
    assert "mmdb://" in result
    assert "Installed: own://." in result
    assert "install the plugin" in result


def test_port_without_an_adapter_is_reported():
    assert "Installed: none." in startup_error(
        load_test_registry().open_adapter, "devices", "useragent://", base_folder=Path()
    )


def test_unknown_option_error_lists_known_options():
    result = startup_error(open_stub_adapter, "own:///x?thread=2")
    assert "thread" in result
    assert "threads" in result
    assert (
        "password"
        not in startup_error(open_stub_adapter, "own://ann:hush@h/x?thread=2")
        .replace("password.", "")
        .partition("knows")[0]
    )
    assert "hush" not in startup_error(open_stub_adapter, "own://ann:hush@h/x?thread=2")


@pytest.mark.parametrize(
    ("url", "said"),
    [
        (
            "duckdb://events.duckdb",
            "has to name a file. Write three slashes before it: duckdb:///events.duckdb.",
        ),
        ("duckdb://", "has to name a file. Write three slashes before it: duckdb:///NAME."),
        ("duckdb:///?threads=2", "has to name a file. Write three slashes before it: duckdb:///NAME."),
    ],
)
def test_embedded_store_needs_a_path(url, said):
    assert startup_error(
        collect_plugins_into_registry().open_adapter, "events", url, base_folder=Path()
    ).endswith(said)


def test_url_that_cannot_be_read_is_refused():
    assert "cannot be read" in startup_error(open_stub_adapter, "own://h:port/x")


def test_two_adapters_of_one_scheme_are_refused():
    result = startup_error(
        collect_plugins_into_registry,
        [
            ("a", plugin_with_hooks(adapters=[fake_adapter()])),
            ("b", plugin_with_hooks(adapters=[fake_adapter()])),
        ],
        discover_entry_points=False,
    )
    assert "'geo'" in result
    assert "own://" in result
    assert "Uninstall one" in result


def test_one_scheme_may_serve_two_ports():
    found = load_test_registry(fake_adapter(), fake_adapter(port="devices"))
    assert set(found.adapters) == {("geo", "own"), ("devices", "own")}


def test_misspelt_hook_error_suggests_the_right_name():
    result = startup_error(
        collect_plugins_into_registry, [("own", plugin_with_hooks(adapterz=[]))], discover_entry_points=False
    )
    assert "'own'" in result
    assert "Did you mean 'adapters'?" in result


def test_hook_with_unknown_parameters_is_refused():
    @hook
    def adapters(app):
        return []

    assert "'own'" in startup_error(
        collect_plugins_into_registry,
        [("own", SimpleNamespace(adapters=adapters))],
        discover_entry_points=False,
    )


def test_two_operations_at_one_path_are_refused():
    @operation("GET /x", tag="x")
    async def get_x() -> dict[str, int]:
        """Get it."""
        return {}

    twice = [("a", plugin_with_hooks(operations=[get_x])), ("b", plugin_with_hooks(operations=[get_x]))]
    assert "GET /x" in startup_error(collect_plugins_into_registry, twice, discover_entry_points=False)


def test_two_revenue_providers_of_one_id_are_refused():
    twice = [(name, plugin_with_hooks(revenue_providers=[Stripe()])) for name in "ab"]
    assert "the revenue provider 'stripe'" in startup_error(
        collect_plugins_into_registry, twice, discover_entry_points=False
    )
    found = collect_plugins_into_registry(twice[:1], discover_entry_points=False).revenue_providers
    assert list(found) == ["stripe"]


def test_invalid_revenue_provider_is_refused():
    result = startup_error(
        collect_plugins_into_registry,
        [("own", plugin_with_hooks(revenue_providers=["stripe"]))],
        discover_entry_points=False,
    )
    assert "'own'" in result
    assert "which is not a RevenueProvider" in result


def test_registry_is_frozen():
    with pytest.raises(TypeError):
        load_test_registry().adapters["geo", "other"] = fake_adapter()


def test_plugin_that_cannot_be_imported_is_named(tmp_path, monkeypatch):
    info = tmp_path / "broken-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[touchpoint]\nbroken = no_such_module_here\n")
    monkeypatch.syspath_prepend(tmp_path)
    result = startup_error(collect_plugins_into_registry)
    assert "'broken'" in result
    assert "no_such_module_here" in result


def test_plugin_with_a_wrong_hook_result_is_named():
    result = startup_error(
        collect_plugins_into_registry,
        [("own", plugin_with_hooks(adapters=["a string"]))],
        discover_entry_points=False,
    )
    assert result == "Plugin 'own': its hook 'adapters' returns 'a string', which is not a Adapter."
    result = startup_error(
        collect_plugins_into_registry,
        [("own", plugin_with_hooks(attribution_models=[7]))],
        discover_entry_points=False,
    )
    assert result.endswith("returns 7, which is not a RuleBasedModel or DataDrivenModel.")


def test_plugin_whose_hook_fails_is_named():
    broken = SimpleNamespace(metrics=hook(lambda: [1 / 0]))
    result = startup_error(collect_plugins_into_registry, [("own", broken)], discover_entry_points=False)
    assert result == "Plugin 'own': its hook 'metrics' failed. ZeroDivisionError: division by zero."


@pytest.mark.parametrize("route", ["/greeting", "GRAB /greeting", "GET greeting"])
def test_invalid_route_is_refused(route):
    with pytest.raises(TypeError, match="as in 'GET /overview'"):
        operation(route, tag="shop")


def test_adapter_for_an_unknown_port_stops_the_start():
    result = startup_error(require_known_ports, load_test_registry(fake_adapter(port="export_storages")))
    assert (
        f"{__name__} brings own:// for the port 'export_storages', which does not exist. Did you mean 'export_storage'?"
        in result
    )
    assert require_known_ports(load_test_registry(fake_adapter(port="export_storage"))).adapters.keys() == {
        ("export_storage", "own")
    }
