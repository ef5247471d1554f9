"""Limits of the billing plans. The limits on events and postbacks are soft."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final


@dataclass(frozen=True, slots=True)
class BillingPlan:
    """Limits per billing period, and the highest request limit of one key. None means no limit."""

    id: str
    events_limit: int | None
    postbacks_limit: int | None
    max_key_rate_limit: int | None

    def clamp_rate_limit_to_1_and_plan_maximum(self, rate_limit: int) -> int:
        """Returns a request limit per 60 seconds within the plan: at least 1, at most the plan's maximum."""
        positive_limit = max(1, rate_limit)
        return (
            positive_limit
            if self.max_key_rate_limit is None
            else min(positive_limit, self.max_key_rate_limit)
        )


UNLIMITED_PLAN: Final = BillingPlan("unlimited", None, None, None)
"""The plan of a self-hosted workspace."""

BILLING_PLANS: Final[Mapping[str, BillingPlan]] = MappingProxyType(
    {
        plan.id: plan
        for plan in (
            BillingPlan("starter", 250_000, 25_000, 100),
            BillingPlan("growth", 1_500_000, 125_000, 300),
            BillingPlan("scale", 5_000_000, 500_000, 600),
            BillingPlan("performance", 15_000_000, 1_500_000, 1_000),
            BillingPlan("enterprise", None, None, 1_000),
            UNLIMITED_PLAN,
        )
    }
)
"""Plan id to plan."""
