"""Money and subscriptions from Stripe, by webhook."""

from collections.abc import Iterable

from plugins.revenue_stripe.adapter import Stripe
from plugins.revenue_stripe.history import StripeHistory
from service_core.plugin import ImportSource, PluginData, PluginInfo, RevenueProvider, hook


@hook
def plugin_info() -> PluginInfo:
    """The declaration of the plugin."""
    return PluginInfo(
        "Stripe",
        icon="S",
        hosts=("api.stripe.com",),
        reads=(PluginData.PAYMENTS, PluginData.PERSONAL_DATA, PluginData.CREDENTIALS),
    )


@hook
def revenue_providers() -> Iterable[RevenueProvider]:
    """Stripe."""
    return (Stripe(),)


@hook
def import_sources() -> Iterable[ImportSource]:
    """The history of Stripe."""
    return (StripeHistory(),)
