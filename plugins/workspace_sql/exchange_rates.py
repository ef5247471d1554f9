"""Exchange rates in SQL: texts, so that every engine gives back the decimal that was published."""

from collections.abc import Collection, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Final

import sqlalchemy as sa

from plugins.workspace_sql.column_types import Instant
from plugins.workspace_sql.database import Database, insert_into
from plugins.workspace_sql.tables import METADATA
from service_core.plugin import DayRate, RateCoverage

FX_RATES: Final = sa.Table(
    "fx_rates",
    METADATA,
    sa.Column("source", sa.String(64), primary_key=True),
    sa.Column("currency", sa.String(3), primary_key=True),
    sa.Column("day", sa.Date, primary_key=True),
    sa.Column("per_euro", sa.String(32), nullable=False),
    sqlite_with_rowid=False,
)
FX_SOURCES: Final = sa.Table(
    "fx_sources",
    METADATA,
    sa.Column("source", sa.String(64), primary_key=True),
    sa.Column("read_at", Instant, nullable=False),
)

_BATCH: Final = 2000
_RATE: Final = FX_RATES.c


class SqlExchangeRates:
    """Implements the port `ExchangeRateStore`."""

    _database: Database

    async def save_rates(self, source: str, rates: Sequence[DayRate], read_at: datetime) -> None:
        """Add rates or replace them, some at a time: others write in between. That all are there is said last."""
        for start in range(0, len(rates), _BATCH):
            rows = [_row_of(source, rate) for rate in rates[start : start + _BATCH]]
            async with self._database.write(FX_RATES.name, no_timeout=True) as connection:
                await connection.run_sync(_upsert, FX_RATES, rows)
        async with self._database.write(FX_RATES.name, no_timeout=True) as connection:
            await connection.run_sync(_upsert, FX_SOURCES, [{"source": source, "read_at": read_at}])

    async def rates(self, source: str, currencies: Collection[str], first: date, last: date) -> list[DayRate]:
        """The rates of some currencies that were published in some days."""
        query = sa.select(_RATE.day, _RATE.currency, _RATE.per_euro).where(
            _RATE.source == source, _RATE.currency.in_(sorted(currencies)), _RATE.day.between(first, last)
        )
        async with self._database.read() as connection:
            rows = await connection.execute(query)
            return [DayRate(day, currency, Decimal(per_euro)) for day, currency, per_euro in rows]

    async def rate_coverage(self, source: str) -> RateCoverage | None:
        """What is kept of a source."""
        days = sa.func.min(_RATE.day), sa.func.max(_RATE.day)
        told = sa.select(*days, sa.func.count(_RATE.currency.distinct())).where(_RATE.source == source)
        read = sa.select(FX_SOURCES.c.read_at).where(FX_SOURCES.c.source == source)
        async with self._database.read() as connection:
            read_at = (await connection.execute(read)).scalar_one_or_none()
            if read_at is None:
                return None
            first, last, currencies = (await connection.execute(told)).one()
            return RateCoverage(read_at, first, last, currencies)


def _row_of(source: str, rate: DayRate) -> dict[str, Any]:
    return {
        "source": source, "currency": rate.currency, "day": rate.day, "per_euro": f"{rate.per_euro:f}",
    }  # fmt: skip


def _upsert(connection: sa.Connection, table: sa.Table, rows: Sequence[dict[str, Any]]) -> None:
    insert = insert_into(connection, table)
    keys = [column.name for column in table.primary_key]
    changed = {name: insert.excluded[name] for name in rows[0] if name not in keys}
    connection.execute(insert.on_conflict_do_update(index_elements=keys, set_=changed), rows)
