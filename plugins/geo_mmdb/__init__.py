"""Places by IP address from a MaxMind DB file: ``geo.database = "mmdb:///city.mmdb"``."""

from collections.abc import Iterable

from plugins.geo_mmdb.settings import MmdbSettings
from service_core.plugin import Adapter, GeoLocator, hook


def _open(settings: MmdbSettings) -> GeoLocator:
    from plugins.geo_mmdb.adapter import MmdbGeoLocator

    return MmdbGeoLocator(settings.path, settings.language)


@hook
def adapters() -> Iterable[Adapter]:
    """The adapter on a database file."""
    return (
        Adapter(
            port="geo",
            scheme="mmdb",
            open=_open,
            settings=MmdbSettings,
            summary="Country, region and city of IP addresses from a MaxMind DB file.",
        ),
    )
