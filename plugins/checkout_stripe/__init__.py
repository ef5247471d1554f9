"""Subscriptions sold by Stripe Checkout: ``signup.checkout = "stripe://:sk_…@api.stripe.com?…"``."""

from collections.abc import Iterable

from plugins.checkout_stripe.settings import StripeSettings
from service_core.plugin import Adapter, Checkout, hook


def _open(settings: StripeSettings) -> Checkout:
    from plugins.checkout_stripe.adapter import StripeCheckout

    return StripeCheckout(settings)


@hook
def adapters() -> Iterable[Adapter]:
    """The adapter for Stripe."""
    return (
        Adapter(
            port="checkout",
            scheme="stripe",
            open=_open,
            settings=StripeSettings,
            summary="Subscriptions sold by Stripe Checkout, with signed webhooks.",
        ),
    )
