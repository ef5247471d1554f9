"""Syncs exchange rates hourly."""

import logging
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from service_core.analytics.fx.ports import ExchangeRateStore, RateSource, RateSourceUnavailable
from service_core.commerce.sync.connection_sync import backoff_delay
from service_core.kernel.clock import Clock

RATES_INTERVAL: Final = timedelta(hours=1)
"""Time between two reads of a source."""

_log: Final = logging.getLogger("touchpoint.fx")


@dataclass
class ExchangeRateSync:
    """Keeps the rates of a source up to date; after each failure the next attempt is later."""

    source: RateSource
    store: ExchangeRateStore
    clock: Clock
    _failures: int = 0
    _next_sync_at: datetime | None = None

    async def sync_if_due_or_back_off(self) -> None:
        """Syncs the rates unless they were synced within an hour; a failure is logged and delays the next attempt.

        Raises:
            StoreUnavailable: rates cannot be kept or read here; the source is not to blame.
        """
        now = self.clock()
        if self._next_sync_at is not None and now < self._next_sync_at:
            return
        known = await self.store.rate_coverage_or_none_if_never_read(self.source.id)
        if known is not None and now - known.read_at < RATES_INTERVAL:
            self._next_sync_at = known.read_at + RATES_INTERVAL
            return
        try:
            await self.sync_now()
        except RateSourceUnavailable as fault:
            self._failures += 1
            self._next_sync_at = now + backoff_delay(self._failures, None)
            _log.warning("exchange rates cannot be read: %s", fault)

    async def sync_now(self) -> int:
        """Syncs the rates now; returns the number of fetched rates.

        Raises:
            RateSourceUnavailable: it cannot be read.
            StoreUnavailable: rates cannot be kept or read here.
        """
        began_at = self.clock()
        rates = await self.source.fetch_rates_not_stored_yet(
            await self.store.rate_coverage_or_none_if_never_read(self.source.id)
        )
        await self.store.save_rates(self.source.id, rates, began_at)
        self._failures, self._next_sync_at = 0, began_at + RATES_INTERVAL
        return len(rates)
