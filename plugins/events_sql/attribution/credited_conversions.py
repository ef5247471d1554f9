"""The units that attribution credits: conversions, charges, and refunds on the touch path of their order."""

from typing import Any, Final

import sqlalchemy as sa

from plugins.events_sql.identity.identity_resolution import joined_to_person
from plugins.events_sql.relations.currency_conversion import (
    CONVERTED_PREFIX,
    is_foreign,
    with_converted_amounts_and_missing_flag,
)
from plugins.events_sql.relations.order_deduplication import (
    charge_per_refund,
    materialized_cte,
    superseded_conversions,
    superseded_money_events,
)
from plugins.events_sql.relations.refund_amounts import refund_amounts_without_tax_and_shipping
from plugins.events_sql.schema.row_mapping import to_naive_utc
from plugins.events_sql.schema.tables import EVENTS
from plugins.events_sql.sql import functions as fn
from plugins.events_sql.sql.compiled_sources import (
    END,
    START,
    WORKSPACE,
    NamedSubquery,
    bind_parameters,
    compiled_source,
    declare_parameter,
)
from plugins.events_sql.sql.conditions import Expression
from plugins.events_sql.sql.event_kinds import charge_or_refund_kind, is_conversion, is_order_event
from service_core.plugin import (
    CHARGE,
    ORDER_DEDUP_WINDOW,
    REFUND,
    CreditRule,
    ExchangeRates,
    QueryScope,
    TimeRange,
)

CREDIT_SCALE: Final = 1_000_000
"""Credits are counted in millionths of a conversion."""

_START_WITH_REPEATS: Final = declare_parameter("since", sa.DateTime())
_EVENT_NAMES: Final = declare_parameter("counted", sa.ARRAY(sa.Text()))
"""Event names that an attribution rule is limited to."""

CREDITED_CONVERSIONS: Final = sa.table(
    "unit",
    *(sa.column(name, sa.BigInteger) for name in ("unit", "seq", "visitor_no", "strong_no", "person_no")),
    *(sa.column(name, sa.BigInteger) for name in ("credit", "order_credit", "amount", "refunded")),
    *(sa.column(name, sa.DateTime) for name in ("timestamp", "booked")),
    *(sa.column(name, sa.Text) for name in ("event_name", "currency")),
    *(sa.column(name, sa.Boolean) for name in ("is_order", "has_path", "first_order")),
)
"""The CTE of all units; ``first_order`` is meaningful only when all time is read."""

_AMOUNT_COLUMNS: Final = ("amount", "refunded")
_PATH_COLUMNS: Final = ("timestamp", "seq", "event_name", "visitor_no", "strong_no")
"""The columns that determine a unit's touch path; a refund has those of its order."""


def credited_conversions(
    scope: QueryScope, span: TimeRange, rule: CreditRule, *, with_first_orders: bool
) -> sa.CTE:
    """Returns the units of a span with their persons; the order of a refund may be at any time before it.

    A unit belongs to the span it is booked in; by touch also to the span its path ends in.

    Args:
        scope: the workspace, and which events convert.
        span: the instants to read.
        rule: which units count.
        with_first_orders: also compute first orders, which reads all events.
    """
    shape = (
        scope.conversions.any_revenue,
        scope.order_refunds,
        with_first_orders,
        rule.event_names is not None,
        rule.book_at_touch,
    )
    values = bind_parameters(scope, span) | {
        "since": to_naive_utc(span.start - ORDER_DEDUP_WINDOW),
        "counted": sorted(rule.event_names or ()),
    }
    unit_source = compiled_source(_conversions_with_person_query, *shape)
    if scope.rates is None:
        return unit_source.as_cte(CREDITED_CONVERSIONS.name, **values)
    return _convert_money_where_rate_known(unit_source.as_subquery("in_own", **values), scope, scope.rates)


def _convert_money_where_rate_known(
    conversions: NamedSubquery, scope: QueryScope, rates: ExchangeRates
) -> sa.CTE:
    """Returns units with amounts in the scope's currency where there are rates; a refund uses the rate of its order's day."""
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
    return sa.select(*columns).select_from(converted).cte(CREDITED_CONVERSIONS.name)


def _conversions_with_person_query(
    any_revenue: bool,
    order_refunds: bool,
    with_first_orders: bool,
    filter_event_names: bool,
    book_at_touch: bool,
) -> sa.Select[Any]:
    """Selects units with their persons, and whether they are first orders when all time is read."""
    units = _conversions_charges_and_refunds(
        any_revenue=any_revenue,
        order_refunds=order_refunds,
        with_first_orders=with_first_orders,
        book_at_touch=book_at_touch,
    )
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


def _conversions_charges_and_refunds(
    *, any_revenue: bool, order_refunds: bool, with_first_orders: bool, book_at_touch: bool
) -> sa.Subquery:
    read_all_time = with_first_orders or order_refunds
    all_marked = materialized_cte(
        sa.select(
            *compiled_source(_conversion_and_money_events_query, any_revenue, True)
            .as_subquery("marked_ever")
            .c
        ),
        "all_marked",
    )
    marked = (
        all_marked
        if read_all_time
        else compiled_source(_conversion_and_money_events_query, any_revenue, False).as_subquery("marked")
    )
    counting = _conversions_and_charges_query(marked).where(
        sa.or_(marked.c.is_conversion, marked.c.is_charge)
    )
    refunds = _refunds_with_order_query(
        all_marked,
        order_refunds=order_refunds,
        from_span_start=not read_all_time,
        until_span_end=not (read_all_time or book_at_touch),
    )
    return sa.union_all(counting, refunds).subquery("units")


def _conversion_and_money_events_query(any_revenue: bool, read_all_time: bool) -> sa.Select[Any]:
    """Selects events that convert or move money and whether they count; of all time, or since a week before the span."""
    c = EVENTS.c
    convert, kind = is_conversion(c, any_revenue_converts=any_revenue), charge_or_refund_kind(c)
    columns = [c[name] for name in (*_PATH_COLUMNS, "revenue", "currency", "order_id", "payment_id")]
    time_range = [] if read_all_time else [c.timestamp >= _START_WITH_REPEATS, c.timestamp < END]
    events = (
        sa.select(
            *columns,
            convert.label("converts"),
            kind.label("kind"),
            is_order_event(c.event_name).label("is_order_name"),
        )
        .where(c.workspace_id == WORKSPACE, sa.not_(c.is_bot), sa.not_(c.is_test), *time_range)
        .where(sa.or_(convert, c.revenue.is_not(None)))
        .subquery()
    )
    since = None if read_all_time else _START_WITH_REPEATS.key
    converted_once = events.c.seq.not_in(superseded_conversions(EVENTS, since, any_revenue=any_revenue))
    moved_once = events.c.seq.not_in(superseded_money_events(since))
    converted = sa.and_(sa.func.coalesce(events.c.converts, sa.false()), converted_once)
    charged = sa.func.coalesce(sa.and_(events.c.kind == CHARGE, moved_once), sa.false())
    refunded = sa.func.coalesce(sa.and_(events.c.kind == REFUND, moved_once), sa.false())
    return sa.select(
        events,
        converted.label("is_conversion"),
        charged.label("is_charge"),
        sa.and_(charged, events.c.is_order_name).label("is_order"),
        refunded.label("is_refund"),
    )


def _conversions_and_charges_query(events: Any) -> sa.Select[Any]:
    c = events.c
    return sa.select(
        (c.seq * 2).label("unit"),
        *(c[name] for name in _PATH_COLUMNS),
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


def _refunds_with_order_query(
    marked_events: sa.CTE, *, order_refunds: bool, from_span_start: bool, until_span_end: bool
) -> sa.Select[Any]:
    """Selects refunds, of all time or of the span, with the latest charge of their order that is not after them."""
    charges = sa.select(marked_events).where(marked_events.c.is_charge).subquery("charge")
    refund = sa.select(marked_events).where(marked_events.c.is_refund).subquery("refund")
    order = charge_per_refund(refund, charges, "event_name", "visitor_no", "strong_no")
    joined = refund.outerjoin(order, order.c.refund == refund.c.seq)
    has_order = order.c.seq.is_not(None)
    anchor = [sa.case((has_order, order.c[n]), else_=refund.c[n]).label(n) for n in _PATH_COLUMNS]
    booked = sa.func.coalesce(order.c.timestamp, refund.c.timestamp) if order_refunds else refund.c.timestamp
    net_refund = refund_amounts_without_tax_and_shipping(
        only_if_refunded_in_span=from_span_start and until_span_end
    )
    amount_as_sent = sa.func.abs(refund.c.revenue, type_=sa.BigInteger)
    query = sa.select(
        (refund.c.seq * 2 + 1).label("unit"),
        *anchor,
        booked.label("booked"),
        refund.c.currency,
        *(sa.literal_column("0", sa.BigInteger).label(name) for name in ("credit", "order_credit", "amount")),
        sa.func.coalesce(net_refund.c.amount, amount_as_sent).label("refunded"),
        sa.false().label("is_order"),
        has_order.label("has_path"),
    ).select_from(joined.outerjoin(net_refund, net_refund.c.seq == refund.c.seq))
    if from_span_start:
        query = query.where(refund.c.timestamp >= START)
    return query.where(refund.c.timestamp < END) if until_span_end else query
