"""The numbers of `GET /attribution`: which leaves they come from, and how they are written."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final

from service_core.analytics.attribution.credit_shares import MILLION
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
from service_core.analytics.rounding import amount_per_unit, round_ratio, to_decimal_amount

VISITORS: Final = count_distinct("visitor_id", Relation.EVENTS)
SESSIONS: Final = count_distinct("session", Relation.EVENTS)
ATTRIBUTED: Final = Predicate("attributed", value=True)
UNATTRIBUTED: Final = Predicate("attributed", value=False)


@dataclass(frozen=True, slots=True)
class CreditAggregations:
    """The leaves of earned figures over some of the credits.

    What has money without a rate is counted apart: where there is any, the sum is unknown (semantics 10.7).
    """

    credit: Aggregation
    amount: Aggregation
    refunded: Aggregation
    unconverted_amounts: Aggregation
    unconverted_refunds: Aggregation

    @classmethod
    def matching(cls, *predicates: Predicate) -> "CreditAggregations":
        """The leaves over the credits that meet all predicates."""
        told = Predicate("no_rate", value=False)
        some = Predicate("amount", FilterOperator.GT, 0), Predicate("refunded", FilterOperator.GT, 0)
        return cls(
            sum_column("credit", Relation.CREDITS, *predicates),
            sum_column("amount", Relation.CREDITS, *predicates, told),
            sum_column("refunded", Relation.CREDITS, *predicates, told),
            count_rows(Relation.CREDITS, *predicates, MISSING_FX_RATE, some[0]),
            count_rows(Relation.CREDITS, *predicates, MISSING_FX_RATE, some[1]),
        )

    @property
    def in_sort_order(self) -> tuple[Aggregation, ...]:
        """The leaves in the order of the default sort: revenue, conversions."""
        return self.amount, self.credit, self.refunded, self.unconverted_amounts, self.unconverted_refunds

    def amounts_from(self, values: Mapping[Aggregation, Any]) -> "CreditedAmounts":
        """The figures of one row of an answer."""
        return CreditedAmounts(
            values[self.credit],
            None if values[self.unconverted_amounts] else values[self.amount],
            None if values[self.unconverted_refunds] else values[self.refunded],
        )


@dataclass(frozen=True, slots=True)
class CreditedAmounts:
    """Millionths of conversions, and minor units of money; None is unknown."""

    credit: int = 0
    amount: int | None = 0
    refunded: int | None = 0

    def __add__(self, other: "CreditedAmounts") -> "CreditedAmounts":
        """Both; what is unknown in one is unknown in the sum."""
        return CreditedAmounts(
            self.credit + other.credit,
            _add_known(self.amount, other.amount),
            _add_known(self.refunded, other.refunded),
        )

    def to_fields(self, currency: str) -> dict[str, Decimal | None]:
        """The figures as an answer shows them."""
        net = None if self.amount is None or self.refunded is None else self.amount - self.refunded
        return {
            "conversions": Decimal(self.credit) / MILLION,
            "revenue": to_decimal_amount(self.amount, currency),
            "net_revenue": to_decimal_amount(net, currency),
        }

    def per_visitor_fields(self, visitors: int, currency: str) -> dict[str, Decimal | None]:
        """The figures per visitor."""
        return {
            "conversion_rate": round_ratio(Fraction(self.credit, MILLION), visitors),
            "revenue_per_visitor": amount_per_unit(self.amount, visitors, currency),
        }


def _add_known(left: int | None, right: int | None) -> int | None:
    return None if left is None or right is None else left + right
