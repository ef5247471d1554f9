"""Money and subscriptions from Stripe, by webhook."""

from collections.abc import Iterable

from plugins.revenue_stripe.adapter import Stripe
from service_core.plugin import RevenueProvider, hook


@hook
def revenue_providers() -> Iterable[RevenueProvider]:
    """Stripe."""
    return (Stripe(),)
