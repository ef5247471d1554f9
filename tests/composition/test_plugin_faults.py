"""A faulty plugin is named with its package, and never keeps the others from being loaded."""

import asyncio
from importlib.metadata import PathDistribution
from types import SimpleNamespace

import pytest
from pydantic import BaseModel

from hosts.composition import ports as composition_ports
from hosts.composition.compose import compose, load_registry_of_deployment
from hosts.composition.plugin_settings import validate_plugin_settings
from hosts.composition.ports import PORTS, Ports, start_adapters
from hosts.composition.protocol_comparison import describe_protocol_differences
from service_core import builtin
from service_core.access.ports import RateLimiter
from service_core.extensions.discovery import PluginOrigin, PluginSelection, find_plugins
from service_core.extensions.hooks import hook
from service_core.extensions.plugin_info import PluginData, PluginInfo, describe_unsupported_api_version
from service_core.extensions.registry import collect_plugins_into_registry
from service_core.kernel.clock import system_clock
from service_core.kernel.errors import StartupError
from service_core.kernel.operations import operation
from service_core.kernel.settings import Settings
from tests.fixtures.plugin_packages import write_plugin_package
from tests.fixtures.waiting import GUARD_SECONDS

LENIENT = PluginSelection(leave_out_faulty=True)
GEO_ADAPTER = """
from service_core.plugin import Adapter, hook

@hook
def adapters():
    return [Adapter(port="geo", scheme="table", open=lambda settings: settings)]
"""
FAULTY = {
    "at import": "raise RuntimeError('no licence')",
    "by leaving at import": "raise SystemExit(3)",
    "in a hook": """
        from service_core.plugin import hook

        @hook
        def metrics():
            raise RuntimeError("no licence")
        """,
    "in its declaration": """
        from service_core.plugin import PluginInfo, hook

        @hook
        def plugin_info():
            return PluginInfo(api_version="2.0")
        """,
    "with a misspelt hook": """
        from service_core.plugin import hook

        @hook
        def metricz():
            return []
        """,
    "with a number as API version": """
        from service_core.plugin import PluginInfo, hook

        @hook
        def plugin_info():
            return PluginInfo(api_version=1.0)
        """,
    "with one text as hosts": """
        from service_core.plugin import PluginInfo, hook

        @hook
        def plugin_info():
            return PluginInfo(hosts='api.shop.example')
        """,
    "with texts as kinds of data": """
        from service_core.plugin import PluginInfo, hook

        @hook
        def plugin_info():
            return PluginInfo(reads=('events',))
        """,
    "with a value as settings": """
        from service_core.plugin import PluginInfo, hook

        @hook
        def plugin_info():
            return PluginInfo(settings={'region': 'eu'})
        """,
    "with a provider whose id fails": """
        from plugins.revenue_stripe.adapter import Stripe
        from service_core.plugin import hook

        class Till(Stripe):
            @property
            def id(self):
                raise KeyError("id")

        @hook
        def revenue_providers():
            return [Till()]
        """,
}


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Installs packages with plugins."""
    site = tmp_path / "site"
    site.mkdir()
    monkeypatch.syspath_prepend(site)
    return lambda *arguments, **more: write_plugin_package(site, *arguments, **more)


@pytest.mark.parametrize("code", FAULTY.values(), ids=FAULTY)
def test_faulty_plugin_stops_the_start_or_is_left_out_and_is_named_with_its_package(install, code):
    install("broken", code, package="acme-broken", version="2.5")
    with pytest.raises(StartupError) as refused:
        collect_plugins_into_registry([("builtin", builtin)])
    registry = collect_plugins_into_registry([("builtin", builtin)], selection=LENIENT)
    assert "broken" not in registry.plugins
    assert "events_sql" in registry.plugins
    (fault,) = registry.faults
    for message in (str(refused.value), fault.message):
        assert "'broken' (acme-broken 2.5)" in message


def test_faulty_plugin_message_tells_how_to_start_without_it(install):
    install("broken", FAULTY["at import"])
    with pytest.raises(StartupError, match=r"--without-plugin broken, or plugins\.disabled"):
        collect_plugins_into_registry()


def test_disabled_plugin_is_not_imported(install):
    install("broken", FAULTY["at import"])
    registry = collect_plugins_into_registry(selection=PluginSelection(disabled=frozenset({"broken"})))
    assert "broken" not in registry.plugins


def test_settings_and_command_line_disable_plugins(install, tmp_path, monkeypatch):
    install("broken", FAULTY["at import"])
    install("other", FAULTY["in a hook"])
    monkeypatch.setenv("TOUCHPOINT_WITHOUT_PLUGINS", "other")
    settings = Settings.model_validate({"plugins": {"disabled": ["broken"]}})
    registry = load_registry_of_deployment(settings, tmp_path)
    assert registry.disabled == {"broken", "other"}


def test_all_clashes_are_reported_together_with_both_packages(install):
    install("one", GEO_ADAPTER, package="acme-one", version="1.1")
    install("two", GEO_ADAPTER, package="acme-two", version="2.2")
    install("same", "", package="acme-first")
    install("same", "", package="acme-second")
    metric_of_core = """
        from plugins.revenue_stripe.adapter import Stripe
        from service_core.plugin import hook

        @hook
        def revenue_providers():
            return [Stripe()]
        """
    install("stripe_again", metric_of_core, package="acme-stripe")
    with pytest.raises(StartupError) as refused:
        collect_plugins_into_registry()
    message = str(refused.value)
    for both in (
        ("'one' (acme-one 1.1)", "'two' (acme-two 2.2)", "table://"),
        ("'same' (acme-first 1.0)", "'same' (acme-second 1.0)"),
        ("'revenue_stripe' (touchpoint-analytics", "'stripe_again' (acme-stripe 1.0)", "'stripe'"),
    ):
        assert all(part in message for part in both), message


def test_plugin_that_clashes_with_an_earlier_one_is_left_out(install):
    install("one", GEO_ADAPTER, package="acme-one")
    install("two", GEO_ADAPTER, package="acme-two")
    registry = collect_plugins_into_registry(selection=LENIENT)
    assert "one" in registry.plugins
    assert [fault.plugin.package for fault in registry.faults] == ["acme-two"]


def test_ad_platform_and_revenue_provider_of_one_id_clash(install):
    code = """
        from plugins.revenue_stripe.adapter import Stripe
        from service_core.plugin import hook

        class Till(Stripe):
            id = "meta"

        @hook
        def revenue_providers():
            return [Till()]
        """
    install("till", code, package="acme-till")
    registry = collect_plugins_into_registry([("builtin", builtin)], selection=LENIENT)
    (fault,) = registry.faults
    assert fault.plugin.package == "acme-till"
    assert "'meta', as an ad platform and as a revenue provider" in fault.message
    assert "meta" in registry.connectable_providers.by_id


def test_plugin_that_needs_a_dimension_of_a_faulty_one_is_left_out_too(install):
    code = """
        from service_core.plugin import Additivity, Dimension, Metric, MetricUnit, Relation, count_rows, hook, property_column

        @hook
        def dimensions():
            return [Dimension("{own}", "Own", "Own.", columns={{Relation.EVENTS: property_column("own")}})]

        @hook
        def metrics():
            return [
                Metric(
                    id="{own}_rows",
                    label="Rows",
                    unit=MetricUnit.NUMBER,
                    category="own",
                    additivity=Additivity.RATIO,
                    measure=count_rows(Relation.EVENTS),
                    dimensions=("{needed}",),
                    description="Rows.",
                )
            ]
        """
    install("first", code.format(own="first_term", needed="unknown_term"))
    install("second", code.format(own="second_term", needed="first_term"))
    registry = collect_plugins_into_registry([("builtin", builtin)], selection=LENIENT)
    assert [fault.plugin.name for fault in registry.faults] == ["first", "second"]
    assert "first_term_rows" not in registry.catalog.metrics


def test_metadata_of_a_package_is_read_once(monkeypatch):
    reads = []
    read_text = PathDistribution.read_text

    def count_reads(self, filename):
        reads.append((self._path, filename))
        return read_text(self, filename)

    monkeypatch.setattr(PathDistribution, "read_text", count_reads)
    find_plugins(PluginSelection(), [], discover_entry_points=True)
    own = [path for path, name in reads if name == "METADATA" and "touchpoint_analytics" in str(path)]
    assert len(own) <= 2  # the name to leave out repeated packages, and once for all plugins


def test_routes_of_two_plugins_clash_with_both_names():
    @operation("GET /x", tag="x")
    async def get_x() -> dict[str, int]:
        """Get it."""
        return {}

    plugins = [(name, SimpleNamespace(operations=hook(lambda: [get_x]))) for name in ("one", "two")]
    with pytest.raises(StartupError, match="'one' and 'two' both provide GET /x"):
        collect_plugins_into_registry(plugins, discover_entry_points=False)


def test_declaration_and_metadata_of_a_plugin_are_known(install):
    code = """
        from pydantic import BaseModel
        from service_core.plugin import PluginData, PluginInfo, hook

        class ShopSettings(BaseModel):
            region: str = "eu"

        @hook
        def plugin_info():
            return PluginInfo(label="Shop", hosts=("api.shop.example",), reads=(PluginData.EVENTS,), settings=ShopSettings)
        """
    install("shop", code, version="3.1", homepage="https://shop.example")
    registry = collect_plugins_into_registry()
    (shop,) = [plugin for plugin in registry.loaded_plugins if plugin.installed.name == "shop"]
    assert (shop.label, shop.version, shop.homepage) == ("Shop", "3.1", "https://shop.example")
    assert (shop.info.hosts, shop.info.reads) == (("api.shop.example",), (PluginData.EVENTS,))
    assert shop.installed.origin is PluginOrigin.PACKAGE
    (stripe,) = [plugin for plugin in registry.loaded_plugins if plugin.installed.name == "revenue_stripe"]
    assert stripe.installed.origin is PluginOrigin.BUILT_IN


@pytest.mark.parametrize(
    ("wanted", "fits"), [("1.0", True), ("1.1", False), ("2.0", False), ("0.9", False), ("one", False)]
)
def test_api_version_is_compared(wanted, fits):
    assert (describe_unsupported_api_version(wanted, "1.0") is None) is fits


class ShopSettings(BaseModel):
    region: str = "eu"
    rows: int = 1


def registry_of_shop():
    return collect_plugins_into_registry(
        [("shop", SimpleNamespace(plugin_info=hook(lambda: PluginInfo(settings=ShopSettings))))],
        discover_entry_points=False,
    )


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ({"shop": {"rows": "many"}}, "rows"),
        ({"shp": {"rows": 1}}, "Did you mean shop"),
    ],
)
def test_settings_of_a_plugin_are_validated_by_its_model(tables, message):
    registry = registry_of_shop()
    fitting = Settings.model_validate({"plugins": {"shop": {"rows": 7}}}).plugins
    assert validate_plugin_settings(registry, fitting) == {ShopSettings: ShopSettings(rows=7)}
    with pytest.raises(StartupError, match=message):
        validate_plugin_settings(registry, Settings.model_validate({"plugins": tables}).plugins)


def test_operation_gets_the_settings_of_its_plugin(tmp_path):
    @operation("GET /region", tag="shop", scope=None)
    async def get_region(*, settings: ShopSettings) -> dict[str, str]:
        """Get it."""
        return {"region": settings.region}

    shop = SimpleNamespace(
        plugin_info=hook(lambda: PluginInfo(settings=ShopSettings)), operations=hook(lambda: [get_region])
    )
    registry = collect_plugins_into_registry([("builtin", builtin), ("shop", shop)])
    settings = Settings.model_validate(
        {
            "storage": {"events": "memory://", "workspace": "sqlite:///w.db"},
            "plugins": {"shop": {"region": "us"}},
        }
    )
    service = compose(settings, tmp_path, registry=registry)
    assert service.component(ShopSettings).region == "us"


@pytest.mark.parametrize(
    ("consume", "problem"),
    [
        ("def consume(self, key, limit, window_seconds): return None", "consume has to be async"),
        ("async def consume(self, key): return None", "consume does not take (key, limit, window_seconds)"),
        ("consume = None", "it has no method consume(key, limit, window_seconds)"),
        (
            "async def consume(self, key, limit, window_seconds, extra): return None",
            "consume does not take (key, limit, window_seconds)",
        ),
        ("async def consume(self, key, limit, window_seconds=60): return None", None),
    ],
)
def test_method_is_compared_with_that_of_the_protocol(consume, problem):
    namespace = {}
    exec(f"class Limiter:\n    {consume}", namespace)
    found = describe_protocol_differences(namespace["Limiter"](), RateLimiter)
    assert found == ([] if problem is None else [problem])


@pytest.mark.parametrize("name", PORTS)
def test_default_adapters_fit_their_ports(name, tmp_path):
    declared, settings = PORTS[name], Settings()
    if not declared.url(settings):
        return
    adapter = Ports(
        settings, tmp_path, load_registry_of_deployment(settings, tmp_path), system_clock
    ).adapter(name)
    for protocol, attribute in declared.adapter_attribute_by_protocol.items():
        served = adapter if attribute is None else getattr(adapter, attribute)
        assert describe_protocol_differences(served, protocol) == []


def test_adapter_is_compared_with_its_protocol_when_it_is_opened(install, tmp_path):
    code = """
        from service_core.plugin import Adapter, hook

        class LimiterWithFaults:
            def consume(self, key):
                return key

        @hook
        def adapters():
            return [Adapter("limits", "acme", open=lambda settings: LimiterWithFaults())]
        """
    install("acme", code, package="acme-limits")
    registry = collect_plugins_into_registry([("builtin", builtin)])
    settings = Settings.model_validate({"rate_limits": {"store": "acme://"}})
    ports = Ports(settings, tmp_path, registry, system_clock)
    with pytest.raises(StartupError) as refused:
        ports.limits  # noqa: B018 - opened when it is read
    assert "rate_limits.store" in str(refused.value)
    assert "plugin 'acme' (acme-limits 1.0)" in str(refused.value)


class SlowStart:
    """An adapter that never finishes its start."""

    async def start(self):
        await asyncio.Event().wait()


async def test_start_that_hangs_is_refused_after_its_limit(monkeypatch):
    monkeypatch.setattr(composition_ports, "START_LIMIT_SECONDS", 0.01)
    with pytest.raises(StartupError, match=f"{__name__} did not start within 0.01 seconds"):
        async with start_adapters([SlowStart()]):
            pass


async def test_start_limit_may_be_a_whole_number():
    adapter = SlowStart()
    adapter.start_limit_seconds = 0
    with pytest.raises(StartupError, match="did not start within 0 seconds"):
        async with asyncio.timeout(GUARD_SECONDS), start_adapters([adapter]):
            pass


def test_plugin_of_one_file_works_without_packaging(tmp_path):
    folder = tmp_path / "own"
    folder.mkdir()
    (folder / "places.py").write_text(GEO_ADAPTER)
    for left_out in ("_draft.py", "test_places.py", "conftest.py"):
        (folder / left_out).write_text("raise RuntimeError")
    settings = Settings.model_validate({"plugins": {"folder": "own"}})
    registry = load_registry_of_deployment(settings, tmp_path)
    assert ("geo", "table") in registry.adapters
    assert registry.plugin_of_adapter("geo", "table").package == str(folder / "places.py")


def test_plugin_folder_that_does_not_exist_is_refused(tmp_path):
    settings = Settings.model_validate({"plugins": {"folder": "own"}})
    with pytest.raises(StartupError, match=r"plugins\.folder names"):
        load_registry_of_deployment(settings, tmp_path)
