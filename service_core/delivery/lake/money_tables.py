"""Reads the payments and the ad spend of a workspace by day, for the files of a lake."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final

from service_core.access.models import Workspace
from service_core.analytics.measures import Column, Relation, count_rows
from service_core.analytics.ports import AggregateQuery, AggregateReader
from service_core.analytics.reads.export_streams import RowBatch
from service_core.analytics.scope import scope_for_workspace_without_bots
from service_core.commerce.ads.models import AdLevel
from service_core.commerce.ads.ports import AdSpendStore, SpendQuery
from service_core.delivery.lake.columns import PAYMENTS, SPEND, LakeTable
from service_core.kernel.time_ranges import whole_days_range
from service_core.kernel.wall_clock import local_date

MAX_DAYS_PER_READ: Final = 31

PAYMENT_REACH: Final = timedelta(days=7)
"""Reports of one order that are at most so far apart count once: a new event may change payments of this time around it."""

SPEND_RESTATED: Final = timedelta(days=40)
"""How long platforms change the spend of a day."""

_SPEND_KEYS: Final = ("platform", "account_id", "campaign_id", "campaign_name")
_FIRST_DAY: Final = date(2000, 1, 1)


@dataclass(frozen=True, slots=True)
class MoneyTableReader:
    """Reads the rows of the tables of money.

    Attributes:
        numbers: reads payments, each counted once.
        spend: the spend of ad platforms.
    """

    numbers: AggregateReader
    spend: AdSpendStore

    async def read_payments(self, workspace: Workspace, first: date, last: date) -> Mapping[date, RowBatch]:
        """Returns the payments of local days that have any."""
        span = whole_days_range(first, last, workspace.zone)
        query = AggregateQuery(
            replace(scope_for_workspace_without_bots(workspace, span), filters=()),
            (count_rows(Relation.PAYMENTS),),
            dimensions=tuple({str(Relation.PAYMENTS): Column(name)} for name in PAYMENTS.column_names),
        )
        result = await self.numbers.aggregate(query)
        at = PAYMENTS.column_names.index("timestamp")
        rows = [tuple(map(_instant_in_utc, row[:-1])) for row in result.rows for _ in range(row[-1])]
        return _batches_by_day(PAYMENTS, ((local_date(row[at], workspace.zone), row) for row in rows))

    async def read_spend(self, workspace: Workspace, first: date, last: date) -> Mapping[date, RowBatch]:
        """Returns the spend of campaigns on days of their accounts that have any."""
        query = SpendQuery(workspace.id, first, last, AdLevel.CAMPAIGN, ("day", *_SPEND_KEYS))
        rows = [
            (day, (*keys, one.currency, one.spend, one.impressions, one.clicks))
            for one in await self.spend.sum_latest_spend(query)
            for day, *keys in [one.keys]
            if isinstance(day, date)
        ]
        return _batches_by_day(SPEND, rows)

    async def count_spend_by_day(self, workspace: Workspace) -> dict[date, int]:
        """Returns the number of rows of each day with spend of campaigns."""
        query = SpendQuery(workspace.id, _FIRST_DAY, date.max, AdLevel.CAMPAIGN, ("day",))
        sums = await self.spend.sum_latest_spend(query)
        return {one.keys[0]: one.rows for one in sums if isinstance(one.keys[0], date)}


def spans_of_days(days: Iterable[date]) -> list[tuple[date, date]]:
    """Returns the first and last day of the runs of consecutive days, each of at most `MAX_DAYS_PER_READ`."""
    spans: list[tuple[date, date]] = []
    for day in sorted(days):
        first, last = spans[-1] if spans else (day, day)
        if spans and day - last == timedelta(days=1) and (day - first).days < MAX_DAYS_PER_READ:
            spans[-1] = first, day
        else:
            spans.append((day, day))
    return spans


def _batches_by_day(table: LakeTable, rows: Iterable[tuple[date, Sequence[Any]]]) -> Mapping[date, RowBatch]:
    """Returns the columns of each day, its rows in an order that depends on their values only."""
    by_day: dict[date, list[Sequence[Any]]] = defaultdict(list)
    for day, row in rows:
        by_day[day].append(row)
    return {
        day: dict(
            zip(
                table.column_names,
                map(list, zip(*sorted(some, key=lambda row: tuple(map(str, row))), strict=True)),
                strict=True,
            )
        )
        for day, some in by_day.items()
    }


def _instant_in_utc(value: Any) -> Any:
    return value.replace(tzinfo=UTC) if isinstance(value, datetime) and value.tzinfo is None else value
