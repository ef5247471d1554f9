"""The numbers of `GET /attribution`: which leaves they come from, and how they are written."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final

from service_core.insight.attribution.weigh import MILLION
from service_core.insight.measures import NO_RATE, Leaf, Op, Predicate, Relation, count, distinct, total
from service_core.insight.rounding import money, money_per, ratio

VISITORS: Final = distinct("visitor_id", Relation.EVENTS)
SESSIONS: Final = distinct("session", Relation.EVENTS)
ATTRIBUTED: Final = Predicate("attributed", value=True)
UNATTRIBUTED: Final = Predicate("attributed", value=False)


@dataclass(frozen=True, slots=True)
class Leaves:
    """The leaves of earned figures over some of the credits.

    What has money without a rate is counted apart: where there is any, the sum is unknown (semantics 10.7).
    """

    credit: Leaf
    amount: Leaf
    refunded: Leaf
    foreign: Leaf
    foreign_refunds: Leaf

    @classmethod
    def over(cls, *which: Predicate) -> "Leaves":
        """The leaves over the credits that meet all predicates."""
        told = Predicate("no_rate", value=False)
        some = Predicate("amount", Op.GT, 0), Predicate("refunded", Op.GT, 0)
        return cls(
            total("credit", Relation.CREDITS, *which),
            total("amount", Relation.CREDITS, *which, told),
            total("refunded", Relation.CREDITS, *which, told),
            count(Relation.CREDITS, *which, NO_RATE, some[0]),
            count(Relation.CREDITS, *which, NO_RATE, some[1]),
        )

    @property
    def all(self) -> tuple[Leaf, ...]:
        """The leaves in the order of the default sort: revenue, conversions."""
        return self.amount, self.credit, self.refunded, self.foreign, self.foreign_refunds

    def read(self, values: Mapping[Leaf, Any]) -> "Earnings":
        """The figures of one row of an answer."""
        return Earnings(
            values[self.credit],
            None if values[self.foreign] else values[self.amount],
            None if values[self.foreign_refunds] else values[self.refunded],
        )


@dataclass(frozen=True, slots=True)
class Earnings:
    """Millionths of conversions, and minor units of money; None is unknown."""

    credit: int = 0
    amount: int | None = 0
    refunded: int | None = 0

    def __add__(self, other: "Earnings") -> "Earnings":
        """Both; what is unknown in one is unknown in the sum."""
        return Earnings(
            self.credit + other.credit, _sum(self.amount, other.amount), _sum(self.refunded, other.refunded)
        )

    def written(self, currency: str) -> dict[str, Decimal | None]:
        """The figures as an answer shows them."""
        net = None if self.amount is None or self.refunded is None else self.amount - self.refunded
        return {
            "conversions": Decimal(self.credit) / MILLION,
            "revenue": money(self.amount, currency),
            "net_revenue": money(net, currency),
        }

    def rates(self, visitors: int, currency: str) -> dict[str, Decimal | None]:
        """The figures per visitor."""
        return {
            "conversion_rate": ratio(Fraction(self.credit, MILLION), visitors),
            "revenue_per_visitor": money_per(self.amount, visitors, currency),
        }


def _sum(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one + other
