"""The payments that the plans of one run count, as a temporary table of that run.

Engines take far longer to plan the statement of payments than to run it for some days, and the event in which a payment arose is searched
among the events of all time. So plans that differ only in what they count, filter or group by share the payments.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

import sqlalchemy as sa

from plugins.events_sql.attribution.touches import first_touch_per_person
from plugins.events_sql.execution.query_executor import StatementRunner
from plugins.events_sql.execution.statement_cache import deferred_statement
from plugins.events_sql.relations.charges_and_refunds import (
    PaymentRows,
    any_provider_report,
    reads_payments_of_span_only,
)
from plugins.events_sql.schema.tables import IdNumber
from plugins.events_sql.sql.time_spans import all_time_span
from service_core.plugin import QueryScope

PAYMENTS_TABLE: Final = "shared_payments"
_PAYERS: Final = sa.table(PAYMENTS_TABLE, sa.column("person_no", IdNumber()))
_FIRST_TOUCHES_TABLE: Final = "first_touches_of_payers"


class PaymentColumns(NamedTuple):
    """Which columns of payments a plan needs besides those that cost nothing; see `PaymentRows`."""

    with_first_orders: bool = False
    with_order_counts: bool = False
    with_fees: bool = False
    with_origins: bool = False
    with_first_touches: bool = False

    def row_options(self) -> dict[str, Any]:
        """Returns the arguments of `PaymentRows`."""
        options = self._asdict()
        del options["with_first_touches"]
        return options


def create_shared_payments_table(
    scope: QueryScope, needed: Sequence[PaymentColumns], runner: StatementRunner
) -> PaymentColumns | None:
    """Creates the payments of a scope with all columns that any plan needs, and returns these columns.

    Returns None, and creates nothing, for one scan that needs no origins: one statement is faster then.
    """
    columns = PaymentColumns(*map(any, zip(*needed, strict=True))) if needed else PaymentColumns()
    if len(needed) < 2 and not (columns.with_origins or columns.with_first_touches):  # noqa: PLR2004 - nobody to share with
        return None
    of_all = replace(scope, filters=())
    searched = of_all if _depends_on_span_only(scope, columns) else replace(of_all, span=all_time_span())
    may_be_of_providers = bool(runner.fetch_rows(deferred_statement(any_provider_report, searched)))
    runner.create_temp_table(
        PAYMENTS_TABLE, deferred_statement(_payments_with_person, of_all, columns, may_be_of_providers)
    )
    if columns.with_first_touches:
        runner.create_temp_table(_FIRST_TOUCHES_TABLE, deferred_statement(_first_touches_of_payers, of_all))
    return columns


def first_touches_of_payers(scope: QueryScope) -> sa.Select[Any]:
    """Selects the first touch of every person of the shared payments, from its table."""
    columns = (sa.column(c.name, c.type) for c in first_touch_per_person(scope).selected_columns)
    return sa.select(*sa.table(_FIRST_TOUCHES_TABLE, *columns).c)


def _depends_on_span_only(scope: QueryScope, columns: PaymentColumns) -> bool:
    of_all_time = columns.with_first_orders or columns.with_order_counts or columns.with_origins
    return reads_payments_of_span_only(scope) and not of_all_time


def _payments_with_person(
    scope: QueryScope, columns: PaymentColumns, may_be_of_providers: bool
) -> sa.Select[Any]:
    rows = PaymentRows(scope, scope.span, **columns.row_options(), may_be_of_providers=may_be_of_providers)
    person_no = rows.person_no.label("person_no")
    return sa.select(*rows.table.c, person_no).select_from(rows.source).where(*rows.where)


def _first_touches_of_payers(scope: QueryScope) -> sa.Select[Any]:
    return first_touch_per_person(scope, only_persons_of=_PAYERS)
