"""When the source of exchange rates is read: each hour, by whichever process comes first."""

import logging
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from service_core.commerce.rounds import pause
from service_core.insight.fx.ports import RatesDown, RateSource, RateStore
from service_core.kernel.clock import Clock

HOURLY: Final = timedelta(hours=1)
"""How old a reading is when the next is due."""

_log: Final = logging.getLogger("touchpoint.fx")


@dataclass
class RateKeeping:
    """Keeps the rates of a source up to date; one that is away is left alone for longer each time."""

    source: RateSource
    store: RateStore
    clock: Clock
    _failures: int = 0
    _until: datetime | None = None

    async def look(self) -> None:
        """Read the source if nobody has for an hour.

        Raises:
            StoreUnavailable: rates cannot be kept or read here; the source is not to blame.
        """
        now = self.clock()
        if self._until is not None and now < self._until:
            return
        known = await self.store.rates_known(self.source.id)
        if known is not None and now - known.read_at < HOURLY:
            self._until = known.read_at + HOURLY
            return
        try:
            await self.read()
        except RatesDown as fault:
            self._failures += 1
            self._until = now + pause(self._failures, None)
            _log.warning("exchange rates cannot be read: %s", fault)

    async def read(self) -> int:
        """Read the source now; the number of rates it told.

        Raises:
            RatesDown: it cannot be read.
            StoreUnavailable: rates cannot be kept or read here.
        """
        began_at = self.clock()
        found = await self.source.published(await self.store.rates_known(self.source.id))
        await self.store.keep_rates(self.source.id, found, began_at)
        self._failures, self._until = 0, began_at + HOURLY
        return len(found)
