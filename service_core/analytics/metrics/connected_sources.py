"""Metrics of connected sources: ad platforms, subscriptions, costs and postbacks.

A metric is available if a source serves its relation; otherwise it is unavailable with a reason, never zero.
"""

from dataclasses import replace
from typing import Final

from service_core.analytics.measures import (
    Aggregation,
    Difference,
    FilterOperator,
    Measure,
    Predicate,
    Ratio,
    Relation,
    count_rows,
    sum_column,
)
from service_core.analytics.metrics import revenue as money
from service_core.analytics.metrics.dimensions import AD_DIMENSIONS, PAYMENT_DIMENSIONS
from service_core.analytics.metrics.traffic import CONVERSIONS
from service_core.analytics.query.catalog import Additivity, Metric, MetricUnit

_COUNT: Final = MetricUnit.COUNT
_CURRENCY: Final = MetricUnit.CURRENCY
_PER_UNIT: Final = MetricUnit.CURRENCY_PER_UNIT
_RATIO: Final = MetricUnit.RATIO
_PER_THOUSAND: Final = 1000

_SOLD_DIMENSIONS: Final = ("product", "provider", "currency")
_NO_DIMENSIONS: Final[tuple[str, ...]] = ()


def _define_metrics_deriving_additivity(
    category: str, dimensions: tuple[str, ...], *definitions: tuple[str, str, MetricUnit, Measure, str]
) -> tuple[Metric, ...]:
    """Returns metrics of one category. A ratio is not additive, and a state is not additive over time."""
    return tuple(
        Metric(
            id_,
            label,
            unit,
            category,
            _additivity_of(id_, measure),
            measure,
            dimensions,
            text,
            is_rate=id_ in _RATE_IDS,
            is_multiple=id_ in _MULTIPLE_IDS,
        )
        for id_, label, unit, measure, text in definitions
    )


_RATE_IDS: Final = frozenset({"churn_rate", "trial_conversion_rate", "ctr", "postback_success_rate"})
_MULTIPLE_IDS: Final = frozenset({"platform_roas", "mer", "roas"})
_SNAPSHOT_IDS: Final = frozenset({"mrr", "arr", "active_subscriptions"})


def _additivity_of(id_: str, measure: Measure) -> Additivity:
    if isinstance(measure, Ratio):
        return Additivity.RATIO
    return Additivity.SNAPSHOT if id_ in _SNAPSHOT_IDS else Additivity.ADDITIVE


def _sum_subscriptions(column: str) -> Aggregation:
    return sum_column(column, Relation.SUBSCRIPTIONS)


def _sum_spend(column: str) -> Aggregation:
    """Returns the sum of a spend column; unknown if a platform omits it in a row."""
    left_out = Predicate(column, FilterOperator.IS_NOT_SET)
    return replace(sum_column(column, Relation.SPEND), unknown_if=(left_out,))


def _sum_costs(column: str) -> Aggregation:
    """Returns the sum of a cost column; unknown if a sold item has none."""
    return replace(
        sum_column(column, Relation.COSTS), unknown_if=(Predicate(column, FilterOperator.IS_NOT_SET),)
    )


def _count_postbacks(status: str) -> Aggregation:
    return count_rows(Relation.POSTBACKS, Predicate("status", value=status))


_CHURNED: Final = _sum_subscriptions("churned_subscriptions")
_SPEND: Final = _sum_spend("spend")
_PLATFORM_CONVERSIONS: Final = replace(_sum_spend("conversions"), non_additive_dimension="platform")
_PLATFORM_CONVERSION_VALUE: Final = replace(_sum_spend("conversion_value"), non_additive_dimension="platform")
_COGS: Final = _sum_costs("cogs")
_SHIPPING_COSTS: Final = _sum_costs("shipping_costs")
_GROSS_PROFIT: Final = Difference(money.NET_REVENUE, _COGS)
_CONTRIBUTION: Final = Difference(Difference(_GROSS_PROFIT, _SHIPPING_COSTS), money.FEES)
_PROFIT: Final = Difference(_CONTRIBUTION, _SPEND)

SUBSCRIPTION_METRICS: Final = _define_metrics_deriving_additivity(
    "subscription",
    PAYMENT_DIMENSIONS,
    ("mrr", "Monthly recurring revenue", _CURRENCY, _sum_subscriptions("mrr"), "Price times quantity of active and past-due subscriptions, normalised to a month, at the end of the range. What it was at the start and the movements come to what it is at the end."),
    ("arr", "Annual recurring revenue", _CURRENCY, _sum_subscriptions("arr"), "Twelve times the monthly recurring revenue."),
    ("mrr_new", "New MRR", _CURRENCY, _sum_subscriptions("mrr_new"), "Recurring revenue of new subscriptions."),
    ("mrr_expansion", "Expansion MRR", _CURRENCY, _sum_subscriptions("mrr_expansion"), "Recurring revenue gained from upgrades."),
    ("mrr_contraction", "Contraction MRR", _CURRENCY, _sum_subscriptions("mrr_contraction"), "What downgrades took from recurring revenue, at or below zero."),
    ("mrr_churn", "Churned MRR", _CURRENCY, _sum_subscriptions("mrr_churn"), "What subscriptions that ended or paused took from recurring revenue, at or below zero."),
    ("mrr_reactivation", "Reactivation MRR", _CURRENCY, _sum_subscriptions("mrr_reactivation"), "Recurring revenue of subscriptions that came back."),
    ("subscription_revenue", "Subscription revenue", _CURRENCY, _sum_subscriptions("charged"), "Revenue of subscription charges."),
    ("active_subscriptions", "Active subscriptions", _COUNT, _sum_subscriptions("active_subscriptions"), "Subscriptions active or past due at the end of the range."),
    ("new_subscriptions", "New subscriptions", _COUNT, _sum_subscriptions("new_subscriptions"), "First paid starts of subscriptions."),
    ("churned_subscriptions", "Churned subscriptions", _COUNT, _CHURNED, "Subscriptions whose last paid period ended, or that paused."),
    ("trials_started", "Trials started", _COUNT, _sum_subscriptions("trials_started"), "Trial starts."),
    ("trials_converted", "Trials converted", _COUNT, _sum_subscriptions("trials_converted"), "First paid charges after a trial."),
    ("failed_payments", "Failed payments", _COUNT, _sum_subscriptions("failed_payments"), "Failed charges."),
    ("churn_rate", "Churn rate", _RATIO, Ratio(_CHURNED, _sum_subscriptions("active_at_start")), "Subscriptions churned in the range, divided by those active at its start."),
    ("trial_conversion_rate", "Trial conversion rate", _RATIO, Ratio(_sum_subscriptions("trials_converted"), _sum_subscriptions("trials_ended")), "Converted trials divided by trials that ended in the range."),
)  # fmt: skip

AD_METRICS: Final = _define_metrics_deriving_additivity(
    "ads",
    AD_DIMENSIONS,
    ("ad_spend", "Ad spend", _CURRENCY, _SPEND, "Spend as the ad platforms report it."),
    ("platform_conversion_value", "Platform conversion value", _CURRENCY, _PLATFORM_CONVERSION_VALUE, "Conversion value one ad platform claims."),
    ("impressions", "Impressions", _COUNT, _sum_spend("impressions"), "Impressions of ads."),
    ("clicks", "Clicks", _COUNT, _sum_spend("clicks"), "Clicks on ads."),
    ("platform_conversions", "Platform conversions", _COUNT, _PLATFORM_CONVERSIONS, "Conversions one ad platform claims."),
    ("ctr", "Click-through rate", _RATIO, Ratio(_sum_spend("clicks"), _sum_spend("impressions")), "Clicks divided by impressions."),
    ("platform_roas", "Platform ROAS", _RATIO, Ratio(_PLATFORM_CONVERSION_VALUE, _SPEND), "Conversion value a platform claims, divided by its spend."),
    ("cpc", "Cost per click", _PER_UNIT, Ratio(_SPEND, _sum_spend("clicks")), "Spend divided by clicks."),
    ("cpm", "Cost per thousand impressions", _PER_UNIT, Ratio(_SPEND, _sum_spend("impressions"), scale=_PER_THOUSAND), "1000 times spend divided by impressions."),
    ("platform_cpa", "Platform cost per conversion", _PER_UNIT, Ratio(_SPEND, _PLATFORM_CONVERSIONS), "Spend divided by the conversions a platform claims."),
)  # fmt: skip

ATTRIBUTED_COST_METRICS: Final = (
    money.define_attributed_metric("attributed_roas", "Attributed ROAS", _RATIO, Ratio(money.SPEND_PLATFORM_REVENUE, _SPEND), "Attributed net revenue of the connected ad platforms divided by their spend. Revenue of paid touches of other platforms is left out.", dimensions=AD_DIMENSIONS, is_multiple=True),
    money.define_attributed_metric("attributed_cpa", "Attributed cost per conversion", _PER_UNIT, Ratio(_SPEND, money.ATTRIBUTED_CONVERSIONS), "Spend divided by attributed conversions.", dimensions=AD_DIMENSIONS),
    money.define_attributed_metric("attributed_cac", "Attributed cost per new customer", _PER_UNIT, Ratio(_SPEND, money.ATTRIBUTED_NEW_CUSTOMERS), "Spend divided by attributed new customers.", dimensions=AD_DIMENSIONS),
)  # fmt: skip

PROFIT_METRICS: Final = (
    *_define_metrics_deriving_additivity(
        "blended",
        _NO_DIMENSIONS,
        ("mer", "Marketing efficiency ratio", _RATIO, Ratio(money.NET_REVENUE, _SPEND), "All net revenue divided by all spend."),
        ("roas", "ROAS", _RATIO, Ratio(money.DEFAULT_SPEND_PLATFORM_REVENUE, _SPEND), "Attributed net revenue of the connected ad platforms under the workspace's default model, divided by their spend. Revenue of paid touches of other platforms is left out."),
        ("margin", "Margin", _RATIO, Ratio(_PROFIT, money.NET_REVENUE), "Profit divided by net revenue."),
        ("contribution_margin", "Contribution margin", _RATIO, Ratio(_CONTRIBUTION, money.NET_REVENUE), "Contribution profit divided by net revenue."),
    ),
    *_define_metrics_deriving_additivity(
        "blended",
        _SOLD_DIMENSIONS,
        ("cogs", "Cost of goods sold", _CURRENCY, _COGS, "Unit cost of sold minus returned items, at the cost of the day of sale."),
        ("shipping_costs", "Shipping costs", _CURRENCY, _SHIPPING_COSTS, "Handling cost of sold minus returned items, likewise."),
        ("gross_profit", "Gross profit", _CURRENCY, _GROSS_PROFIT, "Net revenue minus cost of goods sold."),
        ("contribution_profit", "Contribution profit", _CURRENCY, _CONTRIBUTION, "Gross profit minus shipping costs and fees."),
    ),
    *_define_metrics_deriving_additivity(
        "blended",
        _NO_DIMENSIONS,
        ("profit", "Profit", _CURRENCY, _PROFIT, "Contribution profit minus spend."),
        ("cpa", "Cost per conversion", _PER_UNIT, Ratio(_SPEND, CONVERSIONS), "Spend divided by conversions."),
        ("cac", "Customer acquisition cost", _PER_UNIT, Ratio(_SPEND, money.NEW_CUSTOMERS), "Spend divided by new customers."),
    ),
)  # fmt: skip

POSTBACK_METRICS: Final = _define_metrics_deriving_additivity(
    "delivery",
    ("platform",),
    ("postbacks_sent", "Postbacks sent", _COUNT, _count_postbacks("sent"), "Postbacks accepted by the ad platform in the range."),
    ("postbacks_failed", "Postbacks failed", _COUNT, _count_postbacks("failed"), "Postbacks given up in the range."),
    ("postbacks_skipped", "Postbacks skipped", _COUNT, _count_postbacks("skipped"), "Postbacks skipped in the range, each with its reason."),
    ("postback_success_rate", "Postback success rate", _RATIO, Ratio(_count_postbacks("sent"), count_rows(Relation.POSTBACKS, Predicate("status", FilterOperator.IN, ("sent", "failed")))), "Sent postbacks divided by sent and failed ones."),
)  # fmt: skip
