"""Revenue and attributed metrics: the money ledger, and its credits to touches (semantics 10, 17)."""

from dataclasses import replace
from typing import Final

from service_core.insight.catalog import Additivity, Metric, MetricUnit
from service_core.insight.dimensions import ADS, MONEY, NEWNESS, SESSION
from service_core.insight.measures import (
    Difference,
    Leaf,
    Measure,
    Op,
    Predicate,
    Ratio,
    Relation,
    count,
    distinct,
    total,
)
from service_core.insight.metrics_traffic import VISITORS

_DIMENSIONS: Final = (*MONEY, *NEWNESS)
_CHARGE: Final = Predicate("kind", value="charge")
_REFUND: Final = Predicate("kind", Op.IN, ("refund", "dispute"))
_FIRST: Final = Predicate("first_order", value=True)


def _part(name: str) -> Leaf:
    """The sum of a part of charges; a provider may not tell it."""
    untold = _CHARGE, Predicate(name, Op.IS_NOT_SET)
    return replace(total(name, Relation.MONEY, _CHARGE), gapped_by=untold)


REVENUE: Final = total("amount", Relation.MONEY, _CHARGE)
REFUNDS: Final = total("amount", Relation.MONEY, _REFUND)
NET_REVENUE: Final = Difference(REVENUE, REFUNDS)
FEES: Final = _part("fee")
ORDERS: Final = count(Relation.MONEY, _CHARGE)
NEW_CUSTOMERS: Final = ORDERS.filtered(_FIRST)
_CUSTOMERS: Final = distinct("person", Relation.MONEY, _CHARGE)
_REPEAT: Final = _CUSTOMERS.filtered(Predicate("first_order", value=False))
"""Customers with an order in the range that is not their first: those with two up to its end."""


def _sum(id_: str, label: str, measure: Measure, text: str) -> Metric:
    return Metric(id_, label, MetricUnit.CURRENCY, "revenue", Additivity.ADDITIVE, measure, _DIMENSIONS, text)


def _count(id_: str, label: str, measure: Leaf, text: str) -> Metric:
    additivity = Additivity.DISTINCT if measure.distinct else Additivity.ADDITIVE
    return Metric(id_, label, MetricUnit.COUNT, "revenue", additivity, measure, _DIMENSIONS, text)


def _quotient(id_: str, label: str, unit: MetricUnit, measure: Ratio, text: str) -> Metric:
    bounded = unit is MetricUnit.RATIO
    dimensions = NEWNESS if VISITORS in measure.leaves() else _DIMENSIONS
    return Metric(id_, label, unit, "revenue", Additivity.RATIO, measure, dimensions, text, bounded=bounded)


REVENUE_METRICS: Final = (
    _sum("gross_revenue", "Gross revenue", _part("gross"), "Item price times quantity before discounts; a tracked value is taken as sent."),
    _sum("discounts", "Discounts", _part("discount"), "Discounts given on orders."),
    _sum("revenue", "Revenue", REVENUE, "Gross revenue minus discounts, without tax and shipping where the source separates them."),
    _sum("refunds", "Refunds", REFUNDS, "Absolute sum of refunds and lost disputes."),
    _sum("net_revenue", "Net revenue", NET_REVENUE, "Revenue minus refunds."),
    _sum("shipping", "Shipping", _part("shipping"), "Shipping charged to customers."),
    _sum("taxes", "Taxes", _part("tax"), "Tax charged to customers."),
    _sum("fees", "Fees", FEES, "Payment and platform fees."),
    _quotient("aov", "Average order value", MetricUnit.CURRENCY_PER_UNIT, Ratio(REVENUE, ORDERS), "Revenue divided by orders."),
    _quotient("revenue_per_visitor", "Revenue per visitor", MetricUnit.CURRENCY_PER_UNIT, Ratio(REVENUE, VISITORS), "Revenue divided by visitors."),
    _count("orders", "Orders", ORDERS, "Paid charges, purchases and renewals, zero value included."),
    _count("refund_count", "Refunds, number", count(Relation.MONEY, _REFUND), "Number of refunds and lost disputes."),
    _count("new_customers", "New customers", NEW_CUSTOMERS, "Customers whose first order ever lies in the range."),
    _count("customers", "Customers", _CUSTOMERS, "Persons with an order in the range."),
    _quotient("refund_rate", "Refund rate", MetricUnit.RATIO, Ratio(REFUNDS, REVENUE), "Refunds divided by revenue."),
    _quotient("repeat_purchase_rate", "Repeat purchase rate", MetricUnit.RATIO, Ratio(_REPEAT, _CUSTOMERS), "Customers with two orders or more up to the end of the range, divided by customers."),
)  # fmt: skip

_ATTRIBUTED: Final = Predicate("attributed", value=True)
_ATTRIBUTED_DIMENSIONS: Final = (*SESSION, "event_name", *NEWNESS, *ADS)
ATTRIBUTED_CONVERSIONS: Final = total("credit", Relation.CREDITS, _ATTRIBUTED)
ATTRIBUTED_ORDERS: Final = total("order_credit", Relation.CREDITS, _ATTRIBUTED)
ATTRIBUTED_NEW_CUSTOMERS: Final = ATTRIBUTED_ORDERS.filtered(_FIRST)
ATTRIBUTED_REVENUE: Final = total("amount", Relation.CREDITS, _ATTRIBUTED)
_REFUNDED: Final = total("refunded", Relation.CREDITS, _ATTRIBUTED)
ATTRIBUTED_NET_REVENUE: Final = Difference(ATTRIBUTED_REVENUE, _REFUNDED)

PAID: Final = Predicate(
    "touch.channel",
    Op.IN,
    ("cross_network", "paid_shopping", "paid_search", "paid_social", "paid_video", "paid_other", "display"),
)
PAID_NET_REVENUE: Final = Difference(
    replace(ATTRIBUTED_REVENUE, by_default=True).filtered(PAID),
    replace(_REFUNDED, by_default=True).filtered(PAID),
)
"""Attributed net revenue of the channels that are paid for: the numerator of ``roas``."""


def attributed(
    id_: str, label: str, unit: MetricUnit, measure: Measure, text: str, *, dimensions: tuple[str, ...] = ()
) -> Metric:
    """A metric of credits; it takes an attribution model."""
    additivity = Additivity.RATIO if isinstance(measure, Ratio) else Additivity.ADDITIVE
    return Metric(
        id_, label, unit, "attributed", additivity, measure, dimensions or _ATTRIBUTED_DIMENSIONS, text
    )


ATTRIBUTED: Final = (
    attributed("attributed_conversions", "Attributed conversions", MetricUnit.COUNT, ATTRIBUTED_CONVERSIONS, "Sum of the credits of conversions; those without a touch are not included."),
    attributed("attributed_orders", "Attributed orders", MetricUnit.COUNT, ATTRIBUTED_ORDERS, "Sum of the credits of orders."),
    attributed("attributed_new_customers", "Attributed new customers", MetricUnit.COUNT, ATTRIBUTED_NEW_CUSTOMERS, "Sum of the credits of first orders."),
    attributed("attributed_revenue", "Attributed revenue", MetricUnit.CURRENCY, ATTRIBUTED_REVENUE, "Credited revenue."),
    attributed("attributed_net_revenue", "Attributed net revenue", MetricUnit.CURRENCY, ATTRIBUTED_NET_REVENUE, "Credited revenue minus refunds."),
    attributed("attributed_aov", "Attributed order value", MetricUnit.CURRENCY_PER_UNIT, Ratio(ATTRIBUTED_REVENUE, ATTRIBUTED_ORDERS), "Attributed revenue divided by attributed orders."),
)  # fmt: skip
