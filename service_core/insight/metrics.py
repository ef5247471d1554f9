"""Every metric of the core, in the order of the contract (4.2)."""

from typing import Final

from service_core.insight.metrics_connected import (
    ADVERTISING,
    ATTRIBUTED_COST,
    BLENDED,
    DELIVERY,
    SUBSCRIPTION,
)
from service_core.insight.metrics_revenue import ATTRIBUTED, REVENUE_METRICS
from service_core.insight.metrics_traffic import CONVERSION, ENGAGEMENT, TRAFFIC

METRICS: Final = (
    *TRAFFIC,
    *ENGAGEMENT,
    *CONVERSION,
    *REVENUE_METRICS,
    *SUBSCRIPTION,
    *ADVERTISING,
    *ATTRIBUTED,
    *ATTRIBUTED_COST,
    *BLENDED,
    *DELIVERY,
)
"""Metric values, once."""
