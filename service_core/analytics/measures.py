"""Measures: what a metric counts, as values that every source can evaluate.

An aggregation counts over one relation. Ratios and differences combine aggregations and are computed from
their sums, never from averages. `Relation` documents the relations and their columns: that text is the
contract between the metric catalog and the event stores.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Final, TypeAlias

from service_core.kernel.availability import UnavailableReason

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
Operand: TypeAlias = Scalar | datetime | tuple[Scalar | None, ...] | None
"""The value that a filter compares a column with."""


class ColumnOwner(StrEnum):
    """Unit that the value of a column belongs to, such as an event or a session."""

    ROW = "row"
    """The row of the relation."""

    ENTRY = "entry"
    """The first event of the session of the row."""

    TOUCH = "touch"
    """The touch that a credit belongs to."""

    AD = "ad"
    """The ad that this touch came from; event stores have no such columns."""

    PROPERTY = "property"
    """``event_data`` of the event."""

    PROPERTY_LABEL = "property_label"
    """``event_data`` of the event, as a label: a text, number or boolean as text of at most `MAX_PROPERTY_LABEL_LENGTH` characters."""


PROPERTY_OWNERS: Final = frozenset({ColumnOwner.PROPERTY, ColumnOwner.PROPERTY_LABEL})
"""Owners of columns whose name is a path inside ``event_data``."""

MAX_PROPERTY_LABEL_LENGTH: Final = 255
"""Characters of a property that dimensions compare; the rest of a longer text is cut."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a relation.

    Attributes:
        name: name of the column; for a property, its path with dots.
        owner: what the value belongs to.
        fallback: the column whose value counts where this one is absent.
    """

    name: str
    owner: ColumnOwner = ColumnOwner.ROW
    fallback: "Column | None" = None

    def or_else(self, fallback: "Column") -> "Column":
        """Returns the column with a fallback for absent values."""
        return replace(self, fallback=fallback)

    @property
    def candidates(self) -> tuple["Column", ...]:
        """The column and its fallbacks, in the order they are tried."""
        if self.fallback is None:
            return (self,)
        return (replace(self, fallback=None), *self.fallback.candidates)

    @property
    def path(self) -> tuple[str, ...]:
        """The keys that lead to a property."""
        return tuple(self.name.split("."))

    def __str__(self) -> str:
        """Returns the column as messages show it."""
        return "|".join(f"{_PREFIXES[part.owner]}{part.name}" for part in self.candidates)


_PREFIXES: Final = {
    ColumnOwner.ROW: "",
    ColumnOwner.ENTRY: "entry.",
    ColumnOwner.TOUCH: "touch.",
    ColumnOwner.AD: "touch.ad.",
    ColumnOwner.PROPERTY: "data:",
    ColumnOwner.PROPERTY_LABEL: "property:",
}


def entry_column(name: str) -> Column:
    """Returns a column of the first event of the session."""
    return Column(name, ColumnOwner.ENTRY)


def touch_column(name: str) -> Column:
    """Returns a column of the credited touch."""
    return Column(name, ColumnOwner.TOUCH)


def ad_column(name: str) -> Column:
    """Returns a column of the ad that the credited touch came from."""
    return Column(name, ColumnOwner.AD)


SPEND_PLATFORM: Final = ad_column("spend_platform")
"""The platform that was paid for a touch, if its spend is known."""


def property_column(path: str) -> Column:
    """Returns the column of a property of ``event_data``; dots in the path lead into objects."""
    return Column(path, ColumnOwner.PROPERTY)


def property_label_column(path: str) -> Column:
    """Returns the column of a property as dimensions have it."""
    return Column(path, ColumnOwner.PROPERTY_LABEL)


@dataclass(frozen=True, slots=True, init=False)
class Predicate:
    """One condition on a column of a relation.

    A comparison with an absent value is false, except for ``neq``, ``not_in`` and ``not_contains``, which are
    true; None among the values of ``in`` and ``not_in`` stands for an absent value.
    """

    column: Column
    op: FilterOperator
    value: Operand

    def __init__(
        self, column: str | Column, op: FilterOperator = FilterOperator.EQ, value: Operand = None
    ) -> None:
        """Creates a condition; a name stands for a column of the row."""
        object.__setattr__(self, "column", _as_column(column))
        object.__setattr__(self, "op", op)
        object.__setattr__(self, "value", value)

    @property
    def columns(self) -> tuple[Column, ...]:
        """The column, as `NotAll.columns`."""
        return (self.column,)


@dataclass(frozen=True, slots=True)
class NotAll:
    """The rows that fail at least one of several conditions: those outside of one group of several dimensions."""

    conditions: tuple[Predicate, ...]

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns of the conditions."""
        return tuple(condition.column for condition in self.conditions)


Condition: TypeAlias = Predicate | NotAll
"""A condition of rows."""


def _as_column(column: str | Column) -> Column:
    return Column(column) if isinstance(column, str) else column


MISSING_FX_RATE: Final = Predicate("missing_fx_rate", value=True)
"""Matches rows whose money is in another currency than the scope's and has no rate in `QueryScope.rates`."""


class Relation(StrEnum):
    """The rows that are counted.

    ``EVENTS``
        One row per event in the span. Columns: those of `ingestion.models.Event`; `entry_column`, the same
        columns and `ingestion.models.COMPUTED_COLUMNS` of the event that describes how its session began (session = workspace, visitor, session id;
        over all history, without bots unless they are included; see `event_rules.visits.entry_event_with_page_view_over_system_event`),
        absent where no visit event has the session id; `property_column`;
        ``session`` (distinct key of the session); ``person``; ``identified`` (the person has a user id, from
        this or any other event); ``exit_page`` (path of the last page view of the session); ``visitor_is_new`` (the first visit event ever of the visitor is in the range;
        the first event of any kind without one). With `event_rules.visits.IS_VISIT_EVENT` visitors and sessions are
        counted without events that no device sent, such as those of revenue providers.
    ``SESSIONS``
        One row per session whose first event is in the span; facts cover the whole session, without events that
        no device sent. Columns:
        `entry_column`, `property_column` of the same event, ``visitor_id``, ``visitor_is_new``, ``pageviews``, ``events``, ``duration`` (seconds),
        ``bounced``, ``engaged``, ``has_cart``, ``has_purchase``, ``exit_page``. A session without a page view is neither
        bounced nor engaged. Any event that `is_conversion` makes a session with a page view engaged, unless it repeats
        an order (`repeated_order_reports_within_7_days`); nor is a repeat a purchase. A device's event whose order a server or a
        revenue provider reports, too, is no repeat.
    ``CONVERSIONS``
        Events that `is_conversion`, one per (`canonical_event_name`, order id) within 7 days
        (`deduplicate_order_reports_within_7_days`, over all history). Columns as EVENTS. Events of bots are never conversions.
    ``PAYMENTS``
        Charges and refunds. Columns: ``kind`` (``charge``, ``refund``), ``amount`` (minor units, positive);
        ``gross``, ``discount``, ``tax``, ``shipping`` and ``fee`` of a charge, each absent if unknown
        (`charge_components_zero_if_tracked`, `reported_fee_or_by_rate` with `QueryScope.fee_rates`); ``currency``, ``missing_fx_rate``, ``provider``, ``order_id``, ``person``,
        ``is_order`` (a charge that is an order: `is_order_event`),
        ``first_order`` (the first order ever of the person), ``orders_so_far`` of an order (how many the person has had up
        to it; a renewal counts as first order only), ``microseconds_to_second_order`` of a first order (up to the next
        order that is no renewal; absent without one), ``timestamp``, ``event_id``, ``rated_at`` (the
        instant of its rate, for a refund that of its order), ``person_is_new`` (the first event ever of
        the person is in the range); ``product`` of an item (`weighted_parts_by_product`): an aggregation that uses it has one row per item,
        with its part of each amount, and ``is_main_part`` for the item with the greatest weight, which is otherwise true
        (`counts_items_instead_of_payments`); `entry_column` and `property_column` of the event in which the payment arose
        (`device_report_of_charge_or_itself`; a refund arose where the charge of its order did); `touch_column`, the columns of the first
        touch ever of the person (`people.ports.Touch`), absent without one. Reports of one order within 7 days count once, the one with the highest
        `report_precedence_storefront_first`, then the earliest (`deduplicate_order_reports_within_7_days`). Of the refunds of one order within 7
        days, all refunds of the source with the highest precedence count. A refund is booked at its own
        instant, with `QueryScope.order_refunds` at that of its order: the latest charge of its order id not
        after it, else the earliest after it, else its own.
    ``CREDITS``
        Conversions and payments distributed over touches. A unit is an event that is a conversion, a charge,
        or both; it counts 1,000,000 of ``credit`` if it is a conversion, and if it is a charge its ``amount``
        and, as an order, 1,000,000 of ``order_credit``. A refund is a unit with ``refunded`` only, and with the path, person
        and event name of its order (without an order its own, and no path); it is booked like in PAYMENTS.
        Each unit has one row per touch with a share in its path, or one row without a touch. Columns:
        `touch_column` (columns of `people.ports.Touch`, None without a touch), ``attributed`` (it has a touch),
        ``credit``, ``order_credit``, ``amount``, ``refunded`` (its share of each, split by largest remainder),
        ``is_order`` (the unit is an order), ``first_order``, ``event_name``, ``currency`` (of the amounts),
        ``missing_fx_rate``, ``person_is_new``. With `ad_column`, also the columns of the ad a touch came from:
        those of SPEND that name the platform, account, campaign, group and ad, and ``spend_platform``, the platform that
        was paid for the touch if its spend is known; `commerce.ads.ad_credits` evaluates them.

    `QueryScope.rates` convert money of other currencies, each payment at the rate of its day in the time zone
    of the scope; a refund uses the day of its order. ``currency`` of PAYMENTS stays the original one.
    ``missing_fx_rate`` is true if it is another one and there is no rate; then the amount is not converted.

    Rows of the following relations come from other sources than the event store.

    ``SPEND``
        One row per entity and day as an ad platform reports it, of one level: of ads if ``ad_id`` or
        ``ad_name`` is used, of groups if ``group_id`` or ``group_name`` is, else of campaigns. A day is in the
        span if any part of the workspace day of its date is; it belongs to the bucket that contains the start
        of that day, else to the nearest. Columns: ``platform``, ``account_id``, ``campaign_id``,
        ``campaign_name``, ``group_id``, ``group_name``, ``ad_id``, ``ad_name``, ``currency``,
        ``missing_fx_rate``, ``day``; and ``spend`` and ``conversion_value`` (minor units), ``impressions``, ``clicks``,
        ``reach``, ``conversions`` (in millionths), each absent if the platform omits it. Conditions on these
        apply to days, and to entities if they are grouped by.
    ``SUBSCRIPTIONS``
        One row per ``product``, ``provider``, ``plan`` and ``currency`` with the movements of its
        subscriptions in the span or bucket, and their state at its end, or now if it has not ended. Further
        columns: ``mrr``, ``arr``, ``active_subscriptions`` (at the end), ``active_at_start``; ``mrr_new``,
        ``mrr_expansion``, ``mrr_reactivation``, and at or below zero ``mrr_contraction``, ``mrr_churn``;
        ``charged``; ``new_subscriptions``, ``churned_subscriptions``, ``trials_started``, ``trials_ended``,
        ``trials_converted``, ``failed_payments``; ``missing_fx_rate``. Money is in exact fractions of minor
        units per month. A change of product or plan moves the recurring revenue without a movement; the
        difference in price is a movement of the new one.
    ``COSTS``
        One row per kind of item with the same cost that was sold or returned in the span or bucket. Columns:
        ``cogs`` and ``shipping_costs``, unit and handling cost times quantity in exact fractions of minor
        units of ``currency``, negative for returned items and absent without a known cost; ``product``, the id of the item;
        ``provider`` and ``sold_in``, provider and currency of the charge that sold the item.
    ``POSTBACKS``
        One row per conversion that a rule sends, at the instant it reached a final status, without tests.
        Columns: ``platform``, ``status`` (``sent``, ``failed``, ``skipped``).
    """

    EVENTS = "events"
    SESSIONS = "sessions"
    CONVERSIONS = "conversions"
    PAYMENTS = "payments"
    CREDITS = "credits"
    SPEND = "spend"
    SUBSCRIPTIONS = "subscriptions"
    COSTS = "costs"
    POSTBACKS = "postbacks"


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
        elapsed_days: counts only rows whose ``timestamp`` lies at least this many days before now.
        unknown_if: conditions of rows that lack the summed value; one such row makes the sum unknown.
        unknown_reason: the reason of a sum that ``unknown_if`` makes unknown.

    Sources ignore the last six; the query layer applies them.
    """

    relation: Relation
    column: Column | None = None
    distinct: bool = False
    where: tuple[Condition, ...] = ()
    trailing_days: int | None = None
    use_default_attribution: bool = False
    use_builtin_conversions: bool = False
    non_additive_dimension: str | None = None
    elapsed_days: int | None = None
    unknown_if: tuple[Condition, ...] = ()
    unknown_reason: UnavailableReason = UnavailableReason.INSUFFICIENT_DATA

    def with_conditions(self, *conditions: Condition) -> "Aggregation":
        """Returns the same aggregation over the rows that also meet the conditions."""
        gaps = (*self.unknown_if, *conditions) if self.unknown_if else ()
        return replace(self, where=(*self.where, *conditions), unknown_if=gaps)

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


def count_distinct(column: str | Column, relation: Relation, *where: Predicate) -> Aggregation:
    """Returns the aggregation that counts different values of a column, exactly."""
    return Aggregation(relation, _as_column(column), distinct=True, where=where)


def sum_column(column: str | Column, relation: Relation, *where: Predicate) -> Aggregation:
    """Returns the aggregation that sums a column."""
    return Aggregation(relation, _as_column(column), where=where)
