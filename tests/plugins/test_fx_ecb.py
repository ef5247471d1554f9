"""Reference rates over the wire: the smallest file that leaves no gap, and nothing else is believed."""

from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest

from hosts.composition.compose import load_installed_registry_once
from service_core.kernel.errors import StartupError
from service_core.plugin import DayRate, RateCoverage, RateSourceUnavailable
from service_core.testing.fake_platform import FakePlatform, FakeResponse, serve_api
from service_core.testing.rate_source import RateSourceConformance

NOW = datetime(2026, 7, 8, 15, 0, tzinfo=UTC)
TUESDAY, FRIDAY = date(2026, 7, 7), date(2026, 7, 3)


def rates_xml(*days):
    result = "".join(
        f"<Cube time='{day}'>{''.join(f'<Cube currency={code!r} rate={rate!r}/>' for code, rate in rates.items())}"
        "</Cube>\n"
        for day, rates in days
    )
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<gesmes:Envelope xmlns:gesmes="http://www.gesmes.org/xml/2002-08-01" '
        'xmlns="http://www.ecb.int/vocabulary/2002-08-01/eurofxref"><gesmes:subject>Reference rates</gesmes:subject>'
        f"<gesmes:Sender><gesmes:name>European Central Bank</gesmes:name></gesmes:Sender><Cube>{result}</Cube>"
        "</gesmes:Envelope>"
    )


class StubRateServer:
    """Three files, and what was asked for."""

    def __init__(self):
        self.daily = rates_xml((TUESDAY, {"USD": "1.0876", "JPY": "171.23"}))
        self.ever = [
            (TUESDAY, {"USD": "1.0876"}),
            (FRIDAY, {"USD": "1.0811"}),
            ("2019-06-03", {"USD": "1.2"}),
        ]
        self.answer = None

    def answers(self, asked):
        if self.answer is not None:
            return self.answer
        name = asked.path.removeprefix("/eurofxref")
        return FakeResponse(self.daily if name == "-daily.xml" else rates_xml(*self.ever))


@pytest.fixture
async def rate_server():
    rate_server = StubRateServer()
    rate_server.api = FakePlatform(
        rate_server.answers, FakeResponse("busy", 503), lambda _: FakeResponse("no", 403)
    )
    async with serve_api(rate_server.api):
        yield rate_server


def open_source(rate_server, tmp_path, options=""):
    opened = load_installed_registry_once().open_adapter(
        "fx", f"ecb:///?address={rate_server.api.url}{options}", base_folder=tmp_path
    )
    return replace(opened, clock=lambda: NOW)


def read_rates(last, first=date(2020, 1, 2)):
    return RateCoverage(NOW, first, last, 30)


class TestReferenceRates(RateSourceConformance):
    @pytest.fixture
    def source(self, rate_server, tmp_path):
        monday, tuesday = {"USD": "1.0811", "JPY": "170.98"}, {"USD": "1.0876", "JPY": "171.23"}
        rate_server.daily = rates_xml((TUESDAY, tuesday))
        rate_server.ever = [(TUESDAY, tuesday), (date(2026, 7, 6), monday)]
        return open_source(rate_server, tmp_path)

    @pytest.fixture
    def unavailable_source(self, rate_server, tmp_path):
        rate_server.answer = FakeResponse("busy", 503)
        return open_source(rate_server, tmp_path)


@pytest.mark.parametrize(
    ("kept", "files"),
    [
        (None, ["hist"]),
        (RateCoverage(NOW, None, None, 0), ["hist"]),
        (read_rates(date(2026, 4, 1)), ["hist"]),
        (read_rates(TUESDAY, first=date(2024, 1, 2)), ["hist"]),
        (read_rates(FRIDAY), ["daily", "hist-90d"]),
        (read_rates(date(2026, 7, 6)), ["daily"]),
        (read_rates(TUESDAY), ["daily"]),
    ],
    ids=str,
)
async def test_smallest_sufficient_file_is_requested(rate_server, tmp_path, kept, files):
    await open_source(rate_server, tmp_path).fetch_rates_not_stored_yet(kept)
    assert [request.path for request in rate_server.api.asked] == [f"/eurofxref-{file}.xml" for file in files]


async def test_no_working_day_lies_in_a_weekend(rate_server, tmp_path):
    rate_server.daily = rates_xml((date(2026, 7, 6), {"USD": "1.08"}))
    await open_source(rate_server, tmp_path).fetch_rates_not_stored_yet(read_rates(FRIDAY))
    assert [request.path for request in rate_server.api.asked] == ["/eurofxref-daily.xml"]


async def test_rates_are_the_decimals_that_were_published_from_the_first_day_on(rate_server, tmp_path):
    answer = await open_source(rate_server, tmp_path).fetch_rates_not_stored_yet(read_rates(TUESDAY))
    assert answer == [
        DayRate(TUESDAY, "USD", Decimal("1.0876")), DayRate(TUESDAY, "JPY", Decimal("171.23")),
    ]  # fmt: skip
    assert {
        rate.day for rate in await open_source(rate_server, tmp_path).fetch_rates_not_stored_yet(None)
    } == {
        TUESDAY,
        FRIDAY,
    }
    earlier = await open_source(rate_server, tmp_path, "&since=2019-01-01").fetch_rates_not_stored_yet(None)
    assert {rate.day for rate in earlier} == {TUESDAY, FRIDAY, date(2019, 6, 3)}


@pytest.mark.parametrize(
    "answer",
    [
        FakeResponse("busy", 503),
        FakeResponse("<html><p>Sorry</html>"),
        FakeResponse("<html>Sorry</html>"),
        FakeResponse(rates_xml((TUESDAY, {"USD": "-1"}))),
        FakeResponse(rates_xml((TUESDAY, {"USD": "a lot"}))),
        FakeResponse(rates_xml(("soon", {"USD": "1"}))),
        FakeResponse(
            "<!DOCTYPE x [<!ENTITY y 'much'>]>" + rates_xml((TUESDAY, {"USD": "1"})).partition("\n")[2]
        ),
    ],
)
async def test_invalid_rate_file_is_unavailable(rate_server, tmp_path, answer):
    rate_server.answer = answer
    with pytest.raises(RateSourceUnavailable, match="European Central Bank"):
        await open_source(rate_server, tmp_path).fetch_rates_not_stored_yet(None)


async def test_unavailable_source_can_be_retried(rate_server, tmp_path):
    asking = open_source(rate_server, tmp_path)
    rate_server.api.respond = lambda _: None
    with pytest.raises(RateSourceUnavailable, match="does not answer"):
        await asking.fetch_rates_not_stored_yet(None)


def test_invalid_url_stops_the_start(tmp_path):
    with pytest.raises(StartupError, match="address"):
        load_installed_registry_once().open_adapter("fx", "ecb:///?address=ftp://x", base_folder=tmp_path)
