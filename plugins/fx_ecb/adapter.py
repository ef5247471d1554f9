"""The port `RateSource` on the files of the European Central Bank."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final

from plugins.fx_ecb.rates_parser import StreamingRatesParser
from plugins.fx_ecb.settings import EcbSettings
from service_core.plugin import Clock, DayRate, RateCoverage, RateSourceUnavailable, system_clock

TIMEOUT_SECONDS: Final = 60.0
_DAILY_FILE: Final = "eurofxref-daily.xml"
_QUARTER_FILE: Final = "eurofxref-hist-90d.xml"
_FULL_FILE: Final = "eurofxref-hist.xml"
_QUARTER_FILE_DAYS: Final = timedelta(days=80)
"""Less than the 90 days the second file has."""
_LONGEST_GAP: Final = timedelta(days=7)
"""No publication is further from the next."""
_SATURDAY: Final = 5


@dataclass(frozen=True, slots=True)
class EcbReferenceRates:
    """Implements `RateSource`; asks for the smallest of three files that leaves no gap."""

    settings: EcbSettings
    clock: Clock = system_clock

    @property
    def id(self) -> str:
        """``ecb``."""
        return "ecb"

    async def fetch_rates_not_stored_yet(self, stored_coverage: RateCoverage | None) -> Sequence[DayRate]:
        """Downloads the smallest file that leaves no gap after the covered days, and returns all rates of it.

        Raises:
            RateSourceUnavailable: it does not answer, or something else.
        """
        if (
            stored_coverage is None
            or stored_coverage.last_day is None
            or stored_coverage.first_day is None
            or self._misses_older_days(stored_coverage.first_day)
        ):
            return await self._download_rates(_FULL_FILE)
        if self.clock().date() - stored_coverage.last_day > _QUARTER_FILE_DAYS:
            return await self._download_rates(_FULL_FILE)
        daily_rates = await self._download_rates(_DAILY_FILE)
        newest = max((rate.day for rate in daily_rates), default=stored_coverage.last_day)
        return (
            daily_rates
            if _is_next_working_day(stored_coverage.last_day, newest)
            else await self._download_rates(_QUARTER_FILE)
        )

    def _misses_older_days(self, first: date) -> bool:
        """Returns whether the settings want days more than a week before the first stored one."""
        return first - self.settings.since > _LONGEST_GAP

    async def _download_rates(self, file_name: str) -> Sequence[DayRate]:
        try:
            from httpx2 import AsyncClient, HTTPError  # noqa: PLC0415 - 20 MB that only reading needs
        except ModuleNotFoundError:
            raise RateSourceUnavailable(
                'Reading exchange rates needs an HTTP client. Install "touchpoint-analytics[fx]".'
            ) from None
        reading = StreamingRatesParser(self.settings.since)
        try:
            async with (
                AsyncClient(timeout=TIMEOUT_SECONDS, follow_redirects=True) as client,
                client.stream("GET", f"{self.settings.address.rstrip('/')}/{file_name}") as answer,
            ):
                if not answer.is_success:
                    raise RateSourceUnavailable(
                        f"The European Central Bank answers with status {answer.status_code}."
                    )
                async for piece in answer.aiter_bytes():
                    reading.parse_chunk(piece)
        except HTTPError as fault:
            raise RateSourceUnavailable(
                f"The European Central Bank does not answer ({type(fault).__name__})."
            ) from None
        reading.parse_chunk(b"", is_last=True)
        return reading.rates


def _is_next_working_day(earlier_day: date, later_day: date) -> bool:
    """Returns whether no working day lies between two days."""
    between = (earlier_day + timedelta(days=n) for n in range(1, (later_day - earlier_day).days))
    return all(day_between.weekday() >= _SATURDAY for day_between in between)
