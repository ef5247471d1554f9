"""Which ad platforms a deployment reads, and at which address."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from hosts.composition.ports import Ports
from hosts.composition.providers import build_ad_sync
from service_core.commerce.ads.models import AdPlatformInfo
from service_core.extensions.hooks import hook
from service_core.extensions.registry import collect_plugins_into_registry
from service_core.kernel.clock import system_clock
from service_core.kernel.errors import StartupError
from service_core.kernel.settings import Settings


class Fixed:
    """A platform at one address."""

    def __init__(self, id_="fixed"):
        self.id = id_
        self.info = AdPlatformInfo()

    async def list_accessible_accounts(self, secrets):
        return []

    async def fetch_daily_spend(self, account, level, first, last, secrets):
        return []


class Moving(Fixed):
    """A platform that may be read at another."""

    def __init__(self, address="https://ads.example/v1"):
        super().__init__("moving")
        self.address = address

    def with_base_url(self, address):
        return Moving(address)


def plugin_with_platforms(*platforms):
    return SimpleNamespace(ad_platforms=hook(lambda: platforms))


def compose_ad_sync(folder, registry, **apis):
    registry = replace(collect_plugins_into_registry(), ad_platforms=registry.ad_platforms)
    settings = Settings(ads={"api_urls": apis})
    return build_ad_sync(Ports(settings, folder, registry, system_clock), settings)


def test_two_platforms_of_one_id_stop_the_start():
    plugins = [("one", plugin_with_platforms(Fixed())), ("two", plugin_with_platforms(Fixed()))]
    with pytest.raises(StartupError, match="both provide the ad platform 'fixed'"):
        collect_plugins_into_registry(plugins, discover_entry_points=False)
    with pytest.raises(StartupError, match="not a AdPlatform"):
        collect_plugins_into_registry([("none", plugin_with_platforms("meta"))], discover_entry_points=False)


def test_settings_name_another_address(tmp_path):
    registry = collect_plugins_into_registry(
        [("ads", plugin_with_platforms(Fixed(), Moving()))], discover_entry_points=False
    )
    assert compose_ad_sync(tmp_path, registry).platforms["moving"].address == "https://ads.example/v1"
    moved = compose_ad_sync(tmp_path, registry, moving="https://ads.example/v2/").platforms
    assert (moved["moving"].address, moved["fixed"].id) == ("https://ads.example/v2", "fixed")
    with pytest.raises(StartupError, match="which no plugin brings"):
        compose_ad_sync(tmp_path, registry, meta="https://ads.example/v2")
    with pytest.raises(StartupError, match="whose plugin knows no other address"):
        compose_ad_sync(tmp_path, registry, fixed="https://ads.example/v2")
