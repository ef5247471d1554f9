"""Exchange rates from a file of your own: ``fx.rates = "rates:///rates.csv"``."""

from collections.abc import Iterable

from plugins.fx_file.settings import RateFileSettings
from service_core.plugin import Adapter, PluginInfo, RateSource, hook


def _open(settings: RateFileSettings) -> RateSource:
    from plugins.fx_file.adapter import RateCsvFile

    return RateCsvFile(settings.path)


@hook
def plugin_info() -> PluginInfo:
    """The declaration of the plugin."""
    return PluginInfo("Exchange rates of a file", icon="¤")


@hook
def adapters() -> Iterable[Adapter]:
    """The adapter on a table of days and currencies."""
    summary = "Exchange rates from a CSV file, a line a day and a column a currency."
    return (Adapter("fx", "rates", _open, RateFileSettings, summary),)
