"""Subscriptions sold by Stripe Checkout: ``signup.checkout = "stripe://:sk_…@api.stripe.com?…"``."""

from collections.abc import Iterable

from plugins.checkout_stripe.declaration import plugin_info as plugin_info
from plugins.checkout_stripe.settings import StripeSettings
from service_core.plugin import Adapter, Checkout, StartupError, hook


def _open(settings: StripeSettings) -> Checkout:
    try:
        from plugins.checkout_stripe.adapter import StripeCheckout
    except ModuleNotFoundError:
        raise StartupError('stripe:// needs its library. Install "touchpoint-analytics[stripe]".') from None
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
