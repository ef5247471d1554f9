"""Purchases and subscriptions that RevenueCat reports: ``touchpoint connection add revenuecat``."""

from collections.abc import Iterable

from plugins.revenue_revenuecat.adapter import RevenueCat
from service_core.plugin import PluginData, PluginInfo, RevenueProvider, hook


@hook
def plugin_info() -> PluginInfo:
    """The declaration of the plugin."""
    return PluginInfo(
        "RevenueCat", icon="R", reads=(PluginData.PAYMENTS, PluginData.PERSONAL_DATA, PluginData.CREDENTIALS)
    )


@hook
def revenue_providers() -> Iterable[RevenueProvider]:
    """RevenueCat."""
    return (RevenueCat(),)
