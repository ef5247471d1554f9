"""What an event is by its name and money: conversion, charge, refund, in SQL.

The rules stand in `insight.conversions` and `insight.orders`.
"""

from collections.abc import Iterable
from typing import Any, Final

import sqlalchemy as sa

from plugins.events_sql import functions as fn
from plugins.events_sql.conditions import Expression
from plugins.events_sql.prepared import NAMES
from service_core.plugin import (
    CHARGE,
    FREE_ORDERS,
    PAGE_VIEWS,
    REFUND,
    REFUND_EVENTS,
    UNPAID,
    same_as,
)

_GROUPED: Final = ("checkout_started", "page_view", "purchase", "signup", "start_trial", "subscribe")


def among(name: Expression, names: Iterable[str]) -> Expression:
    """Whether an event name is one of some."""
    return fn.OneOf(name, *map(sa.literal, sorted(names)))


def converts(columns: Any, *, any_revenue: bool) -> Expression:
    """Whether an event is in the conversion set (`prepared.NAMES`)."""
    name = columns.event_name
    named: Expression = fn.Listed(name, NAMES)
    if any_revenue:
        no_system = sa.or_(sa.not_(fn.Starts(name, sa.literal("$"))), among(name, PAGE_VIEWS))
        paid = sa.and_(columns.revenue > 0, no_system, sa.not_(among(name, UNPAID | REFUND_EVENTS)))
        named = sa.or_(named, paid)
    return sa.and_(sa.not_(columns.is_bot), sa.not_(columns.is_test), named)


def charge_or_refund(columns: Any) -> Expression:
    """The kind of money an event moves; NULL for none."""
    name, amount = columns.event_name, columns.revenue
    real = sa.and_(amount.is_not(None), sa.not_(columns.is_bot), sa.not_(columns.is_test))
    moves = sa.and_(real, sa.not_(among(name, UNPAID)))
    refund = sa.or_(amount < 0, sa.and_(among(name, REFUND_EVENTS), amount != 0))
    charge = sa.or_(amount != 0, among(name, FREE_ORDERS))
    return sa.case(
        (sa.not_(moves), sa.cast(sa.null(), sa.Text)),
        (refund, sa.literal(REFUND)),
        (charge, sa.literal(CHARGE)),
    )


def standard_name(name: Expression) -> Expression:
    """One name for those that count as one."""
    groups = [same_as(one) for one in _GROUPED]
    return sa.case(*((among(name, group), sa.literal(min(group))) for group in groups), else_=name)
