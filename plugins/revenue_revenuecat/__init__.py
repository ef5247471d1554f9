"""Purchases and subscriptions that RevenueCat reports: ``touchpoint connection add revenuecat``."""

from collections.abc import Iterable

from plugins.revenue_revenuecat.adapter import RevenueCat
from service_core.plugin import RevenueProvider, hook


@hook
def revenue_providers() -> Iterable[RevenueProvider]:
    """RevenueCat."""
    return (RevenueCat(),)
