"""Measures: what a metric counts, as values that every source can evaluate.

An aggregation counts over one relation. Ratios and differences combine aggregations and are computed from
their sums, never from averages. `Relation` documents the relations and their columns: that text is the
contract between the metric catalog and the event stores.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final, TypeAlias

NOT_SET: Final = "(not set)"
"""Label of an absent value in answers and filters."""


class FilterOperator(StrEnum):
    """Filter operators. Comparison of text is exact; the last three text operators ignore case."""

    EQ = "eq"
    NEQ = "neq"
    IN = "in"
    NOT_IN = "not_in"
    CONTAINS = "contains"
    NOT_CONTAINS = "not_contains"
    STARTS_WITH = "starts_with"
    ENDS_WITH = "ends_with"
    GT = "gt"
    GTE = "gte"
    LT = "lt"
    LTE = "lte"
    BETWEEN = "between"
    IS_SET = "is_set"
    IS_NOT_SET = "is_not_set"


Scalar: TypeAlias = str | int | float | bool
Operand: TypeAlias = Scalar | tuple[Scalar | None, ...] | None
"""The value that a filter compares a column with."""


@dataclass(frozen=True, slots=True)
class Predicate:
    """One condition on a column of a relation.

    A comparison with an absent value is false, except for ``neq``, ``not_in`` and ``not_contains``, which are
    true; None among the values of ``in`` and ``not_in`` stands for an absent value.
    """

    column: str
    op: FilterOperator = FilterOperator.EQ
    value: Operand = None


MISSING_FX_RATE: Final = Predicate("no_rate", value=True)
"""Matches rows whose money is in another currency than the scope's and has no rate in `QueryScope.rates`."""


class Relation(StrEnum):
    """What is counted.

    ``EVENTS``
        One row per event with its timestamp in the span. Columns: those of `intake.model.Event`;
        ``entry.*``, the same columns of the first event of its session (session = workspace,
        visitor, session id; first by timestamp, then seq; over all history, bots apart unless they
        are included); ``session`` (distinct key of the session); ``person`` (semantics 5);
        ``identified`` (the person has a user id, from this or any other event); ``visitor_is_new``
        (the visitor's first event ever lies in the range).
    ``SESSIONS``
        One row per session whose first event lies in the span; facts cover the whole session.
        Columns: ``entry.*``, ``visitor_id``, ``visitor_is_new``, ``pageviews``, ``events``,
        ``duration`` (seconds), ``bounced``, ``engaged``, ``has_cart``, ``has_purchase``
        (semantics 6.5, 2.2). A session without a page view is neither bounced nor engaged; any
        event that `conversions.converts` makes one with a page view engaged, a repeat of an order too.
    ``CONVERSIONS``
        Events that `conversions.converts`, one per (`conversions.standard` name, order id) within 7 days
        (`orders.deduplicate_orders`, over all history). Columns as EVENTS. Bots never convert.
    ``MONEY``
        Facts of the money ledger (semantics 10; `orders`). Columns: ``kind`` (``charge``,
        ``refund``), ``amount`` (minor units, positive); ``gross``, ``discount``, ``tax``, ``shipping``
        and ``fee`` of a charge, each absent where it is not known (`orders.parts_of`); ``currency``, ``no_rate``, ``provider``, ``order_id``,
        ``person``, ``first_order`` (a charge, the person's first ever), ``person_is_new`` (its
        first event ever lies in the range). Charges of one order within 7 days count once, whoever reports
        them: that of a storefront before that of a payment provider, that before a tracked one, one that
        knows more parts before one that knows fewer, then the earliest (`orders.deduplicate_orders`). Of the refunds of one order within 7 days those of the
        one who knows best count, all of them. A refund is booked on
        its own instant, with `Scan.order_refunds` on that of its order: the latest charge of its
        order id not after it, else its own.
    ``CREDITS``
        What attribution shares out. A unit is an event that is a conversion, a charge, or both; it
        counts 1,000,000 of ``credit`` when it is a conversion, and when it is a charge its
        ``amount`` and 1,000,000 of ``order_credit``. A refund is a unit too, with ``refunded`` alone, the path, person and event name of
        its order (without an order its own, and no path); it is booked like in MONEY. Each unit
        has one row per touch with a share in its path, or one without a touch. Columns:
        ``touch.*`` (columns of `ports.Touch`, None without a touch), ``attributed`` (it has a
        touch), ``credit``, ``order_credit``, ``amount``, ``refunded`` (its share of each, split by
        largest remainder), ``is_order`` (the unit is a charge), ``first_order``, ``event_name``,
        ``currency`` (that its money is told in), ``no_rate``, ``person_is_new``.

    With `Scan.rates` money of other currencies is told in the scan's, each movement by `Rates.worth` of the
    day it moved on, in the scan's zone; a refund has the day of its order. ``currency`` of MONEY stays what was
    paid. ``no_rate`` is true where it is another one and there is no rate; then money is as it was paid.

    Rows of the following come from other sources than the event store; it is never asked for them.

    ``SPEND``
        One row per entity and day as an ad platform reports it (semantics 12.1), of one level: of ads
        where ``ad_id`` or ``ad_name`` is named, of groups where ``group_id`` or ``group_name`` is, else
        of campaigns. A day is in the span when any part of the workspace day of its date is; it stands
        in the bucket that holds the start of that day, else in the nearest. Columns: ``platform``,
        ``account_id``, ``campaign_id``, ``campaign_name``, ``group_id``, ``group_name``, ``ad_id``,
        ``ad_name``, ``currency``, ``no_rate``; and ``spend`` and ``conversion_value`` (minor units),
        ``impressions``, ``clicks``, ``reach``, ``conversions`` (in millionths), each absent where the
        platform left it out. Conditions on these are met by days, and by entities where they are
        grouped by.
    ``SUBSCRIPTIONS``
        One row per ``product``, ``provider``, ``plan`` and ``currency`` with what its subscriptions did in
        the span or bucket, and what they are at its end, or at present when that is not over (semantics
        16.6, 16.7). Columns, beside these: ``mrr``, ``arr``, ``active_subscriptions`` (at the end),
        ``active_at_start``; ``mrr_new``, ``mrr_expansion``, ``mrr_reactivation``, and at or below zero
        ``mrr_contraction``, ``mrr_churn``; ``charged``; ``new_subscriptions``,
        ``churned_subscriptions``, ``trials_started``, ``trials_ended``, ``trials_converted``,
        ``failed_payments``. Money is in minor units, worth a month in exact parts of them. A change of
        product or plan takes the worth over without a movement; what it then costs more or less moved
        in the new one.
    ``COSTS``
        One row per kind of item that was sold, or came back, in the span or bucket, and cost the same
        (semantics 17; `items.sales`). Columns: ``cogs`` and ``shipping_costs``, unit and handling cost
        times quantity in exact parts of minor units of ``currency``, below zero for what came back and
        absent where nobody told a cost; ``provider`` and ``sold_in``, of the charge that sold it, the
        latter being its currency.
    ``DELIVERIES``
        One row per conversion that a rule sends, at the instant it became final (semantics 13.1), tests left out.
        Columns: ``platform``, ``status`` (``sent``, ``failed``, ``skipped``).
    """

    EVENTS = "events"
    SESSIONS = "sessions"
    CONVERSIONS = "conversions"
    PAYMENTS = "money"
    CREDITS = "credits"
    SPEND = "spend"
    SUBSCRIPTIONS = "subscriptions"
    COSTS = "costs"
    POSTBACKS = "deliveries"


@dataclass(frozen=True, slots=True)
class Aggregation:
    """One aggregation over the rows of one relation, evaluated by one source.

    Attributes:
        relation: the relation it reads.
        column: counts rows if None. Otherwise sums the values (booleans as 0 and 1), or counts different
            values with ``distinct``.
        where: conditions that a row must meet.
        trailing_days: widens the span to this many local days that end with the last local day of the span or
            bucket (active users).
        use_default_attribution: credits follow the default attribution of the workspace whatever a request names.
        use_builtin_conversions: conversions follow the built-in conversion set whatever the workspace defines.
        non_additive_dimension: dimension over whose values the aggregation is never summed: several ad platforms
            claim the same conversion.
        unknown_if: conditions of rows that lack the summed value; one such row makes the sum unknown.

    Sources ignore the last four; the query layer applies them.
    """

    relation: Relation
    column: str | None = None
    distinct: bool = False
    where: tuple[Predicate, ...] = ()
    trailing_days: int | None = None
    use_default_attribution: bool = False
    use_builtin_conversions: bool = False
    non_additive_dimension: str | None = None
    unknown_if: tuple[Predicate, ...] = ()

    def with_conditions(self, *predicates: Predicate) -> "Aggregation":
        """Returns the same aggregation over the rows that also meet the predicates."""
        gaps = (*self.unknown_if, *predicates) if self.unknown_if else ()
        return replace(self, where=(*self.where, *predicates), unknown_if=gaps)

    def aggregations(self) -> Iterator["Aggregation"]:
        """Yields the aggregation itself."""
        yield self


@dataclass(frozen=True, slots=True)
class Ratio:
    """``numerator / denominator * scale``, or 1 minus it; None if the denominator is 0."""

    numerator: "Measure"
    denominator: "Measure"
    scale: int = 1
    complement: bool = False

    def aggregations(self) -> Iterator[Aggregation]:
        """Yields every aggregation of both operands."""
        yield from self.numerator.aggregations()
        yield from self.denominator.aggregations()


@dataclass(frozen=True, slots=True)
class Difference:
    """``minuend - subtrahend``."""

    minuend: "Measure"
    subtrahend: "Measure"

    def aggregations(self) -> Iterator[Aggregation]:
        """Yields every aggregation of both operands."""
        yield from self.minuend.aggregations()
        yield from self.subtrahend.aggregations()


@dataclass(frozen=True, slots=True)
class DailyMean:
    """Mean of an aggregation over the full local days of the span (stickiness)."""

    aggregation: Aggregation

    def aggregations(self) -> Iterator[Aggregation]:
        """Yields nothing: the mean is computed from a query by day, not from sums over the span."""
        yield from ()


Measure: TypeAlias = Aggregation | Ratio | Difference | DailyMean
"""A measure of the query engine."""


def count_rows(relation: Relation, *where: Predicate) -> Aggregation:
    """Returns the aggregation that counts rows."""
    return Aggregation(relation, where=where)


def count_distinct(column: str, relation: Relation, *where: Predicate) -> Aggregation:
    """Returns the aggregation that counts different values of a column, exactly."""
    return Aggregation(relation, column, distinct=True, where=where)


def sum_column(column: str, relation: Relation, *where: Predicate) -> Aggregation:
    """Returns the aggregation that sums a column."""
    return Aggregation(relation, column, where=where)
