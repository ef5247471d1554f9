"""Payments and memberships from Whop: ``touchpoint connection add whop``."""

from collections.abc import Iterable

from revenue_whop.provider import Whop
from service_core.plugin import RevenueProvider, hook


@hook
def revenue_providers() -> Iterable[RevenueProvider]:
    """Whop."""
    return (Whop(),)
