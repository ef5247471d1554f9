"""Locates IP addresses with a MaxMind DB file: ``geo.database = "mmdb:///city.mmdb"``."""

from collections.abc import Iterable

from plugins.geo_mmdb.settings import MmdbSettings
from service_core.plugin import Adapter, GeoLocator, PluginData, PluginInfo, hook


def _open(settings: MmdbSettings) -> GeoLocator:
    from plugins.geo_mmdb.adapter import MmdbGeoLocator

    return MmdbGeoLocator(settings.path, settings.language)


@hook
def plugin_info() -> PluginInfo:
    """The declaration of the plugin."""
    return PluginInfo("MaxMind DB", icon="@", reads=(PluginData.PERSONAL_DATA,))


@hook
def adapters() -> Iterable[Adapter]:
    """Returns the adapter for MaxMind DB files."""
    summary = "Country, region and city of IP addresses from a MaxMind DB file."
    return (Adapter("geo", "mmdb", _open, MmdbSettings, summary),)
