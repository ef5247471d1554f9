"""Finds the event in which each payment arose, by the same rule as `device_report_of_charge_or_itself` in the core."""

from typing import Any, Final

import sqlalchemy as sa

from plugins.events_sql.relations.order_deduplication import (
    ORDER_ID_COLUMNS,
    charge_per_refund,
    is_tracked,
    is_within_repeat_window,
    unnested_order_ids,
)
from plugins.events_sql.relations.order_ids import materialized_cte
from plugins.events_sql.schema.tables import EVENTS
from plugins.events_sql.sql.compiled_sources import WORKSPACE
from plugins.events_sql.sql.event_kinds import charge_or_refund_kind, is_conversion
from service_core.plugin import CHARGE, TRACKED

ORIGIN_COLUMNS: Final = {"origin_seq": "seq", "origin_at": "timestamp", "origin_session_no": "session_no"}
"""Columns of the event in which a payment arose -> columns of `EVENTS`."""


def payments_with_origins(
    facts: sa.Select[Any], links: sa.CTE, *, any_revenue_converts: bool
) -> sa.Select[Any]:
    """Returns payments with `ORIGIN_COLUMNS`; a refund arose where the charge of its order did.

    Args:
        facts: all payments of all time, with the columns of events.
        links: as `order_id_links` returns them.
        any_revenue_converts: whether any event with revenue converts.
    """
    payments = materialized_cte(facts, "payments")
    charges = sa.select(payments).where(payments.c.kind == CHARGE).subquery("charges")
    refunds = sa.select(payments).where(payments.c.kind != CHARGE).subquery("refunds_of_charges")
    order = charge_per_refund(refunds, charges, links, "session_no")
    report = _report_per_charge_without_device(payments, any_revenue_converts=any_revenue_converts)
    charge_seq = sa.func.coalesce(order.c.seq, payments.c.seq)
    joined = payments.outerjoin(order, order.c.refund == payments.c.seq).outerjoin(
        report, report.c.charge == charge_seq
    )
    origins = (
        sa.func.coalesce(report.c[name], order.c[name], payments.c[name]).label(label)
        for label, name in ORIGIN_COLUMNS.items()
    )
    return sa.select(*payments.c, *origins).select_from(joined)


def _report_per_charge_without_device(payments: sa.CTE, *, any_revenue_converts: bool) -> sa.Subquery:
    """Returns the preferred tracked report of the order of each charge that no device sent, by ``charge``."""
    c = payments.c
    lacking = (
        sa.select(c.seq, c.timestamp, c.provider, unnested_order_ids(c))
        .where(c.kind == CHARGE, sa.not_(c.from_device))
        .subquery("sent_by_no_device")
    )
    reports = _tracked_reports_by_order_id(any_revenue_converts=any_revenue_converts)
    preferred = (sa.case((reports.c.from_device, 0), else_=1), reports.c.timestamp, reports.c.seq)
    place = sa.func.row_number().over(partition_by=lacking.c.seq, order_by=preferred)
    matches = (
        sa.select(
            lacking.c.seq.label("charge"),
            *(reports.c[name] for name in ORIGIN_COLUMNS.values()),
            place.label("place"),
        )
        .join_from(lacking, reports, lacking.c.key == reports.c.key)
        .where(
            is_within_repeat_window(lacking.c, reports.c),
            sa.or_(reports.c.from_device, lacking.c.provider != TRACKED),
        )
        .subquery("matches")
    )
    return sa.select(matches).where(matches.c.place == 1).subquery("tracked_report")


def _tracked_reports_by_order_id(*, any_revenue_converts: bool) -> sa.Subquery:
    """Returns tracked conversions and charges, one row per order id."""
    c = EVENTS.c
    is_charge = sa.func.coalesce(charge_or_refund_kind(c) == CHARGE, sa.false())
    counts = sa.or_(is_charge, is_conversion(c, any_revenue_converts=any_revenue_converts))
    has_id = sa.or_(*(c[name].is_not(None) for name in ORDER_ID_COLUMNS))
    columns = (*(c[name] for name in ORIGIN_COLUMNS.values()), c.from_device, unnested_order_ids(c))
    return (
        sa.select(*columns)
        .where(c.workspace_id == WORKSPACE, has_id, is_tracked(c), counts)
        .subquery("tracked_reports")
    )
