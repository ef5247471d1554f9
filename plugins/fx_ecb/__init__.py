"""Reference rates of the European Central Bank: ``fx.rates = "ecb:///"``."""

from collections.abc import Iterable

from plugins.fx_ecb.settings import EcbSettings
from service_core.plugin import Adapter, PluginInfo, RateSource, hook


def _open(settings: EcbSettings) -> RateSource:
    from plugins.fx_ecb.adapter import EcbReferenceRates

    return EcbReferenceRates(settings)


@hook
def plugin_info() -> PluginInfo:
    """The declaration of the plugin."""
    return PluginInfo("European Central Bank", icon="€", hosts=("www.ecb.europa.eu",))


@hook
def adapters() -> Iterable[Adapter]:
    """The adapter on what the bank publishes each working day."""
    summary = "Reference rates of the European Central Bank for some thirty currencies, each working day."
    return (Adapter("fx", "ecb", _open, EcbSettings, summary),)
