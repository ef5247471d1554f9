"""The port `RateSource` on the files of the European Central Bank."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final

from plugins.fx_ecb.reading import EcbReading
from plugins.fx_ecb.settings import EcbSettings
from service_core.plugin import Clock, DayRate, RatesDown, RatesKnown, system_clock

SECONDS: Final = 60.0
_TODAY: Final = "eurofxref-daily.xml"
_QUARTER: Final = "eurofxref-hist-90d.xml"
_EVER: Final = "eurofxref-hist.xml"
_A_QUARTER: Final = timedelta(days=80)
"""Less than the 90 days the second file has."""
_HOLIDAYS: Final = timedelta(days=7)
"""No publication is further from the next."""
_SATURDAY: Final = 5


@dataclass(frozen=True, slots=True)
class ReferenceRates:
    """Implements `RateSource`; asks for the smallest of three files that leaves no gap."""

    settings: EcbSettings
    clock: Clock = system_clock

    @property
    def id(self) -> str:
        """``ecb``."""
        return "ecb"

    async def published(self, known: RatesKnown | None) -> Sequence[DayRate]:
        """What the bank has published beyond what is known.

        Raises:
            RatesDown: it does not answer, or something else.
        """
        if known is None or known.last is None or known.first is None or self._reaches_back(known.first):
            return await self._told(_EVER)
        if self.clock().date() - known.last > _A_QUARTER:
            return await self._told(_EVER)
        told = await self._told(_TODAY)
        newest = max((rate.day for rate in told), default=known.last)
        return told if _follows(known.last, newest) else await self._told(_QUARTER)

    def _reaches_back(self, first: date) -> bool:
        """Whether older days are asked for than are kept."""
        return first - self.settings.since > _HOLIDAYS

    async def _told(self, name: str) -> Sequence[DayRate]:
        try:
            from httpx2 import AsyncClient, HTTPError  # noqa: PLC0415 - 20 MB that only reading needs
        except ModuleNotFoundError:
            raise RatesDown(
                'Reading exchange rates needs an HTTP client. Install "touchpoint[fx]".'
            ) from None
        reading = EcbReading(self.settings.since)
        try:
            async with (
                AsyncClient(timeout=SECONDS, follow_redirects=True) as client,
                client.stream("GET", f"{self.settings.address.rstrip('/')}/{name}") as answer,
            ):
                if not answer.is_success:
                    raise RatesDown(f"The European Central Bank answers with status {answer.status_code}.")
                async for piece in answer.aiter_bytes():
                    reading.take(piece)
        except HTTPError as fault:
            raise RatesDown(f"The European Central Bank does not answer ({type(fault).__name__}).") from None
        reading.take(b"", last=True)
        return reading.rates


def _follows(before: date, day: date) -> bool:
    """Whether no working day lies between two."""
    between = (before + timedelta(days=n) for n in range(1, (day - before).days))
    return all(each.weekday() >= _SATURDAY for each in between)
