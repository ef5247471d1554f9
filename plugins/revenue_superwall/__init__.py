"""Purchases and subscriptions that Superwall reports: ``touchpoint connection add superwall``."""

from collections.abc import Iterable

from plugins.revenue_superwall.adapter import Superwall
from service_core.plugin import RevenueProvider, hook


@hook
def revenue_providers() -> Iterable[RevenueProvider]:
    """Superwall."""
    return (Superwall(),)
