"""Store of ad spend in versions, and of the names of campaigns, groups and ads."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import groupby
from operator import itemgetter
from typing import Any, Final
from uuid import UUID

import sqlalchemy as sa

from plugins.workspace_sql.database import SqlStore
from plugins.workspace_sql.records import record_of, row_of
from plugins.workspace_sql.revenue_tables import AD_ENTITIES, AD_SPEND
from plugins.workspace_sql.row_history import save_rows_keeping_replaced
from service_core.plugin import AdEntity, AdLevel, SpendQuery, SpendRow, SpendSum

_MILLION: Final = 1_000_000
_BATCH_SIZE: Final = 500
"""Rows read and written at a time. A sync returns a month of every ad of an account."""

_FIGURES: Final = ("spend", "impressions", "clicks", "reach", "conversions", "conversion_value")
_VERSIONED_COLUMNS: Final = (
    *_FIGURES, "currency", "account_zone", "attribution_setting", "report_version",
)  # fmt: skip
"""A row that differs from the latest version in one of them is a new version."""

_ACCOUNT_KEY: Final = ("level", "platform", "account_id")
_ENTITY_KEY: Final = (*_ACCOUNT_KEY, "entity_id")
_DAY_KEY: Final = (*_ENTITY_KEY, "day")
_FETCH_KEY: Final = ("fetched_at", "attribution_setting")
_VERSION_KEY: Final = ("workspace_id", *_DAY_KEY, *_FETCH_KEY)
_ENTITY_COLUMNS: Final = (
    "campaign_id", "campaign_name", "group_id", "group_name", "ad_id", "ad_name", "status",
)  # fmt: skip
_Row = Mapping[str, Any]
_Key = Callable[[_Row], tuple[Any, ...]]

_account_of: Final[_Key] = itemgetter(*_ACCOUNT_KEY)
_day_of: Final[_Key] = itemgetter(*_DAY_KEY)
_fetch_of: Final[_Key] = itemgetter(*_FETCH_KEY)
_version_of: Final[_Key] = itemgetter(*_VERSION_KEY)
_content_of: Final[_Key] = itemgetter(*_VERSIONED_COLUMNS)

_SPEND: Final = AD_SPEND.c
_MARK_SUPERSEDED: Final = (
    sa.update(AD_SPEND)
    .where(*(_SPEND[name] == sa.bindparam(f"old_{name}") for name in _VERSION_KEY))
    .values(is_latest=False)
)


class SqlAdSpend(SqlStore):
    """Implements the port `AdSpendStore`."""

    async def add_new_spend_versions(self, workspace_id: UUID, rows: Sequence[SpendRow]) -> None:
        """Saves entity names, then new versions of days, in batches."""
        lock = f"{AD_SPEND.name} {workspace_id}"
        entities = _latest_entity_name_rows(workspace_id, rows)
        for start in range(0, len(entities), _BATCH_SIZE):
            async with self._database.write(lock, no_timeout=True) as connection:
                batch = entities[start : start + _BATCH_SIZE]
                await connection.run_sync(_save_entity_names, batch, self._database.clock())
        for batch in _batches_by_account_and_level([_spend_row_columns(workspace_id, row) for row in rows]):
            async with self._database.write(lock, no_timeout=True) as connection:
                await connection.run_sync(_insert_changed_versions, batch, self._database.clock())

    async def sum_latest_spend(self, query: SpendQuery) -> list[SpendSum]:
        """Returns sums of the latest versions."""
        async with self._database.read() as connection:
            rows = await connection.execute(_latest_spend_sum_query(query))
            return [_spend_sum_of_row(row, len(query.group_by)) for row in rows]

    async def list_ad_entities_with_latest_names(
        self, workspace_id: UUID, level: AdLevel
    ) -> list[tuple[str, str, AdEntity]]:
        """Returns platform, account and entity of everything with spend."""
        column = AD_ENTITIES.c
        query = (
            sa.select(AD_ENTITIES)
            .where(column.workspace_id == workspace_id, column.level == level)
            .order_by(column.platform, column.account_id, column.entity_id)
        )
        rows = await self._database.fetch_rows(query)
        return [(row["platform"], row["account_id"], record_of(AdEntity, row)) for row in rows]

    async def list_platforms_with_spend(self, workspace_id: UUID) -> frozenset[str]:
        """Returns the platforms with spend."""
        query = sa.select(AD_ENTITIES.c.platform).where(AD_ENTITIES.c.workspace_id == workspace_id)
        return frozenset(row["platform"] for row in await self._database.fetch_rows(query.distinct()))


def _save_entity_names(connection: sa.Connection, rows: Sequence[_Row], now: datetime) -> None:
    save_rows_keeping_replaced(
        connection,
        AD_ENTITIES,
        rows,
        now,
        unversioned_columns=["fetched_at"],
        update_condition=_is_not_older,
    )


def _is_not_older(given: Any) -> sa.ColumnElement[bool]:
    return sa.and_(AD_ENTITIES.c.fetched_at <= given.fetched_at)


def _spend_row_columns(workspace_id: UUID, row: SpendRow) -> _Row:
    columns = {name: value for name, value in row_of(row).items() if name != "entity"}
    return columns | {
        "workspace_id": workspace_id,
        "level": row.entity.level,
        "entity_id": row.entity.id,
        "conversions": None if row.conversions is None else round(row.conversions * _MILLION),
    }


def _batches_by_account_and_level(rows: Sequence[_Row]) -> Iterator[list[_Row]]:
    """Splits rows into batches of one account and level. Versions of a day keep their order and stay together."""
    for _, account_rows in groupby(sorted(rows, key=_day_of), _account_of):
        batch: list[_Row] = []
        for _, versions in groupby(account_rows, _day_of):
            batch += versions
            if len(batch) >= _BATCH_SIZE:
                yield batch
                batch = []
        if batch:
            yield batch


def _insert_changed_versions(connection: sa.Connection, batch: Sequence[_Row], now: datetime) -> None:
    """Inserts the rows that differ from the version before, and marks which version of a day is the latest."""
    stored = connection.execute(_latest_versions_query(batch)).mappings()
    latest: dict[Any, _Row] = {_day_of(row): row for row in map(dict, stored)}
    new: dict[Any, _Row] = {}
    superseded: dict[Any, _Row] = {}
    for row in batch:
        before = latest.get(_day_of(row))
        if before is not None and _content_of(before) == _content_of(row):
            continue
        new[_version_of(row)] = row
        if before is None or _fetch_of(row) >= _fetch_of(before):
            latest[_day_of(row)] = row
            superseded |= {} if before is None else {_version_of(before): before}
    if superseded:
        old = [{f"old_{name}": row[name] for name in _VERSION_KEY} for row in superseded.values()]
        connection.execute(_MARK_SUPERSEDED, old)
    if new:
        current = {_version_of(row) for row in latest.values()}
        rows = [{**row, "is_latest": version in current} for version, row in new.items()]
        save_rows_keeping_replaced(connection, AD_SPEND, rows, now, unversioned_columns=["is_latest"])


def _latest_versions_query(batch: Sequence[_Row]) -> sa.Select[Any]:
    """Returns the query for the latest versions of the days and entities of a batch."""
    days = [row["day"] for row in batch]
    return sa.select(AD_SPEND).where(
        *(_SPEND[name] == batch[0][name] for name in ("workspace_id", *_ACCOUNT_KEY)),
        _SPEND.entity_id.in_({row["entity_id"] for row in batch}),
        _SPEND.day.between(min(days), max(days)),
        _SPEND.is_latest,
    )


def _latest_entity_name_rows(workspace_id: UUID, rows: Sequence[SpendRow]) -> list[_Row]:
    """Returns one row per entity, with the names of the row that was fetched last."""
    latest = {
        (row.platform, row.account_id, row.entity.level, row.entity.id): row
        for row in sorted(rows, key=lambda row: (row.fetched_at, row.day))
    }
    return [
        {
            "workspace_id": workspace_id,
            "platform": row.platform,
            "account_id": row.account_id,
            "entity_id": row.entity.id,
            "fetched_at": row.fetched_at,
            **row_of(row.entity),
        }
        for row in latest.values()
    ]


def _latest_spend_sum_query(plan: SpendQuery) -> sa.Select[Any]:
    tables: sa.FromClause = AD_SPEND
    if any(name in _ENTITY_COLUMNS for name in plan.group_by):
        same = (_SPEND[name] == AD_ENTITIES.c[name] for name in ("workspace_id", *_ENTITY_KEY))
        tables = AD_SPEND.join(AD_ENTITIES, sa.and_(*same))
    keys = [AD_ENTITIES.c[name] if name in _ENTITY_COLUMNS else _SPEND[name] for name in plan.group_by]
    sums = (_sum_or_null_if_any_missing(_SPEND[name]) for name in _FIGURES)
    query = (
        sa.select(*keys, _SPEND.currency, sa.func.count(), *sums)
        .select_from(tables)
        .where(
            _SPEND.workspace_id == plan.workspace_id,
            _SPEND.level == plan.level,
            _SPEND.day.between(plan.first, plan.last),
            _SPEND.is_latest,
        )
        .group_by(*keys, _SPEND.currency)
    )
    return query if plan.platforms is None else query.where(_SPEND.platform.in_(plan.platforms))


def _sum_or_null_if_any_missing(column: sa.ColumnElement[int]) -> sa.ColumnElement[int]:
    """Returns the sum, or NULL if a row has no value: a sum of the others would be too small."""
    return sa.case((sa.func.count() == sa.func.count(column), sa.func.sum(column)))


def _spend_sum_of_row(row: sa.Row[Any], key_count: int) -> SpendSum:
    currency, rows, *sums = row[key_count:]
    figures = {
        name: None if value is None else int(value) for name, value in zip(_FIGURES, sums, strict=True)
    }
    millionths = figures.pop("conversions")
    conversions = None if millionths is None else millionths / _MILLION
    return SpendSum(tuple(row[:key_count]), currency, rows, conversions=conversions, **figures)
