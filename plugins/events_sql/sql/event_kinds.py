"""Whether an event is a conversion, charge or refund, in SQL; the rules are those of the core."""

from collections.abc import Iterable
from typing import Any, Final

import sqlalchemy as sa

from plugins.events_sql.sql import functions as fn
from plugins.events_sql.sql.compiled_sources import CONVERSION_NAMES, CUSTOM_REVENUE, REVENUE_NAMES
from plugins.events_sql.sql.conditions import Expression
from service_core.plugin import (
    CHARGE,
    EVENT_NAME_SEPARATORS,
    ORDER_EVENTS,
    PAID_EVENTS,
    REFUND,
    REFUND_EVENTS,
    UNPAID_EVENT_KEYS,
    QueryScope,
    list_event_synonyms,
)

_CANONICAL_NAMES: Final = ("checkout_started", "page_view", "purchase", "signup", "start_trial", "subscribe")


def name_in(name: Expression, names: Iterable[str]) -> Expression:
    """Returns whether an event name is one of several."""
    return fn.InValues(name, *map(sa.literal, sorted(names)))


def is_conversion(event_columns: Any, *, any_revenue_converts: bool) -> Expression:
    """Returns whether an event is in the conversion set (`compiled_sources.CONVERSION_NAMES`)."""
    name = event_columns.event_name
    is_named: Expression = fn.InArray(name, CONVERSION_NAMES)
    if any_revenue_converts:
        paid = sa.and_(
            event_columns.revenue > 0, sa.not_(name_in(name, REFUND_EVENTS)), is_revenue_event(name)
        )
        is_named = sa.or_(is_named, paid)
    return sa.and_(sa.not_(event_columns.is_bot), sa.not_(event_columns.is_test), is_named)


def is_custom_event(name: Expression) -> Expression:
    """Returns whether an event name is neither a system event nor an unpaid standard event of a vendor."""
    key = sa.func.lower(name)
    for separator in EVENT_NAME_SEPARATORS:
        key = sa.func.replace(key, sa.literal(separator), sa.literal(""))
    return sa.and_(
        sa.not_(fn.TextStartsWith(name, sa.literal("$"))), sa.not_(name_in(key, UNPAID_EVENT_KEYS))
    )


def is_revenue_event(name: Expression, scope: QueryScope | None = None) -> Expression:
    """Returns whether the amount of an event is money.

    Args:
        name: the event name.
        scope: of the statement; None in a compiled source, which has its values as parameters.
    """
    listed, custom = (
        _revenue_names(scope),
        CUSTOM_REVENUE
        if scope is None
        else sa.literal(scope.conversions.custom_revenue, CUSTOM_REVENUE.type),
    )
    return sa.or_(
        name_in(name, PAID_EVENTS), fn.InArray(name, listed), sa.and_(custom, is_custom_event(name))
    )


def is_order_event(name: Expression, scope: QueryScope | None = None) -> Expression:
    """Returns whether a charge is an order; the arguments are those of `is_revenue_event`."""
    return sa.or_(name_in(name, ORDER_EVENTS), fn.InArray(name, _revenue_names(scope)))


def _revenue_names(scope: QueryScope | None) -> Expression:
    if scope is None:
        return REVENUE_NAMES
    return sa.literal(sorted(scope.conversions.revenue_names), REVENUE_NAMES.type)


def charge_or_refund_kind(event_columns: Any, scope: QueryScope | None = None) -> Expression:
    """Returns whether an event is a charge or a refund, NULL for neither; ``scope`` is that of `is_revenue_event`."""
    name, amount = event_columns.event_name, event_columns.revenue
    real = sa.and_(amount.is_not(None), sa.not_(event_columns.is_bot), sa.not_(event_columns.is_test))
    moves = sa.and_(real, is_revenue_event(name, scope))
    refund = sa.or_(amount < 0, sa.and_(name_in(name, REFUND_EVENTS), amount != 0))
    charge = sa.or_(amount != 0, is_order_event(name, scope))
    return sa.case(
        (sa.not_(moves), sa.cast(sa.null(), sa.Text)),
        (refund, sa.literal(REFUND)),
        (charge, sa.literal(CHARGE)),
    )


def canonical_name(name: Expression) -> Expression:
    """Returns one name for event names that mean the same."""
    groups = [list_event_synonyms(name_of_group) for name_of_group in _CANONICAL_NAMES]
    return sa.case(*((name_in(name, group), sa.literal(min(group))) for group in groups), else_=name)
