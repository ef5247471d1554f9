"""Ad spend and what there was advertised with, in SQL."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import groupby
from typing import Any, Final
from uuid import UUID

import sqlalchemy as sa

from plugins.workspace_sql.database import Database, insert_into
from plugins.workspace_sql.spend_tables import AD_ENTITIES, AD_SPEND
from service_core.plugin import AdEntity, AdLevel, SpendQuery, SpendRow, SpendSum

_MILLION: Final = 1_000_000
_BATCH: Final = 500
"""Rows looked up and written at a time: a sync brings a month of every ad of an account."""

_FIGURES: Final = ("spend", "impressions", "clicks", "reach", "conversions", "conversion_value")
_SAID: Final = (*_FIGURES, "currency", "account_zone", "attribution_setting", "report_version")
"""What makes a version another one; an entity's names are kept with the entity."""

_ACCOUNT: Final = ("level", "platform", "account_id")
_ENTITY: Final = (*_ACCOUNT, "entity_id")
_DAY: Final = (*_ENTITY, "day")
_DESCRIBED: Final = (
    "campaign_id", "campaign_name", "group_id", "group_name", "ad_id", "ad_name", "status",
)  # fmt: skip
_Row = Mapping[str, Any]


class SqlSpend:
    """Implements the port `AdSpendStore`."""

    _database: Database

    async def add_spend(self, workspace_id: UUID, rows: Sequence[SpendRow]) -> None:
        """Keep what entities are called, then new versions, some at a time: others write in between."""
        turn = f"{AD_SPEND.name} {workspace_id}"
        named = _named_last(workspace_id, rows)
        for start in range(0, len(named), _BATCH):
            async with self._database.write(turn, no_timeout=True) as connection:
                some = named[start : start + _BATCH]
                await connection.run_sync(_upsert, AD_ENTITIES, some, newer="told_at")
        for batch in _batches([_row_of(workspace_id, row) for row in rows]):
            async with self._database.write(turn, no_timeout=True) as connection:
                await connection.run_sync(_keep, batch)

    async def spend(self, plan: SpendQuery) -> list[SpendSum]:
        """Sums of what counts."""
        async with self._database.read() as connection:
            return [_sum_of(row, len(plan.group_by)) for row in await connection.execute(_summed(plan))]

    async def list_ad_entities(self, workspace_id: UUID, level: AdLevel) -> list[tuple[str, str, AdEntity]]:
        """Everything there ever was spend of, by platform, account and id."""
        column = AD_ENTITIES.c
        query = (
            sa.select(AD_ENTITIES)
            .where(column.workspace_id == workspace_id, column.level == level.value)
            .order_by(column.platform, column.account_id, column.entity_id)
        )
        async with self._database.read() as connection:
            rows = (await connection.execute(query)).mappings()
            return [(row["platform"], row["account_id"], _entity_of(row)) for row in rows]

    async def list_platforms_with_spend(self, workspace_id: UUID) -> frozenset[str]:
        """The platforms there ever was spend of."""
        query = sa.select(AD_ENTITIES.c.platform).where(AD_ENTITIES.c.workspace_id == workspace_id)
        async with self._database.read() as connection:
            return frozenset((await connection.execute(query.distinct())).scalars())


def _row_of(workspace_id: UUID, row: SpendRow) -> _Row:
    said = {name: getattr(row, name) for name in _SAID}
    claimed = row.conversions
    return said | {
        "workspace_id": workspace_id,
        "level": row.entity.level.value,
        "platform": row.platform,
        "account_id": row.account_id,
        "entity_id": row.entity.id,
        "day": row.day,
        "fetched_at": row.fetched_at,
        "conversions": None if claimed is None else round(claimed * _MILLION),
    }


def _batches(rows: Sequence[_Row]) -> Iterator[list[_Row]]:
    """Rows of one account and level at a time, those of a day in the order they came."""
    for _, account in groupby(sorted(rows, key=_at(_DAY)), _at(_ACCOUNT)):
        days: list[_Row] = []
        for _, versions in groupby(account, _at(_DAY)):
            days += versions
            if len(days) >= _BATCH:
                yield days
                days = []
        if days:
            yield days


def _at(names: Iterable[str]) -> Any:
    return lambda row: tuple(row[name] for name in names)


def _keep(connection: sa.Connection, batch: Sequence[_Row]) -> None:
    """Add the versions that say something else than the one before, and let the latest count."""
    known = connection.execute(_known(batch)).mappings()
    latest: dict[Any, _Row] = {_at(_DAY)(row): dict(row) for row in known}
    new: dict[Any, _Row] = {}
    passed: dict[Any, _Row] = {}
    for row in batch:
        before = latest.get(_at(_DAY)(row))
        if before is not None and _at(_SAID)(before) == _at(_SAID)(row):
            continue
        new[_at(_VERSION)(row)] = row
        if before is None or _at(_FETCH)(row) >= _at(_FETCH)(before):
            latest[_at(_DAY)(row)] = row
            passed |= {} if before is None else {_at(_VERSION)(before): before}
    if passed:
        old = [{f"was_{name}": row[name] for name in _VERSION} for row in passed.values()]
        connection.execute(_UNCOUNT, old)
    counted = {_at(_VERSION)(row) for row in latest.values()}
    if new:
        _upsert(connection, AD_SPEND, [{**row, "counts": at in counted} for at, row in new.items()])


_FETCH: Final = ("fetched_at", "attribution_setting")
_VERSION: Final = ("workspace_id", *_DAY, *_FETCH)
_UNCOUNT: Final = (
    sa.update(AD_SPEND)
    .where(*(AD_SPEND.c[name] == sa.bindparam(f"was_{name}") for name in _VERSION))
    .values(counts=False)
)


def _known(batch: Sequence[_Row]) -> sa.Select[Any]:
    """What counts at present of the days and entities of a batch."""
    column, one = AD_SPEND.c, batch[0]
    return sa.select(AD_SPEND).where(
        *(column[name] == one[name] for name in ("workspace_id", *_ACCOUNT)),
        column.entity_id.in_({row["entity_id"] for row in batch}),
        column.day.between(min(row["day"] for row in batch), max(row["day"] for row in batch)),
        column.counts,
    )


def _named_last(workspace_id: UUID, rows: Sequence[SpendRow]) -> list[_Row]:
    """Each entity once, as the row fetched last calls it."""
    told = {
        (row.platform, row.account_id, row.entity.level, row.entity.id): row
        for row in sorted(rows, key=lambda row: (row.fetched_at, row.day))
    }
    return [
        {
            "workspace_id": workspace_id,
            "platform": row.platform,
            "account_id": row.account_id,
            "entity_id": row.entity.id,
            "told_at": row.fetched_at,
            **asdict(row.entity),
            "level": row.entity.level.value,
        }
        for row in told.values()
    ]


def _upsert(
    connection: sa.Connection, table: sa.Table, rows: Sequence[_Row], newer: str | None = None
) -> None:
    """Add rows, or replace those with their keys; with ``newer`` only those that are not younger by it."""
    insert = insert_into(connection, table)
    keys = [column.name for column in table.primary_key]
    changed = {name: insert.excluded[name] for name in rows[0] if name not in keys}
    older = None if newer is None else table.c[newer] <= insert.excluded[newer]
    statement = insert.on_conflict_do_update(index_elements=keys, set_=changed, where=older)
    connection.execute(statement, rows)


def _summed(plan: SpendQuery) -> sa.Select[Any]:
    column = AD_SPEND.c
    tables: sa.FromClause = AD_SPEND
    if any(name in _DESCRIBED for name in plan.group_by):
        same = (column[name] == AD_ENTITIES.c[name] for name in ("workspace_id", *_ENTITY))
        tables = AD_SPEND.join(AD_ENTITIES, sa.and_(*same))
    keys = [AD_ENTITIES.c[name] if name in _DESCRIBED else column[name] for name in plan.group_by]
    query = (
        sa.select(*keys, column.currency, sa.func.count(), *(_whole(column[name]) for name in _FIGURES))
        .select_from(tables)
        .where(
            column.workspace_id == plan.workspace_id,
            column.level == plan.level.value,
            column.day.between(plan.first, plan.last),
            column.counts,
        )
        .group_by(*keys, column.currency)
    )
    return query if plan.platforms is None else query.where(column.platform.in_(plan.platforms))


def _whole(column: sa.ColumnElement[int]) -> sa.ColumnElement[int]:
    """The sum, or nothing when a row has no value: the rest alone would pass for all of it."""
    return sa.case((sa.func.count() == sa.func.count(column), sa.func.sum(column)))


def _sum_of(row: sa.Row[Any], width: int) -> SpendSum:
    currency, rows, *figures = row[width:]
    said = {
        name: None if value is None else int(value) for name, value in zip(_FIGURES, figures, strict=True)
    }
    claimed = said.pop("conversions")
    conversions = None if claimed is None else claimed / _MILLION
    return SpendSum(tuple(row[:width]), currency, rows, conversions=conversions, **said)


def _entity_of(row: sa.RowMapping) -> AdEntity:
    return AdEntity(AdLevel(row["level"]), **{name: row[name] for name in _DESCRIBED})
