"""Store of exchange rates."""

from collections.abc import Collection, Sequence
from datetime import date, datetime
from typing import Final

import sqlalchemy as sa

from plugins.workspace_sql.database import SqlStore
from plugins.workspace_sql.records import row_of
from plugins.workspace_sql.revenue_tables import EXCHANGE_RATES, RATE_SOURCES
from plugins.workspace_sql.row_history import Row, save_rows_keeping_replaced
from service_core.plugin import DayRate, RateCoverage

_BATCH_SIZE: Final = 2000
_ROW = EXCHANGE_RATES.c


class SqlExchangeRates(SqlStore):
    """Implements the port `ExchangeRateStore`."""

    async def save_rates(self, source_id: str, rates: Sequence[DayRate], read_at: datetime) -> None:
        """Adds or replaces rates in batches, and last the time at which the source was read."""
        for start in range(0, len(rates), _BATCH_SIZE):
            rows = [{"source": source_id, **row_of(rate)} for rate in rates[start : start + _BATCH_SIZE]]
            await self._save(EXCHANGE_RATES, rows)
        await self._save(RATE_SOURCES, [{"source": source_id, "read_at": read_at}])

    async def _save(self, table: sa.Table, rows: Sequence[Row]) -> None:
        async with self._database.write(EXCHANGE_RATES.name, no_timeout=True) as connection:
            await connection.run_sync(save_rows_keeping_replaced, table, rows, self._database.clock())

    async def list_rates_published_between(
        self, source_id: str, currencies: Collection[str], first_day: date, last_day: date
    ) -> list[DayRate]:
        """Returns the rates of currencies published from ``first`` to ``last``."""
        query = sa.select(EXCHANGE_RATES).where(
            _ROW.source == source_id,
            _ROW.currency.in_(sorted(currencies)),
            _ROW.day.between(first_day, last_day),
        )
        return await self._database.fetch_records(DayRate, query)

    async def rate_coverage_or_none_if_never_read(self, source_id: str) -> RateCoverage | None:
        """Returns which rates of a source are stored, or None if it was never read."""
        covered = sa.select(
            sa.func.min(_ROW.day), sa.func.max(_ROW.day), sa.func.count(_ROW.currency.distinct())
        ).where(_ROW.source == source_id)
        async with self._database.read() as connection:
            read_at = await connection.scalar(
                sa.select(RATE_SOURCES.c.read_at).where(RATE_SOURCES.c.source == source_id)
            )
            if read_at is None:
                return None
            return RateCoverage(read_at, *(await connection.execute(covered)).one())
