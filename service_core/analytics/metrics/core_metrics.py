"""All metrics of the core, in the order of the catalog."""

from typing import Final

from service_core.analytics.metrics.connected_sources import (
    AD_METRICS,
    ATTRIBUTED_COST_METRICS,
    POSTBACK_METRICS,
    PROFIT_METRICS,
    SUBSCRIPTION_METRICS,
)
from service_core.analytics.metrics.revenue import ATTRIBUTED_METRICS, REVENUE_METRICS
from service_core.analytics.metrics.traffic import CONVERSION_METRICS, ENGAGEMENT_METRICS, TRAFFIC_METRICS

CORE_METRICS: Final = (
    *TRAFFIC_METRICS,
    *ENGAGEMENT_METRICS,
    *CONVERSION_METRICS,
    *REVENUE_METRICS,
    *SUBSCRIPTION_METRICS,
    *AD_METRICS,
    *ATTRIBUTED_METRICS,
    *ATTRIBUTED_COST_METRICS,
    *PROFIT_METRICS,
    *POSTBACK_METRICS,
)
"""Every metric of the core."""
