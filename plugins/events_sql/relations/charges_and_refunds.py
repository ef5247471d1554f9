"""The relation MONEY: charges, one per order, and refunds, each with the instant it is booked at.

`order_deduplication` decides which report of an order counts, `currency_conversion` converts the amounts.
"""

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any, Final, NamedTuple

import sqlalchemy as sa

from plugins.events_sql.identity.identity_resolution import (
    join_person_id_text,
    persons_first_seen,
)
from plugins.events_sql.identity.related_visitors import ORDER_EVENTS
from plugins.events_sql.relations.currency_conversion import (
    CONVERTED_PREFIX,
    is_foreign,
    with_converted_amounts_and_missing_flag,
)
from plugins.events_sql.relations.order_counts import (
    ORDER_COUNT_COLUMNS,
    with_first_order_per_person_flag,
    with_order_counts,
)
from plugins.events_sql.relations.order_deduplication import (
    ORDER_ID_COLUMNS,
    charge_per_refund,
    is_tracked,
    report_columns,
    superseded_reports,
)
from plugins.events_sql.relations.order_ids import materialized_cte, order_id_links
from plugins.events_sql.relations.payment_fees import (
    IS_FEE_REPORT,
    is_fee_report,
    reported_fee_or_by_rate,
    reported_fees_by_charge,
)
from plugins.events_sql.relations.payment_origins import payments_with_origins
from plugins.events_sql.relations.refund_amounts import refund_amounts_without_tax_and_shipping
from plugins.events_sql.relations.relation_rows import (
    PERSON,
    RelationRows,
    extra_columns,
    is_in_span,
    require_column,
    required_columns,
    source_events,
    span_conditions,
)
from plugins.events_sql.schema.row_mapping import to_naive_utc
from plugins.events_sql.schema.tables import EVENTS, IdNumber
from plugins.events_sql.sql.compiled_sources import (
    END_WITH_REPEATS,
    START,
    WORKSPACE,
    NamedSubquery,
    bind_parameters,
    compiled_source,
)
from plugins.events_sql.sql.conditions import Expression
from plugins.events_sql.sql.event_kinds import charge_or_refund_kind, is_order_event
from service_core.plugin import (
    CHARGE,
    CHARGE_COLUMNS,
    CHARGE_COMPONENTS,
    ORDER_DEDUP_WINDOW,
    TRACKED,
    Column,
    ColumnOwner,
    FeeRate,
    QueryScope,
    TimeRange,
)

RATE_INSTANT: Final = "rated_at"
"""When the money moved, for exchange rates: a refund uses the instant of its order."""

_MONEY_COLUMNS: Final = ("amount", "gross", "discount", "tax", "shipping", "fee")


class _PersonOrders(StrEnum):
    """What is computed about the orders of each person; all but `NONE` read all events."""

    NONE = "none"
    FIRST = "first"
    COUNTED = "counted"


class PaymentRows(RelationRows):
    """The rows of MONEY.

    Args:
        scope: the workspace, which events convert, and how money is booked and converted.
        span: the instants the payments are booked in.
        with_first_orders: also compute first orders, which reads all events.
        with_order_counts: also count the orders of each person, which reads all events.
        selected_only: read only `related_visitors.ORDER_EVENTS`.
        with_fees: also compute the fees of charges that report none.
        with_origins: also find the events in which payments arose, which reads all events with an order id.
        may_be_of_providers: False when `any_provider_report` found none; the engine plans that in a third of the time.
        first_touches: selects the first touch of every person, for rows with touch columns.
        stored_as: name of a table that has these payments and their ``person_no``; None computes them.
    """

    def __init__(
        self,
        scope: QueryScope,
        span: TimeRange,
        *,
        with_first_orders: bool = False,
        with_order_counts: bool = False,
        selected_only: bool = False,
        with_fees: bool = False,
        with_origins: bool = False,
        may_be_of_providers: bool = True,
        first_touches: Callable[[QueryScope], sa.Select[Any]] | None = None,
        stored_as: str | None = None,
    ) -> None:
        self._first_touches = first_touches
        person_orders = (
            _PersonOrders.COUNTED
            if with_order_counts
            else _PersonOrders.FIRST
            if with_first_orders
            else _PersonOrders.NONE
        )
        shape = _PaymentShape(
            scope.order_refunds,
            person_orders,
            selected_only,
            scope.rates is not None,
            scope.fee_rates if with_fees else None,
            may_be_of_providers,
            with_origins,
            with_origins and scope.conversions.any_revenue,
        )
        ledger = _charges_and_refunds_source(scope, span, shape)
        amount_columns = [name for name in _MONEY_COLUMNS if name in ledger.c]
        self.table = (
            with_converted_amounts_and_missing_flag(ledger, scope, scope.rates, RATE_INSTANT, amount_columns)
            if scope.rates
            else ledger
        )
        if stored_as is not None:
            columns = (sa.column(c.name, c.type) for c in self.table.c)
            self.table = sa.table(stored_as, *columns, sa.column("person_no", IdNumber()))
        self.at = self.table.c.booked
        super().__init__(scope)
        self.where += span_conditions(self.at, span)

    def distinct_key(self, column: Column) -> Expression:
        """Returns the number of the person instead of its text."""
        return self.person_no if column == PERSON else self.column_with_fallbacks(column)

    def column_without_fallback(self, column: Column) -> Expression:
        """Returns a column of the payment, of the session it arose in, or of the person's first touch."""
        if column.owner is ColumnOwner.ENTRY:
            return self.join_session_entry_column(
                column.name, require_column(self.table, "origin_session_no")
            )
        first_touches = self._first_touches
        if column.owner is ColumnOwner.TOUCH and first_touches is not None:
            number = self.person_no
            first = self.outer_join_once(
                "first_touch",
                lambda: first_touches(self.scope).subquery("first_touch"),
                lambda touch: touch.c.person_no == number,
            )
            return require_column(first, column.name)
        return super().column_without_fallback(column)

    def event_data(self) -> Expression:
        """Returns the properties of the event in which the payment arose; joins that event."""
        origin = self.outer_join_once(
            "origin",
            lambda: EVENTS.alias("origin"),
            lambda event: sa.and_(
                event.c.seq == require_column(self.table, "origin_seq"),
                event.c.timestamp == self.table.c.origin_at,
                event.c.workspace_id == self.scope.workspace_id,
            ),
        )
        return require_column(origin, "event_data")

    def column_or_joined_fact(self, name: str) -> Expression:
        """Returns a column of the payment, or a fact about its person."""
        joined_facts: Mapping[str, Callable[[], Expression]] = {
            "person": lambda: join_person_id_text(self, self.person_no),
            "person_is_new": self._join_and_test_person_first_seen_in_span,
            "missing_fx_rate": lambda: self.has_no_rate,
            "is_main_part": sa.true,
            "event_id": self._join_event_id,
            "rated_at": lambda: self.table.c[RATE_INSTANT if RATE_INSTANT in self.table.c else "booked"],
        }
        if name in joined_facts:
            return joined_facts[name]()
        if self.scope.rates and name in _MONEY_COLUMNS:
            return require_column(self.table, f"{CONVERTED_PREFIX}{name}")
        if name not in {
            "kind",
            "amount",
            *CHARGE_COLUMNS,
            "currency",
            "provider",
            "order_id",
            "is_order",
            "timestamp",
            "first_order",
            *ORDER_COUNT_COLUMNS,
        }:
            return super().column_or_joined_fact(name)
        return require_column(self.table, name)

    @property
    def amount(self) -> Expression:
        """The amount, in the scope's currency where there is a rate."""
        return self.column_or_joined_fact("amount")

    @property
    def has_no_rate(self) -> Expression:
        """Whether the money is of another currency and cannot be converted into the scope's."""
        if self.scope.rates:
            return require_column(self.table, "missing_fx_rate")
        return is_foreign(self.table.c.currency, self.scope)

    def revenue_and_missing_rate_flag(
        self, amount_to_sum: Expression | None = None
    ) -> tuple[Expression, Expression]:
        """Returns the sum of the convertible amounts of a group, 0 for none, and whether a nonzero amount has no exchange rate.

        Args:
            amount_to_sum: what to sum; by default the amount of each payment.
        """
        amounts = self.amount if amount_to_sum is None else amount_to_sum
        revenue = sa.func.coalesce(sa.func.sum(amounts).filter(sa.not_(self.has_no_rate)), 0)
        return revenue, sa.func.count().filter(sa.and_(self.has_no_rate, self.amount != 0)) > 0

    def _join_event_id(self) -> Expression:
        """Returns the event id of the report that counts; joins the events."""
        event = self.outer_join_once(
            "payment_event",
            lambda: EVENTS.alias("payment_event"),
            lambda e: sa.and_(
                e.c.workspace_id == self.scope.workspace_id,
                e.c.seq == self.table.c.seq,
                e.c.timestamp == self.table.c.timestamp,
            ),
        )
        return require_column(event, "event_id")

    def _join_and_test_person_first_seen_in_span(self) -> Expression:
        number = self.person_no
        first = self.outer_join_once(
            "person_first", lambda: persons_first_seen(self.scope), lambda p: p.c.person_no == number
        )
        return is_in_span(first.c.first_at, self.scope.span)


def reads_payments_of_span_only(scope: QueryScope) -> bool:
    """Returns whether payments without orders of persons are computed from the events around their span, not of all time."""
    return not scope.order_refunds and scope.rates is None


def any_provider_report(scope: QueryScope) -> sa.Select[Any]:
    """Selects one report of money in the span, or in the week around it, that no client tracked."""
    c = EVENTS.c
    since, until = scope.span.start - ORDER_DEDUP_WINDOW, scope.span.end + ORDER_DEDUP_WINDOW
    around_span = c.timestamp >= to_naive_utc(since), c.timestamp < to_naive_utc(until)
    untracked = sa.not_(sa.func.coalesce(is_tracked(c), sa.false()))
    conditions = (c.workspace_id == scope.workspace_id, c.revenue.is_not(None), untracked, *around_span)
    return sa.select(c.seq).where(*conditions).limit(1)


def any_provider_report_of_selected_orders() -> sa.Select[Any]:
    """Selects one report of money among `related_visitors.ORDER_EVENTS` that no client tracked."""
    c = ORDER_EVENTS.c
    untracked = sa.not_(sa.func.coalesce(is_tracked(c), sa.false()))
    return sa.select(c.seq).where(c.revenue.is_not(None), untracked).limit(1)


class _PaymentShape(NamedTuple):
    """What changes the SQL of payments."""

    order_refunds: bool
    person_orders: _PersonOrders
    selected_only: bool
    with_rate_instant: bool
    fee_rates: tuple[FeeRate, ...] | None
    may_be_of_providers: bool
    with_origins: bool
    any_revenue_converts: bool

    @property
    def reads_all_time(self) -> bool:
        """Whether events of all time are read."""
        has_person_orders = self.person_orders is not _PersonOrders.NONE
        return has_person_orders or self.order_refunds or self.with_rate_instant or self.with_origins


def _charges_and_refunds_source(scope: QueryScope, span: TimeRange, shape: _PaymentShape) -> NamedSubquery:
    """Returns charges, one per order, and refunds, each with the instant it is booked at.

    Reads one week before the span to find repeated reports, and all events to find first orders and the orders of
    refunds. Without fee rates the fee is what was reported with the charge.
    """
    read_span = TimeRange(span.start - ORDER_DEDUP_WINDOW, span.end)
    return compiled_source(_select_booked_payments, shape).as_subquery(
        "ledger", **bind_parameters(scope, read_span)
    )


def _select_booked_payments(shape: _PaymentShape) -> sa.Select[Any]:
    selected_only, fee_rates, order_refunds = shape.selected_only, shape.fee_rates, shape.order_refunds
    table, names = (
        source_events(selected_only),
        (*required_columns(frozenset()), *extra_columns(selected_only)),
    )
    c, since = table.c, None if shape.reads_all_time else START
    kind = charge_or_refund_kind(c)
    reported = report_columns(c, kind)
    others = (c[name] for name in names if name not in {"seq", "timestamp", *ORDER_ID_COLUMNS})
    within = [] if since is None else [c.timestamp >= since, c.timestamp < END_WITH_REPEATS]
    is_order = is_order_event(c.event_name).label("is_order")
    fee_report = [] if fee_rates is None else [is_fee_report(c).label(IS_FEE_REPORT)]
    moving = sa.select(*reported, *others, is_order, *fee_report).where(
        c.workspace_id == WORKSPACE, c.revenue.is_not(None), *within
    )
    moved = materialized_cte(moving, "moved")
    links = order_id_links(table)
    superseded = superseded_reports(
        moved,
        links,
        only_kind_with_repeats=CHARGE,
        may_be_of_providers=shape.may_be_of_providers,
    )
    counts = moved.c.seq.not_in(superseded)
    columns = (*(moved.c[name] for name in names), moved.c.is_order)
    counted = sa.select(*columns, moved.c.what.label("kind")).where(moved.c.what.is_not(None), counts)
    if order_refunds or shape.with_rate_instant:
        listed = _with_booking_times(
            materialized_cte(counted, "counted"),
            links,
            order_refunds=order_refunds,
            with_rate_instant=shape.with_rate_instant,
        )
    else:
        listed = counted.add_columns(moved.c.timestamp.label("booked")).subquery()
    amount: Expression = sa.func.abs(listed.c.revenue, type_=sa.BigInteger)
    source, fee = _source_and_fee_column(moved, listed, fee_rates)
    if shape.may_be_of_providers:
        net_refund = refund_amounts_without_tax_and_shipping(only_if_refunded_in_span=not order_refunds)
        source = source.outerjoin(net_refund, net_refund.c.seq == listed.c.seq)
        amount = sa.func.coalesce(net_refund.c.amount, amount)
    facts = sa.select(
        *(listed.c[name] for name in names if name not in {"source", *CHARGE_COMPONENTS}),
        listed.c.kind,
        sa.and_(listed.c.kind == CHARGE, listed.c.is_order).label("is_order"),
        listed.c.booked,
        *([listed.c[RATE_INSTANT]] if shape.with_rate_instant else []),
        amount.label("amount"),
        *_charge_component_columns(listed.c, fee),
        sa.case((is_tracked(listed.c), sa.literal(TRACKED)), else_=listed.c.source).label("provider"),
    ).select_from(source)
    if shape.with_origins:
        facts = payments_with_origins(facts, links, any_revenue_converts=shape.any_revenue_converts)
    if shape.person_orders is _PersonOrders.NONE:
        return facts
    payments = facts.subquery("ledger")
    if shape.person_orders is _PersonOrders.FIRST:
        return with_first_order_per_person_flag(payments)
    return with_order_counts(payments)


def _source_and_fee_column(
    reports: sa.CTE, charges: sa.Subquery, fee_rates: tuple[FeeRate, ...] | None
) -> tuple[sa.FromClause, Expression]:
    """Returns the charges with what their fee is read from, and the fee; without rates only the fee they report."""
    if fee_rates is None:
        return charges, sa.case(
            (is_tracked(charges.c), sa.literal_column("0", sa.BigInteger)), else_=charges.c.fee
        )
    fees = reported_fees_by_charge(reports)
    source = charges.outerjoin(fees, charges.c.seq == fees.c.charge)
    return source, reported_fee_or_by_rate(charges.c, fees.c.fee, fee_rates)


def _with_booking_times(
    payments: sa.CTE, links: sa.CTE, *, order_refunds: bool, with_rate_instant: bool
) -> sa.Subquery:
    """Returns payments with when they are booked and, on request, `RATE_INSTANT`: of a refund, when its order was charged."""
    charges = sa.select(payments).where(payments.c.kind == CHARGE).subquery("charges")
    refunds = sa.select(payments).where(payments.c.kind != CHARGE).subquery("refunds")
    order = charge_per_refund(refunds, charges, links)
    of_order_else_own = sa.func.coalesce(order.c.timestamp, payments.c.timestamp)
    booked = of_order_else_own if order_refunds else payments.c.timestamp
    rated_at = [of_order_else_own.label(RATE_INSTANT)] if with_rate_instant else []
    joined = payments.outerjoin(order, order.c.refund == payments.c.seq)
    return sa.select(*payments.c, booked.label("booked"), *rated_at).select_from(joined).subquery()


def _charge_component_columns(c: Any, fee: Expression) -> list[Expression]:
    """Returns the components of a charge's amount (gross, discount, tax, shipping, fee), as `charge_components_zero_if_tracked` does in the core."""
    tracked, charge, nothing = is_tracked(c), c.kind == CHARGE, sa.literal_column("0", sa.BigInteger)
    reported_amounts = {
        "gross": c.revenue + c.discount,
        **{name: c[name] for name in CHARGE_COMPONENTS},
        "fee": fee,
    }
    tracked_amounts = {"gross": c.revenue, **dict.fromkeys(CHARGE_COMPONENTS, nothing), "fee": fee}
    return [
        sa.case((sa.and_(charge, tracked), tracked_amounts[name]), (charge, reported_amounts[name])).label(
            name
        )
        for name in CHARGE_COLUMNS
    ]
