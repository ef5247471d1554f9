"""Orders and refunds from Shopify, by webhook."""

from collections.abc import Iterable

from plugins.revenue_shopify.adapter import Shopify
from plugins.revenue_shopify.declaration import plugin_info as plugin_info
from plugins.revenue_shopify.history import ShopifyHistory
from service_core.plugin import ImportSource, Operation, RevenueProvider, cost_import_operations, hook


@hook
def revenue_providers() -> Iterable[RevenueProvider]:
    """Shopify."""
    return (Shopify(),)


@hook
def operations() -> Iterable[Operation]:
    """Returns the endpoints that import item costs."""
    return cost_import_operations("shopify")


@hook
def import_sources() -> Iterable[ImportSource]:
    """The history of Shopify."""
    return (ShopifyHistory(),)
