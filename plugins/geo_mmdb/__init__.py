"""Locates IP addresses with a MaxMind DB file: ``geo.database = "mmdb:///city.mmdb"``."""

from collections.abc import Iterable

from plugins.geo_mmdb.settings import MmdbSettings
from service_core.plugin import Adapter, GeoLocator, hook


def _open(settings: MmdbSettings) -> GeoLocator:
    from plugins.geo_mmdb.adapter import MmdbGeoLocator

    return MmdbGeoLocator(settings.path, settings.language)


@hook
def adapters() -> Iterable[Adapter]:
    """Returns the adapter for MaxMind DB files."""
    return (
        Adapter(
            port="geo",
            scheme="mmdb",
            open=_open,
            settings=MmdbSettings,
            summary="Country, region and city of IP addresses from a MaxMind DB file.",
        ),
    )
