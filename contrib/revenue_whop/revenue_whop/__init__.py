"""Payments and memberships from Whop: ``touchpoint connection add whop``."""

from collections.abc import Iterable

from revenue_whop.provider import Whop
from service_core.plugin import PluginData, PluginInfo, RevenueProvider, hook


@hook
def plugin_info() -> PluginInfo:
    """The declaration: it reads webhooks, and calls no host."""
    return PluginInfo(label="Whop", icon="W", reads=(PluginData.PAYMENTS, PluginData.PERSONAL_DATA))


@hook
def revenue_providers() -> Iterable[RevenueProvider]:
    """Whop."""
    return (Whop(),)
