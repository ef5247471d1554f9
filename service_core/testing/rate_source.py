"""The conformance kit of the port ``fx``: the tests that every source of exchange rates passes.

Override two fixtures and inherit the tests; pytest needs ``asyncio_mode = "auto"``::

    class TestMyRates(RateSourceConformance):
        @pytest.fixture
        def source(self):
            return open_my_rates(server_with(PUBLISHED_RATES))

        @pytest.fixture
        def unavailable_source(self):
            return open_my_rates(server_that_does_not_answer())
"""

import re
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Final

import pytest

from service_core.analytics.fx.ports import RateCoverage, RateSource, RateSourceUnavailable
from service_core.kernel.exchange_rates import DayRate

_READ_AT: Final = datetime(2026, 7, 7, 15, tzinfo=UTC)
PUBLISHED_RATES: Final = (
    DayRate(date(2026, 7, 6), "USD", Decimal("1.0811")),
    DayRate(date(2026, 7, 6), "JPY", Decimal("170.98")),
    DayRate(date(2026, 7, 7), "USD", Decimal("1.0876")),
    DayRate(date(2026, 7, 7), "JPY", Decimal("171.23")),
)
"""The rates that the source under test is given."""


class RateSourceConformance:
    """Every rule of the port; override the fixtures ``source`` and ``unavailable_source``."""

    @pytest.fixture
    def source(self) -> RateSource:
        """The adapter under test, whose server publishes `PUBLISHED_RATES`."""
        raise pytest.UsageError("override the fixture `source` with the adapter under test")

    @pytest.fixture
    def unavailable_source(self) -> RateSource:
        """The adapter under test, whose server does not answer."""
        raise pytest.UsageError("override the fixture `unavailable_source` with an adapter that cannot read")

    async def test_fetch_rates_returns_all_rates_missing_from_the_coverage(self, source: RateSource) -> None:
        """All published rates come without coverage, and at least the newer days with one."""
        assert set(PUBLISHED_RATES) <= set(await source.fetch_rates_not_stored_yet(None))
        monday, tuesday = PUBLISHED_RATES[0].day, PUBLISHED_RATES[-1].day
        newer = await source.fetch_rates_not_stored_yet(RateCoverage(_READ_AT, monday, monday, 2))
        assert {rate for rate in PUBLISHED_RATES if rate.day == tuesday} <= set(newer)

    async def test_fetch_rates_returns_no_other_rates_when_all_are_covered(self, source: RateSource) -> None:
        """With full coverage no rates come besides the published ones."""
        known = RateCoverage(_READ_AT, PUBLISHED_RATES[0].day, PUBLISHED_RATES[-1].day, 2)
        assert set(await source.fetch_rates_not_stored_yet(known)) <= set(PUBLISHED_RATES)

    async def test_fetch_rates_keeps_the_published_decimals(self, source: RateSource) -> None:
        """Rates have exactly the published digits."""
        fetched = {
            (rate.day, rate.currency): str(rate.per_euro)
            for rate in await source.fetch_rates_not_stored_yet(None)
        }
        assert fetched[PUBLISHED_RATES[0].day, "USD"] == "1.0811"
        assert fetched[PUBLISHED_RATES[0].day, "JPY"] == "170.98"

    async def test_fetch_rates_raises_rate_source_unavailable_with_a_sentence(
        self, unavailable_source: RateSource
    ) -> None:
        """An unreachable source raises `RateSourceUnavailable` with a full sentence."""
        with pytest.raises(RateSourceUnavailable, match=r"^[A-Z/].*\.$"):
            await unavailable_source.fetch_rates_not_stored_yet(None)

    def test_source_id_is_a_lower_case_identifier(self, source: RateSource) -> None:
        """The id is a lower-case identifier of at most 64 characters."""
        assert re.fullmatch("[a-z][a-z0-9_]{0,63}", source.id)
