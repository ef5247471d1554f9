"""Money and subscriptions from Stripe, by webhook."""

from collections.abc import Iterable

from plugins.revenue_stripe.adapter import Stripe
from plugins.revenue_stripe.history import StripeHistory
from service_core.plugin import ImportSource, RevenueProvider, hook


@hook
def revenue_providers() -> Iterable[RevenueProvider]:
    """Stripe."""
    return (Stripe(),)


@hook
def import_sources() -> Iterable[ImportSource]:
    """The history of Stripe."""
    return (StripeHistory(),)
