"""Aggregations behind the amounts of `GET /attribution`, and their values."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final

from service_core.analytics.attribution.credit_shares import MILLION
from service_core.analytics.event_rules.visits import IS_VISIT_EVENT
from service_core.analytics.measures import (
    MISSING_FX_RATE,
    Aggregation,
    FilterOperator,
    Predicate,
    Relation,
    count_distinct,
    count_rows,
    sum_column,
)
from service_core.analytics.rounding import round_ratio, rounded_amount_per_unit_or_none, to_decimal_amount

VISITORS: Final = count_distinct("visitor_id", Relation.EVENTS, IS_VISIT_EVENT)
SESSIONS: Final = count_distinct("session", Relation.EVENTS, IS_VISIT_EVENT)
ATTRIBUTED: Final = Predicate("attributed", value=True)
UNATTRIBUTED: Final = Predicate("attributed", value=False)


@dataclass(frozen=True, slots=True)
class CreditAggregations:
    """The aggregations of credited amounts over a subset of the credits.

    Rows with money but without an exchange rate are counted separately: if there are any, the sum is unknown.
    """

    credit: Aggregation
    amount: Aggregation
    refunded: Aggregation
    unconverted_amounts: Aggregation
    unconverted_refunds: Aggregation

    @classmethod
    def with_unconverted_counts_where(cls, *predicates: Predicate) -> "CreditAggregations":
        """Returns the aggregations over the credits that meet all predicates; sums leave out rows without a rate."""
        is_converted = Predicate("missing_fx_rate", value=False)
        has_amount = Predicate("amount", FilterOperator.GT, 0)
        has_refund = Predicate("refunded", FilterOperator.GT, 0)
        return cls(
            sum_column("credit", Relation.CREDITS, *predicates),
            sum_column("amount", Relation.CREDITS, *predicates, is_converted),
            sum_column("refunded", Relation.CREDITS, *predicates, is_converted),
            count_rows(Relation.CREDITS, *predicates, MISSING_FX_RATE, has_amount),
            count_rows(Relation.CREDITS, *predicates, MISSING_FX_RATE, has_refund),
        )

    @property
    def revenue_then_conversions_first(self) -> tuple[Aggregation, ...]:
        """Returns all aggregations, those of the default sort first: revenue, conversions."""
        return self.amount, self.credit, self.refunded, self.unconverted_amounts, self.unconverted_refunds

    def amounts_or_none_if_unconverted(self, row_values: Mapping[Aggregation, Any]) -> "CreditedAmounts":
        """Returns the amounts of one result row."""
        return CreditedAmounts(
            row_values[self.credit],
            None if row_values[self.unconverted_amounts] else row_values[self.amount],
            None if row_values[self.unconverted_refunds] else row_values[self.refunded],
        )


@dataclass(frozen=True, slots=True)
class CreditedAmounts:
    """Credited conversions in millionths, and money in minor units; None is unknown."""

    credit: int = 0
    amount: int | None = 0
    refunded: int | None = 0

    def __add__(self, other: "CreditedAmounts") -> "CreditedAmounts":
        """Returns the sum; an unknown operand makes the sum unknown."""
        return CreditedAmounts(
            self.credit + other.credit,
            _add_known(self.amount, other.amount),
            _add_known(self.refunded, other.refunded),
        )

    def to_conversions_and_revenue_fields(self, currency: str) -> dict[str, Decimal | None]:
        """Returns the response fields for conversions, revenue and net revenue."""
        net = None if self.amount is None or self.refunded is None else self.amount - self.refunded
        return {
            "conversions": Decimal(self.credit) / MILLION,
            "revenue": to_decimal_amount(self.amount, currency),
            "net_revenue": to_decimal_amount(net, currency),
        }

    def conversion_rate_and_revenue_per_visitor(
        self, visitors: int, currency: str
    ) -> dict[str, Decimal | None]:
        """Returns the response fields that divide the amounts by visitors."""
        return {
            "conversion_rate": round_ratio(Fraction(self.credit, MILLION), visitors),
            "revenue_per_visitor": rounded_amount_per_unit_or_none(self.amount, visitors, currency),
        }


def _add_known(left: int | None, right: int | None) -> int | None:
    return None if left is None or right is None else left + right
