"""The providers this version knows by name (contract 3.16, semantics 11.1, 12.2); plugins may bring others."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from service_core.analytics.connections.models import ProviderKind


@dataclass(frozen=True, slots=True)
class KnownProvider:
    """A provider: what it is connected for, whether it reports ad spend, and the events it sends."""

    id: str
    kind: ProviderKind
    reports_spend: bool = False
    event_names: tuple[str, ...] = ()


_APP_STORE_EVENTS: Final = (
    "billing_failed", "purchase", "subscription_cancelled", "subscription_changed", "subscription_expired",
    "subscription_paused", "subscription_reactivated", "subscription_renewed", "subscription_started",
    "trial_converted", "trial_started",
)  # fmt: skip
_REVENUECAT_EVENTS: Final = (
    *_APP_STORE_EVENTS,
    "refund_reversed",
    "subscription_extended",
    "subscription_transferred",
)
_STRIPE_EVENTS: Final = (
    "billing_failed", "purchase", "refund", "subscription_cancelled", "subscription_changed",
    "subscription_started", "trial_started",
)  # fmt: skip
_SHOPIFY_EVENTS: Final = (
    "checkout_started",
    "order_cancelled",
    "order_fulfilled",
    "order_paid",
    "refund",
)

_KNOWN_PROVIDERS: Final = (
    KnownProvider("meta", ProviderKind.ADS, reports_spend=True),
    KnownProvider("google", ProviderKind.ADS, reports_spend=True),
    KnownProvider("tiktok", ProviderKind.ADS, reports_spend=True),
    KnownProvider("openai", ProviderKind.ADS),
    KnownProvider("shopify", ProviderKind.REVENUE, event_names=_SHOPIFY_EVENTS),
    KnownProvider("stripe", ProviderKind.REVENUE, event_names=_STRIPE_EVENTS),
    KnownProvider("superwall", ProviderKind.REVENUE, event_names=_APP_STORE_EVENTS),
    KnownProvider("revenuecat", ProviderKind.REVENUE, event_names=tuple(sorted(_REVENUECAT_EVENTS))),
)

PROVIDERS: Final[Mapping[str, KnownProvider]] = MappingProxyType(
    {known.id: known for known in _KNOWN_PROVIDERS}
)
"""Every provider by its id."""


def reports_spend(provider: str, kind: ProviderKind) -> bool:
    """Whether ad spend may be expected of a provider; a plugin's ad platform is taken to report it."""
    known = PROVIDERS.get(provider)
    return known.reports_spend if known else kind is ProviderKind.ADS
