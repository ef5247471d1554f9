"""What stops the start says what to do, and what is installed is found."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from hosts.composition.compose import require_known_ports
from plugins.revenue_stripe.adapter import Stripe
from service_core.extensions.adapters import Adapter, AdapterSettings
from service_core.extensions.hooks import hook
from service_core.extensions.registry import load_plugins
from service_core.kernel.errors import StartupError
from service_core.kernel.operations import operation


class OwnSettings(AdapterSettings):
    threads: int = 1


def adapter(port="geo", scheme="own", settings=OwnSettings):
    return Adapter(port=port, scheme=scheme, open=lambda opened: opened, settings=settings)


def plugin(**hooks):
    return SimpleNamespace(
        **{name: hook(lambda values=tuple(values): values) for name, values in hooks.items()}
    )


def registry(*adapters):
    return load_plugins([("own", plugin(adapters=adapters or [adapter()]))], discover=False)


def refusal(call, *args, **kwargs):
    with pytest.raises(StartupError) as caught:
        call(*args, **kwargs)
    return str(caught.value)


def opened(url, folder=Path("data")):
    return registry().open_adapter("geo", url, folder=folder)


def test_the_scheme_of_a_url_chooses_the_adapter_and_the_rest_is_its_settings():
    assert opened("own:///places.csv?threads=2") == OwnSettings(
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
def test_parts_of_a_url(url, fields):
    assert opened(url) == OwnSettings(url=url, **fields)


def test_settings_never_show_a_password():
    assert "secret" not in repr(opened("own://ann:secret@h/db"))


def test_an_unknown_scheme_names_the_installed_ones():
    said = refusal(opened, "mmdb:///city.mmdb")
    assert "'geo'" in said
    assert "mmdb://" in said
    assert "Installed: own://." in said
    assert "install the plugin" in said


def test_a_port_without_any_adapter_says_so():
    assert "Installed: none." in refusal(registry().open_adapter, "devices", "useragent://", folder=Path())


def test_an_option_the_adapter_does_not_know_names_those_it_knows():
    said = refusal(opened, "own:///x?thread=2")
    assert "thread" in said
    assert "threads" in said
    assert (
        "password"
        not in refusal(opened, "own://ann:hush@h/x?thread=2").replace("password.", "").partition("knows")[0]
    )
    assert "hush" not in refusal(opened, "own://ann:hush@h/x?thread=2")


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
def test_what_keeps_data_here_is_never_opened_without_a_path(url, said):
    assert refusal(load_plugins().open_adapter, "events", url, folder=Path()).endswith(said)


def test_a_url_that_cannot_be_read_is_refused():
    assert "cannot be read" in refusal(opened, "own://h:port/x")


def test_two_adapters_of_one_scheme_are_refused():
    said = refusal(
        load_plugins,
        [("a", plugin(adapters=[adapter()])), ("b", plugin(adapters=[adapter()]))],
        discover=False,
    )
    assert "'geo'" in said
    assert "own://" in said
    assert "Uninstall one" in said


def test_one_scheme_may_serve_two_ports():
    found = registry(adapter(), adapter(port="devices"))
    assert set(found.adapters) == {("geo", "own"), ("devices", "own")}


def test_a_misspelt_hook_names_the_near_one():
    said = refusal(load_plugins, [("own", plugin(adapterz=[]))], discover=False)
    assert "'own'" in said
    assert "Did you mean 'adapters'?" in said


def test_a_hook_with_parameters_nobody_gives_is_refused():
    @hook
    def adapters(app):
        return []

    assert "'own'" in refusal(load_plugins, [("own", SimpleNamespace(adapters=adapters))], discover=False)


def test_two_operations_at_one_path_are_refused():
    @operation("GET /x", tag="x")
    async def get_x() -> dict[str, int]:
        """Get it."""
        return {}

    twice = [("a", plugin(operations=[get_x])), ("b", plugin(operations=[get_x]))]
    assert "GET /x" in refusal(load_plugins, twice, discover=False)


def test_two_revenue_providers_of_one_id_are_refused():
    twice = [(name, plugin(revenue_providers=[Stripe()])) for name in "ab"]
    assert "the revenue provider 'stripe'" in refusal(load_plugins, twice, discover=False)
    found = load_plugins(twice[:1], discover=False).revenue_providers
    assert list(found) == ["stripe"]


def test_what_is_no_revenue_provider_is_refused():
    said = refusal(load_plugins, [("own", plugin(revenue_providers=["stripe"]))], discover=False)
    assert "'own'" in said
    assert "which is not a RevenueProvider" in said


def test_the_registry_is_frozen():
    with pytest.raises(TypeError):
        registry().adapters["geo", "other"] = adapter()


def test_a_plugin_that_cannot_be_imported_is_named(tmp_path, monkeypatch):
    info = tmp_path / "broken-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[touchpoint]\nbroken = no_such_module_here\n")
    monkeypatch.syspath_prepend(tmp_path)
    said = refusal(load_plugins)
    assert "'broken'" in said
    assert "no_such_module_here" in said


def test_a_plugin_that_brings_something_else_is_named():
    said = refusal(load_plugins, [("own", plugin(adapters=["a string"]))], discover=False)
    assert said == "Plugin 'own': its hook 'adapters' returns 'a string', which is not a Adapter."
    said = refusal(load_plugins, [("own", plugin(attribution_models=[7]))], discover=False)
    assert said.endswith("returns 7, which is not a RuleBasedModel or DataDrivenModel.")


def test_a_plugin_whose_hook_fails_is_named():
    broken = SimpleNamespace(metrics=hook(lambda: [1 / 0]))
    said = refusal(load_plugins, [("own", broken)], discover=False)
    assert said == "Plugin 'own': its hook 'metrics' failed. ZeroDivisionError: division by zero."


@pytest.mark.parametrize("route", ["/greeting", "GRAB /greeting", "GET greeting"])
def test_a_route_that_is_none_is_refused(route):
    with pytest.raises(TypeError, match="as in 'GET /overview'"):
        operation(route, tag="shop")


def test_an_adapter_for_a_port_that_is_not_there_stops_the_start():
    said = refusal(require_known_ports, registry(adapter(port="sinks")))
    assert (
        f"{__name__} brings own:// for the port 'sinks', which does not exist. Did you mean 'sink'?" in said
    )
    assert require_known_ports(registry(adapter(port="sink"))).adapters.keys() == {("sink", "own")}
