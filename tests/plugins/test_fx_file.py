"""Rates of a file: the shape in which the European Central Bank offers all of its days."""

from datetime import date
from decimal import Decimal

import pytest

from hosts.composition.compose import load_installed_registry_once
from service_core.kernel.errors import StartupError
from service_core.plugin import DayRate, RateSourceUnavailable
from service_core.testing.rate_source import RateSourceConformance

DAY = date(2026, 7, 7)


def open_source(folder, text=None):
    if text is not None:
        (folder / "rates.csv").write_text(text)
    return load_installed_registry_once().open_adapter("fx", "rates:///rates.csv", base_folder=folder)


class TestRateFile(RateSourceConformance):
    @pytest.fixture
    def source(self, tmp_path):
        return open_source(tmp_path, "Date,USD,JPY\n2026-07-07,1.0876,171.23\n2026-07-06,1.0811,170.98\n")

    @pytest.fixture
    def unavailable_source(self, tmp_path):
        return open_source(tmp_path)


async def test_lines_are_days_and_columns_currencies(tmp_path):
    answer = await open_source(
        tmp_path, "Date,USD,JPY,RUB,\n2026-07-07,1.0876,171.23,N/A,\n2026-07-06, 1.08 ,,N/A,\n"
    ).fetch_rates_not_stored_yet(None)
    assert answer == [
        DayRate(DAY, "USD", Decimal("1.0876")),
        DayRate(DAY, "JPY", Decimal("171.23")),
        DayRate(date(2026, 7, 6), "USD", Decimal("1.08")),
    ]


@pytest.mark.parametrize(
    "text", ["Day,USD\n2026-07-07,1\n", "Date,USD\nyesterday,1\n", "Date,USD\n2026-07-07,much\n", "Date,EUR\n2026-07-07,1\n"]
)  # fmt: skip
async def test_invalid_line_is_named(tmp_path, text):
    request = open_source(tmp_path, text)
    with pytest.raises(RateSourceUnavailable, match=r"Line 2 of .*rates\.csv"):
        await request.fetch_rates_not_stored_yet(None)
    with pytest.raises(StartupError, match=r"fx\.rates"):
        await request.check()


async def test_missing_file_stops_the_start(tmp_path):
    with pytest.raises(StartupError, match="cannot be read"):
        await open_source(tmp_path).check()
