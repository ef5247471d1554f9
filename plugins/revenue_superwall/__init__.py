"""Purchases and subscriptions that Superwall reports: ``touchpoint connection add superwall``."""

from collections.abc import Iterable

from plugins.revenue_superwall.adapter import Superwall
from service_core.plugin import PluginData, PluginInfo, RevenueProvider, hook


@hook
def plugin_info() -> PluginInfo:
    """The declaration of the plugin."""
    return PluginInfo(
        "Superwall", icon="W", reads=(PluginData.PAYMENTS, PluginData.PERSONAL_DATA, PluginData.CREDENTIALS)
    )


@hook
def revenue_providers() -> Iterable[RevenueProvider]:
    """Superwall."""
    return (Superwall(),)
