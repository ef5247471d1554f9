"""Revenue and attributed metrics, from payments and their credits to touches."""

from dataclasses import replace
from typing import Final

from service_core.analytics.measures import (
    SPEND_PLATFORM,
    Aggregation,
    Difference,
    FilterOperator,
    Measure,
    Predicate,
    Ratio,
    Relation,
    count_distinct,
    count_rows,
    sum_column,
)
from service_core.analytics.metrics.dimensions import (
    AD_DIMENSIONS,
    FIRST_TOUCH_DIMENSIONS,
    IMPORT_DIMENSIONS,
    LOCATION_AND_DEVICE_DIMENSIONS,
    NEW_OR_RETURNING,
    PAYMENT_DIMENSIONS,
    SESSION_SOURCE_DIMENSIONS,
)
from service_core.analytics.metrics.traffic import VISITORS
from service_core.analytics.query.catalog import Additivity, Metric, MetricUnit
from service_core.kernel.availability import UnavailableReason

_SESSION_DIMENSIONS: Final = (
    *SESSION_SOURCE_DIMENSIONS,
    *LOCATION_AND_DEVICE_DIMENSIONS,
    *NEW_OR_RETURNING,
    *IMPORT_DIMENSIONS,
)
_DIMENSIONS: Final = (*PAYMENT_DIMENSIONS, *_SESSION_DIMENSIONS, *FIRST_TOUCH_DIMENSIONS)
_CHARGE: Final = Predicate("kind", value="charge")
_REFUND: Final = Predicate("kind", FilterOperator.IN, ("refund", "dispute"))
_ORDER: Final = Predicate("is_order", value=True)
_ONCE: Final = Predicate("is_main_part", value=True)
"""Counts a payment once where it is split by product: at the product of its largest item."""
_FIRST: Final = Predicate("first_order", value=True)


def _sum_charge_component(name: str) -> Aggregation:
    """Returns the sum of a component of charges; unknown if a provider omits it."""
    omitted = _CHARGE, Predicate(name, FilterOperator.IS_NOT_SET)
    return replace(sum_column(name, Relation.PAYMENTS, _CHARGE), unknown_if=omitted)


REVENUE: Final = sum_column("amount", Relation.PAYMENTS, _CHARGE)
REFUNDS: Final = sum_column("amount", Relation.PAYMENTS, _REFUND)
NET_REVENUE: Final = Difference(REVENUE, REFUNDS)
FEES: Final = replace(_sum_charge_component("fee"), unknown_reason=UnavailableReason.FEES_UNKNOWN)
ORDERS: Final = count_rows(Relation.PAYMENTS, _ORDER, _ONCE)
_ORDER_REVENUE: Final = sum_column("amount", Relation.PAYMENTS, _ORDER)
NEW_CUSTOMERS: Final = ORDERS.with_conditions(_FIRST)
_CUSTOMERS: Final = count_distinct("person", Relation.PAYMENTS, _ORDER)
_REPEAT: Final = _CUSTOMERS.with_conditions(Predicate("orders_so_far", FilterOperator.GTE, 2))
"""Customers with an order in the range who have two or more up to it, renewals not counted."""
_REPEAT_WINDOWS_DAYS: Final = (30, 60, 90)
_MICROSECONDS_PER_DAY: Final = 86_400_000_000


def _define_amount(id_: str, label: str, measure: Measure, text: str) -> Metric:
    return Metric(id_, label, MetricUnit.CURRENCY, "revenue", Additivity.ADDITIVE, measure, _DIMENSIONS, text)


def _define_count(id_: str, label: str, measure: Aggregation, text: str) -> Metric:
    additivity = Additivity.DISTINCT if measure.distinct else Additivity.ADDITIVE
    return Metric(id_, label, MetricUnit.COUNT, "revenue", additivity, measure, _DIMENSIONS, text)


def _define_ratio(id_: str, label: str, unit: MetricUnit, measure: Ratio, text: str) -> Metric:
    bounded = unit is MetricUnit.RATIO
    dimensions = _SESSION_DIMENSIONS if VISITORS in measure.aggregations() else _DIMENSIONS
    return Metric(id_, label, unit, "revenue", Additivity.RATIO, measure, dimensions, text, is_rate=bounded)


def _define_repeat_rate_within_days(days: int) -> Metric:
    """Returns the share of new customers who bought again within some days, of those whose days have passed."""
    firsts = replace(NEW_CUSTOMERS, elapsed_days=days)
    again = Predicate("microseconds_to_second_order", FilterOperator.LTE, days * _MICROSECONDS_PER_DAY)
    text = f"Customers whose first order lies in the range and whose second follows within {days} days, renewals not counted, divided by those whose {days} days have passed."
    return _define_ratio(
        f"repeat_purchase_rate_{days}d",
        f"Repeat purchase rate, {days} days",
        MetricUnit.RATIO,
        Ratio(firsts.with_conditions(again), firsts),
        text,
    )


REVENUE_METRICS: Final = (
    _define_amount("gross_revenue", "Gross revenue", _sum_charge_component("gross"), "Item price times quantity before discounts; a tracked value is taken as sent."),
    _define_amount("discounts", "Discounts", _sum_charge_component("discount"), "Discounts given on orders."),
    _define_amount("revenue", "Revenue", REVENUE, "Gross revenue minus discounts, without tax and shipping where the source separates them."),
    _define_amount("refunds", "Refunds", REFUNDS, "Absolute sum of refunds and lost disputes."),
    _define_amount("net_revenue", "Net revenue", NET_REVENUE, "Revenue minus refunds."),
    _define_amount("shipping", "Shipping", _sum_charge_component("shipping"), "Shipping charged to customers."),
    _define_amount("taxes", "Taxes", _sum_charge_component("tax"), "Tax charged to customers."),
    _define_amount("fees", "Fees", FEES, "Payment and platform fees: as providers report them, else by the rates that the workspace names."),
    _define_ratio("aov", "Average order value", MetricUnit.CURRENCY_PER_UNIT, Ratio(_ORDER_REVENUE, ORDERS), "Revenue divided by orders."),
    _define_ratio("revenue_per_visitor", "Revenue per visitor", MetricUnit.CURRENCY_PER_UNIT, Ratio(REVENUE, VISITORS), "Revenue divided by visitors."),
    _define_count("orders", "Orders", ORDERS, "Paid charges of purchases, subscriptions and renewals, zero value included."),
    _define_count("refund_count", "Refunds, number", count_rows(Relation.PAYMENTS, _REFUND, _ONCE), "Number of refunds and lost disputes."),
    _define_count("new_customers", "New customers", NEW_CUSTOMERS, "Customers whose first order ever lies in the range."),
    _define_count("customers", "Customers", _CUSTOMERS, "Persons with an order in the range."),
    _define_ratio("refund_rate", "Refund rate", MetricUnit.RATIO, Ratio(REFUNDS, REVENUE), "Refunds divided by revenue."),
    _define_ratio("repeat_purchase_rate", "Repeat purchase rate", MetricUnit.RATIO, Ratio(_REPEAT, _CUSTOMERS), "Customers with two orders or more up to the end of the range, divided by customers; renewals of a subscription are no second order."),
    *map(_define_repeat_rate_within_days, _REPEAT_WINDOWS_DAYS),
)  # fmt: skip

_ATTRIBUTED: Final = Predicate("attributed", value=True)
_ATTRIBUTED_DIMENSIONS: Final = (*SESSION_SOURCE_DIMENSIONS, "event_name", *NEW_OR_RETURNING, *AD_DIMENSIONS)
ATTRIBUTED_CONVERSIONS: Final = sum_column("credit", Relation.CREDITS, _ATTRIBUTED)
ATTRIBUTED_ORDERS: Final = sum_column("order_credit", Relation.CREDITS, _ATTRIBUTED)
ATTRIBUTED_NEW_CUSTOMERS: Final = ATTRIBUTED_ORDERS.with_conditions(_FIRST)
ATTRIBUTED_REVENUE: Final = sum_column("amount", Relation.CREDITS, _ATTRIBUTED)
_REFUNDED: Final = sum_column("refunded", Relation.CREDITS, _ATTRIBUTED)
ATTRIBUTED_NET_REVENUE: Final = Difference(ATTRIBUTED_REVENUE, _REFUNDED)

PAID_CHANNELS: Final = (
    "cross_network", "paid_shopping", "paid_search", "paid_social", "paid_video", "paid_other", "display",
)  # fmt: skip
"""Channels whose visits were paid for."""

_OF_SPEND_PLATFORMS: Final = Predicate(SPEND_PLATFORM, FilterOperator.IS_SET)
SPEND_PLATFORM_REVENUE: Final = Difference(
    ATTRIBUTED_REVENUE.with_conditions(_OF_SPEND_PLATFORMS), _REFUNDED.with_conditions(_OF_SPEND_PLATFORMS)
)
"""Attributed net revenue of the platforms whose spend is known: the numerator of ``attributed_roas``."""

DEFAULT_SPEND_PLATFORM_REVENUE: Final = Difference(
    replace(ATTRIBUTED_REVENUE, use_default_attribution=True).with_conditions(_OF_SPEND_PLATFORMS),
    replace(_REFUNDED, use_default_attribution=True).with_conditions(_OF_SPEND_PLATFORMS),
)
"""The same under the default attribution of the workspace: the numerator of ``roas``."""


def define_attributed_metric(
    id_: str,
    label: str,
    unit: MetricUnit,
    measure: Measure,
    description: str,
    *,
    dimensions: tuple[str, ...] = (),
    is_multiple: bool = False,
) -> Metric:
    """Returns a metric of credits; it accepts an attribution model."""
    additivity = Additivity.RATIO if isinstance(measure, Ratio) else Additivity.ADDITIVE
    accepted = dimensions or _ATTRIBUTED_DIMENSIONS
    return Metric(
        id_, label, unit, "attributed", additivity, measure, accepted, description, is_multiple=is_multiple
    )


ATTRIBUTED_METRICS: Final = (
    define_attributed_metric("attributed_conversions", "Attributed conversions", MetricUnit.COUNT, ATTRIBUTED_CONVERSIONS, "Sum of the credits of conversions; those without a touch are not included."),
    define_attributed_metric("attributed_orders", "Attributed orders", MetricUnit.COUNT, ATTRIBUTED_ORDERS, "Sum of the credits of orders."),
    define_attributed_metric("attributed_new_customers", "Attributed new customers", MetricUnit.COUNT, ATTRIBUTED_NEW_CUSTOMERS, "Sum of the credits of first orders."),
    define_attributed_metric("attributed_revenue", "Attributed revenue", MetricUnit.CURRENCY, ATTRIBUTED_REVENUE, "Credited revenue."),
    define_attributed_metric("attributed_net_revenue", "Attributed net revenue", MetricUnit.CURRENCY, ATTRIBUTED_NET_REVENUE, "Credited revenue minus refunds."),
    define_attributed_metric("attributed_aov", "Attributed order value", MetricUnit.CURRENCY_PER_UNIT, Ratio(ATTRIBUTED_REVENUE, ATTRIBUTED_ORDERS), "Attributed revenue divided by attributed orders."),
)  # fmt: skip
