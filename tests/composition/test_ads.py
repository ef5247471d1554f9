"""Which ad platforms a deployment reads, and at which address."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from hosts.composition.ports import Ports
from hosts.composition.providers import build_ad_sync
from service_core.commerce.ads.models import AdPlatformInfo
from service_core.extensions.hooks import hook
from service_core.extensions.registry import load_plugins
from service_core.kernel.clock import system_clock
from service_core.kernel.errors import StartupError
from service_core.kernel.settings import Settings


class Fixed:
    """A platform at one address."""

    def __init__(self, id_="fixed"):
        self.id = id_
        self.info = AdPlatformInfo()

    async def accounts(self, secrets):
        return []

    async def spend(self, account, level, first, last, secrets):
        return []


class Moving(Fixed):
    """A platform that may be read at another."""

    def __init__(self, address="https://ads.example/v1"):
        super().__init__("moving")
        self.address = address

    def with_base_url(self, address):
        return Moving(address)


def bringing(*platforms):
    return SimpleNamespace(ad_platforms=hook(lambda: platforms))


def reading(folder, registry, **apis):
    registry = replace(load_plugins(), ad_platforms=registry.ad_platforms)
    settings = Settings(ads={"api_urls": apis})
    return build_ad_sync(Ports(settings, folder, registry, system_clock), settings)


def test_two_platforms_of_one_id_stop_the_start():
    plugins = [("one", bringing(Fixed())), ("two", bringing(Fixed()))]
    with pytest.raises(StartupError, match="Two plugins provide the ad platform 'fixed'"):
        load_plugins(plugins, discover=False)
    with pytest.raises(StartupError, match="not a AdPlatform"):
        load_plugins([("none", bringing("meta"))], discover=False)


def test_the_settings_name_another_address(tmp_path):
    registry = load_plugins([("ads", bringing(Fixed(), Moving()))], discover=False)
    assert reading(tmp_path, registry).platforms["moving"].address == "https://ads.example/v1"
    moved = reading(tmp_path, registry, moving="https://ads.example/v2/").platforms
    assert (moved["moving"].address, moved["fixed"].id) == ("https://ads.example/v2", "fixed")
    with pytest.raises(StartupError, match="which no plugin brings"):
        reading(tmp_path, registry, meta="https://ads.example/v2")
    with pytest.raises(StartupError, match="whose plugin knows no other address"):
        reading(tmp_path, registry, fixed="https://ads.example/v2")
