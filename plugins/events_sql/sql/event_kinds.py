"""Whether an event is a conversion, charge or refund, in SQL; the rules are those of the core."""

from collections.abc import Iterable
from typing import Any, Final

import sqlalchemy as sa

from plugins.events_sql.sql import functions as fn
from plugins.events_sql.sql.compiled_sources import CONVERSION_NAMES
from plugins.events_sql.sql.conditions import Expression
from service_core.plugin import (
    CHARGE,
    PAGE_VIEWS,
    PRE_PURCHASE_EVENTS,
    REFUND,
    REFUND_EVENTS,
    ZERO_VALUE_ORDERS,
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
        no_system = sa.or_(sa.not_(fn.TextStartsWith(name, sa.literal("$"))), name_in(name, PAGE_VIEWS))
        paid = sa.and_(
            event_columns.revenue > 0, no_system, sa.not_(name_in(name, PRE_PURCHASE_EVENTS | REFUND_EVENTS))
        )
        is_named = sa.or_(is_named, paid)
    return sa.and_(sa.not_(event_columns.is_bot), sa.not_(event_columns.is_test), is_named)


def charge_or_refund_kind(event_columns: Any) -> Expression:
    """Returns whether an event is a charge or a refund; NULL for neither."""
    name, amount = event_columns.event_name, event_columns.revenue
    real = sa.and_(amount.is_not(None), sa.not_(event_columns.is_bot), sa.not_(event_columns.is_test))
    moves = sa.and_(real, sa.not_(name_in(name, PRE_PURCHASE_EVENTS)))
    refund = sa.or_(amount < 0, sa.and_(name_in(name, REFUND_EVENTS), amount != 0))
    charge = sa.or_(amount != 0, name_in(name, ZERO_VALUE_ORDERS))
    return sa.case(
        (sa.not_(moves), sa.cast(sa.null(), sa.Text)),
        (refund, sa.literal(REFUND)),
        (charge, sa.literal(CHARGE)),
    )


def canonical_name(name: Expression) -> Expression:
    """Returns one name for event names that mean the same."""
    groups = [list_event_synonyms(name_of_group) for name_of_group in _CANONICAL_NAMES]
    return sa.case(*((name_in(name, group), sa.literal(min(group))) for group in groups), else_=name)
