"""Exchange rates for tests: a store in memory, a source that says what it is told, and the conformance kit of the port ``fx``.

Name the adapter and what it is told in fixtures, and inherit the rest; pytest needs
``asyncio_mode = "auto"``::

    class TestMyRates(RateSourceConformance):
        @pytest.fixture
        def source(self):
            return open_my_rates(server_that_tells(TOLD))

        @pytest.fixture
        def away(self):
            return open_my_rates(server_that_is_away())
"""

import re
from collections.abc import Collection, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Final

import pytest

from service_core.analytics.fx.convert import CurrencyConverter
from service_core.analytics.fx.ports import RateCoverage, RateSource, RateSourceUnavailable
from service_core.analytics.fx.rate_lookup import RateLookup
from service_core.analytics.ports import AggregateReader
from service_core.kernel.exchange_rates import DayRate


class MemoryRates:
    """Implements the port `ExchangeRateStore`: the readable statement of what it promises."""

    def __init__(self) -> None:
        self._rates: dict[tuple[str, str, date], DayRate] = {}
        self._read: dict[str, datetime] = {}

    async def save_rates(self, source: str, rates: Sequence[DayRate], read_at: datetime) -> None:
        self._rates |= {(source, rate.currency, rate.day): rate for rate in rates}
        self._read[source] = read_at

    async def rates(self, source: str, currencies: Collection[str], first: date, last: date) -> list[DayRate]:
        return [
            rate
            for (of, currency, day), rate in self._rates.items()
            if of == source and currency in currencies and first <= day <= last
        ]

    async def rate_coverage(self, source: str) -> RateCoverage | None:
        if source not in self._read:
            return None
        own = [rate for (of, _, _), rate in self._rates.items() if of == source]
        days = sorted({rate.day for rate in own})
        first, last = (days[0], days[-1]) if days else (None, None)
        return RateCoverage(self._read[source], first, last, len({rate.currency for rate in own}))


class StaticRateSource:
    """A `RateSource` that tells what stands in it.

    Attributes:
        told: the rates.
        down: whether it is away.
        asked: what it was told to be known, question by question.
    """

    id = "told"

    def __init__(self, *told: DayRate) -> None:
        self.told = list(told)
        self.down = False
        self.asked: list[RateCoverage | None] = []

    async def fetch_rates(self, coverage: RateCoverage | None) -> Sequence[DayRate]:
        self.asked.append(coverage)
        if self.down:
            raise RateSourceUnavailable("Nobody answers.")
        return self.told


def aggregates_without_rates(events: AggregateReader) -> CurrencyConverter:
    """What handlers ask a store for money by, in a deployment that knows no rate."""
    return CurrencyConverter(events, RateLookup(MemoryRates(), None))


PUBLISHED_RATES: Final = (
    DayRate(date(2026, 7, 6), "USD", Decimal("1.0811")),
    DayRate(date(2026, 7, 6), "JPY", Decimal("170.98")),
    DayRate(date(2026, 7, 7), "USD", Decimal("1.0876")),
    DayRate(date(2026, 7, 7), "JPY", Decimal("171.23")),
)
"""What a source under test is told."""


class RateSourceConformance:
    """Every rule of the port; override the fixtures ``source`` and ``away``."""

    @pytest.fixture
    def source(self) -> RateSource:
        """The adapter, told `TOLD`."""
        raise pytest.UsageError("override the fixture `source` with the adapter under test")

    @pytest.fixture
    def away(self) -> RateSource:
        """The adapter, while nobody answers."""
        raise pytest.UsageError("override the fixture `away` with an adapter that cannot read")

    async def test_everything_is_told_that_is_not_known(self, source: RateSource) -> None:
        assert set(PUBLISHED_RATES) <= set(await source.fetch_rates(None))
        monday, tuesday = PUBLISHED_RATES[0].day, PUBLISHED_RATES[-1].day
        newer = await source.fetch_rates(RateCoverage(_READ_AT, monday, monday, 2))
        assert {rate for rate in PUBLISHED_RATES if rate.day == tuesday} <= set(newer)

    async def test_a_source_that_has_told_all_tells_nothing_else(self, source: RateSource) -> None:
        known = RateCoverage(_READ_AT, PUBLISHED_RATES[0].day, PUBLISHED_RATES[-1].day, 2)
        assert set(await source.fetch_rates(known)) <= set(PUBLISHED_RATES)

    async def test_decimals_are_those_that_were_published(self, source: RateSource) -> None:
        told = {(rate.day, rate.currency): str(rate.per_euro) for rate in await source.fetch_rates(None)}
        assert told[PUBLISHED_RATES[0].day, "USD"] == "1.0811"
        assert told[PUBLISHED_RATES[0].day, "JPY"] == "170.98"

    async def test_a_source_that_is_away_says_so_in_a_sentence(self, away: RateSource) -> None:
        with pytest.raises(RateSourceUnavailable, match=r"^[A-Z/].*\.$"):
            await away.fetch_rates(None)

    def test_its_rates_are_kept_under_a_name(self, source: RateSource) -> None:
        assert re.fullmatch("[a-z][a-z0-9_]{0,63}", source.id)


_READ_AT: Final = datetime(2026, 7, 7, 15, tzinfo=UTC)
