"""Places by IP network from a CSV table: ``geo.database = "table:///places.csv"``."""

from collections.abc import Iterable
from pathlib import Path

from pydantic import Field

from service_core.plugin import Adapter, AdapterSettings, GeoLocator, PluginData, PluginInfo, hook


class TableSettings(AdapterSettings):
    """``table:///places.csv?delimiter=;``."""

    path: Path
    delimiter: str = Field(",", min_length=1, max_length=1)


def _open(settings: TableSettings) -> GeoLocator:
    from geo_table.network_table import LongestPrefixNetworkTable  # noqa: PLC0415 - what takes time is imported when it is chosen

    return LongestPrefixNetworkTable.read_csv(settings.path, settings.delimiter)


@hook
def plugin_info() -> PluginInfo:
    """The declaration: it sees the IP addresses of events, and calls no host."""
    return PluginInfo(label="Places from a table", icon="📍", reads=(PluginData.PERSONAL_DATA,))


@hook
def adapters() -> Iterable[Adapter]:
    """The adapter on a CSV file."""
    return (
        Adapter(
            port="geo",
            scheme="table",
            open=_open,
            settings=TableSettings,
            summary="Places by IP network, from a CSV table.",
        ),
    )
