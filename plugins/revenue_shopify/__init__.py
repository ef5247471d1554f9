"""Orders and refunds from Shopify, by webhook."""

from collections.abc import Iterable

from plugins.revenue_shopify.adapter import Shopify
from service_core.plugin import RevenueProvider, hook


@hook
def revenue_providers() -> Iterable[RevenueProvider]:
    """Shopify."""
    return (Shopify(),)
