"""The units that attribution credits: conversions, charges, and refunds on the touch path of their order."""

from dataclasses import replace
from typing import Any, Final

import sqlalchemy as sa

from plugins.events_sql.attribution.conversion_reports import (
    CHARGES_OF_REFUNDS,
    COUNTED_REPORTS,
    PATH_COLUMNS,
    counted_reports_table,
    create_charges_of_refunds_table,
    create_counted_reports_table,
)
from plugins.events_sql.execution.query_executor import StatementRunner
from plugins.events_sql.execution.statement_cache import deferred_statement
from plugins.events_sql.identity.identity_resolution import joined_to_person
from plugins.events_sql.relations.currency_conversion import (
    CONVERTED_PREFIX,
    is_foreign,
    with_converted_amounts_and_missing_flag,
)
from plugins.events_sql.relations.order_deduplication import charge_per_refund
from plugins.events_sql.relations.order_ids import order_id_links
from plugins.events_sql.relations.refund_amounts import refund_amounts_without_tax_and_shipping
from plugins.events_sql.schema.row_mapping import to_naive_utc
from plugins.events_sql.schema.tables import IdNumber
from plugins.events_sql.sql import functions as fn
from plugins.events_sql.sql.compiled_sources import (
    END,
    START,
    NamedSubquery,
    bind_parameters,
    compiled_source,
    declare_parameter,
)
from plugins.events_sql.sql.conditions import Expression
from service_core.plugin import CreditRule, ExchangeRates, QueryScope

CREDIT_SCALE: Final = 1_000_000
"""Credits are counted in millionths of a conversion."""

_EVENT_NAMES: Final = declare_parameter("counted", sa.ARRAY(sa.Text()))
"""Event names that an attribution rule is limited to."""

CREDITED_CONVERSIONS: Final = sa.table(
    "credited_conversions",
    *(sa.column(name, sa.BigInteger) for name in ("unit", "seq")),
    *(sa.column(name, IdNumber()) for name in ("visitor_no", "strong_no", "person_no")),
    *(sa.column(name, sa.BigInteger) for name in ("credit", "order_credit", "amount", "refunded")),
    *(sa.column(name, sa.DateTime) for name in ("timestamp", "booked")),
    *(sa.column(name, sa.Text) for name in ("event_name", "currency")),
    *(sa.column(name, sa.Boolean) for name in ("is_order", "has_path", "first_order")),
)
"""Temporary table of all units of a read; ``first_order`` is meaningful only when all time is read."""

_AMOUNT_COLUMNS: Final = ("amount", "refunded")


def create_credited_conversions_table(
    scope: QueryScope, rule: CreditRule, runner: StatementRunner, *, with_first_orders: bool
) -> None:
    """Creates the units of a span with their persons; the order of a refund may be at any time before it.

    A unit belongs to the span it is booked in; by touch also to the span its path ends in. Only the span is read,
    and the orders of its refunds, unless an argument depends on events of all time.

    Args:
        scope: the workspace, which events convert, and the instants to read.
        rule: which units count.
        runner: runs the statements of the read.
        with_first_orders: also compute first orders, which reads all events.
    """
    all_time = with_first_orders or scope.order_refunds or rule.book_at_touch
    own_currency_scope = replace(scope, rates=None)
    create_counted_reports_table(own_currency_scope, runner, all_time=all_time)
    charges_table = COUNTED_REPORTS.name if all_time else None
    if not all_time and runner.fetch_rows(deferred_statement(_any_refund_in_span, own_currency_scope)):
        create_charges_of_refunds_table(own_currency_scope, runner)
        charges_table = CHARGES_OF_REFUNDS.name
    runner.create_temp_table(
        CREDITED_CONVERSIONS.name,
        deferred_statement(_credited_conversions_query, scope, rule, charges_table, with_first_orders),
    )


def _any_refund_in_span(scope: QueryScope) -> sa.Select[Any]:
    c = COUNTED_REPORTS.c
    since, until = to_naive_utc(scope.span.start), to_naive_utc(scope.span.end)
    return sa.select(c.seq).where(c.is_refund, c.timestamp >= since, c.timestamp < until).limit(1)


def _credited_conversions_query(
    scope: QueryScope, rule: CreditRule, charges_table: str | None, with_first_orders: bool
) -> sa.Select[Any]:
    """Selects the units.

    Args:
        scope: as in `create_credited_conversions_table`.
        rule: likewise.
        charges_table: name of the table with the charges of refunds; None when the span has no refund.
        with_first_orders: whether `COUNTED_REPORTS` is of all time and first orders are marked.
    """
    shape = (
        charges_table,
        scope.order_refunds,
        with_first_orders,
        rule.event_names is not None,
        rule.book_at_touch,
    )
    values = bind_parameters(scope, scope.span) | {"counted": sorted(rule.event_names or ())}
    units = compiled_source(_conversions_with_person_query, *shape).as_subquery("in_own", **values)
    if scope.rates is None:
        return sa.select(*(units.c[column.name] for column in CREDITED_CONVERSIONS.c))
    return _convert_money_where_rate_known(units, scope, scope.rates)


def _convert_money_where_rate_known(
    conversions: NamedSubquery, scope: QueryScope, rates: ExchangeRates
) -> sa.Select[Any]:
    """Selects units with amounts in the scope's currency where there are rates; a refund uses the rate of its order's day."""
    converted = with_converted_amounts_and_missing_flag(
        conversions, scope, rates, "timestamp", _AMOUNT_COLUMNS
    )
    currency = sa.case(
        (is_foreign(converted.c.currency, scope), sa.literal(scope.currency)), else_=converted.c.currency
    )
    replaced = {name: converted.c[f"{CONVERTED_PREFIX}{name}"] for name in _AMOUNT_COLUMNS} | {
        "currency": sa.case((converted.c.missing_fx_rate, converted.c.currency), else_=currency)
    }
    columns = (
        replaced.get(column.name, converted.c[column.name]).label(column.name)
        for column in CREDITED_CONVERSIONS.c
    )
    return sa.select(*columns).select_from(converted)


def _conversions_with_person_query(
    charges_table: str | None,
    order_refunds: bool,
    with_first_orders: bool,
    filter_event_names: bool,
    book_at_touch: bool,
) -> sa.Select[Any]:
    """Selects units with their persons, and whether they are first orders when all time is read."""
    units = _conversions_charges_and_refunds(charges_table, order_refunds=order_refunds)
    joined, person_no = joined_to_person(units)
    by_person: Any = {"partition_by": (units.c.is_order, person_no)}
    place = sa.func.row_number().over(**by_person, order_by=(units.c.timestamp, units.c.seq))
    first = sa.and_(units.c.is_order, place == 1) if with_first_orders else sa.false()
    columns = (*units.c, person_no.label("person_no"), first.label("first_order"))
    with_persons = sa.select(*columns).select_from(joined).subquery("with_persons")
    instants = (
        (with_persons.c.booked, with_persons.c.timestamp) if book_at_touch else (with_persons.c.booked,)
    )
    counted = sa.select(with_persons).where(sa.or_(*(sa.and_(at >= START, at < END) for at in instants)))
    return (
        counted.where(fn.InArray(with_persons.c.event_name, _EVENT_NAMES)) if filter_event_names else counted
    )


def _conversions_charges_and_refunds(charges_table: str | None, *, order_refunds: bool) -> sa.Subquery:
    c = COUNTED_REPORTS.c
    counting = _conversions_and_charges_query().where(sa.or_(c.is_conversion, c.is_charge))
    if charges_table is None:
        return counting.subquery("units")
    refunds = _refunds_with_order_query(counted_reports_table(charges_table), order_refunds=order_refunds)
    return sa.union_all(counting, refunds).subquery("units")


def _conversions_and_charges_query() -> sa.Select[Any]:
    c = COUNTED_REPORTS.c
    return sa.select(
        (c.seq * 2).label("unit"),
        *(c[name] for name in PATH_COLUMNS),
        c.timestamp.label("booked"),
        c.currency,
        _value_if(c.is_conversion, sa.literal(CREDIT_SCALE)).label("credit"),
        _value_if(c.is_order, sa.literal(CREDIT_SCALE)).label("order_credit"),
        _value_if(c.is_charge, sa.func.abs(c.revenue, type_=sa.BigInteger)).label("amount"),
        sa.literal_column("0", sa.BigInteger).label("refunded"),
        c.is_order,
        sa.true().label("has_path"),
    )


def _value_if(condition: Expression, value: Expression) -> Expression:
    return sa.case((condition, value), else_=sa.literal_column("0", sa.BigInteger))


def _refunds_with_order_query(reports_with_charges: Any, *, order_refunds: bool) -> sa.Select[Any]:
    """Selects refunds with the latest charge of their order that is not after them.

    Args:
        reports_with_charges: table of reports with the charges of the refunds.
        order_refunds: book a refund when its order was charged.
    """
    charges = sa.select(reports_with_charges).where(reports_with_charges.c.is_charge).subquery("charge")
    refund = sa.select(COUNTED_REPORTS).where(COUNTED_REPORTS.c.is_refund).subquery("refund")
    order = charge_per_refund(refund, charges, order_id_links(), "event_name", "visitor_no", "strong_no")
    joined = refund.outerjoin(order, order.c.refund == refund.c.seq)
    has_order = order.c.seq.is_not(None)
    anchor = [sa.case((has_order, order.c[n]), else_=refund.c[n]).label(n) for n in PATH_COLUMNS]
    booked = sa.func.coalesce(order.c.timestamp, refund.c.timestamp) if order_refunds else refund.c.timestamp
    net_refund = refund_amounts_without_tax_and_shipping(
        only_if_refunded_in_span=reports_with_charges.name == CHARGES_OF_REFUNDS.name
    )
    amount_as_sent = sa.func.abs(refund.c.revenue, type_=sa.BigInteger)
    return sa.select(
        (refund.c.seq * 2 + 1).label("unit"),
        *anchor,
        booked.label("booked"),
        refund.c.currency,
        *(sa.literal_column("0", sa.BigInteger).label(name) for name in ("credit", "order_credit", "amount")),
        sa.func.coalesce(net_refund.c.amount, amount_as_sent).label("refunded"),
        sa.false().label("is_order"),
        has_order.label("has_path"),
    ).select_from(joined.outerjoin(net_refund, net_refund.c.seq == refund.c.seq))
