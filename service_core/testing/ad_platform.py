"""The conformance kit of ad platforms: reading accounts and spend, and each way in which a server may fail.

Write a server that returns a `PlatformData` in the platform's wire format, a few rows to a page, and override the
fixture ``harness`` with it and the platform; pytest needs ``asyncio_mode = "auto"``::

    class TestMyPlatform(AdPlatformConformance):
        figures = frozenset({"spend", "impressions", "clicks"})  # the figures that the platform reports

        @pytest.fixture
        async def harness(self, platform_data):
            async with my_server(platform_data) as server:
                yield PlatformHarness(MyPlatform(api=server.url), {"access_token": "hush"}, server.fail_with)
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from enum import StrEnum
from typing import Any, ClassVar, Final

import pytest

from service_core.commerce.ads.models import AdAccount, AdEntity, AdLevel, SpendRow
from service_core.commerce.ads.ports import AdPlatform
from service_core.commerce.platform_errors import CredentialsRejected, PlatformUnavailable
from service_core.testing.socket_calls import SocketCalls, record_socket_calls

FIGURES: Final = ("spend", "impressions", "clicks", "reach", "conversions", "conversion_value")
EUR_ACCOUNT: Final = AdAccount("act_1", "Main", "EUR", "Europe/Berlin")
JPY_ACCOUNT: Final = AdAccount("act_2", "Japan", "JPY", "Asia/Tokyo")
FIRST, SECOND, THIRD = date(2026, 10, 24), date(2026, 10, 25), date(2026, 10, 26)
"""In Berlin the second day has 25 hours."""
RETRY_SECONDS: Final = 77


def parse_days(first: str, last: str) -> tuple[date, date]:
    """Returns the first and last day of a request from ISO 8601 texts."""
    return date.fromisoformat(first), date.fromisoformat(last)


class ServerFailure(StrEnum):
    """Failure of a server instead of an answer."""

    BUSY = "busy"
    """Answers as rate-limited, with `RETRY_SECONDS` where the platform sends a retry time."""
    BROKEN = "broken"
    """Answers with status 500."""
    GARBAGE = "garbage"
    """Answers with status 200 and something that is not JSON."""
    CUT = "cut"
    """Closes the connection instead of answering."""
    HALF = "half"
    """Closes the connection in the middle of an answer."""
    SLOW = "slow"
    """Sends the right answer, in small pieces with pauses."""
    REFUSED = "refused"
    """Refuses the credentials, in a message that repeats one of them."""


@dataclass(slots=True)
class PlatformData:
    """The accounts of a platform, and the rows that reading them gives.

    A server looks the rows up for each request: the kit restates them while it runs.
    """

    accounts: tuple[AdAccount, ...]
    rows: tuple[SpendRow, ...]

    def expected_rows(self, account_id: str, level: AdLevel, first: date, last: date) -> list[SpendRow]:
        """Returns the rows of an account and level from the first to the last day, both included."""
        return [
            row
            for row in self.rows
            if row.account_id == account_id and row.entity.level is level and first <= row.day <= last
        ]


@dataclass(frozen=True, slots=True)
class PlatformHarness:
    """A platform and control over the server that it reads.

    Attributes:
        secrets: valid credentials, each of which is required.
        fail_with: makes every later answer of the server the given failure.
    """

    platform: AdPlatform
    secrets: Mapping[str, str]
    fail_with: Callable[[ServerFailure], None]


def _spend_row(account: AdAccount, entity: AdEntity, day: date, **figures: Any) -> SpendRow:
    fetched_at = datetime(2026, 7, 8, tzinfo=UTC)
    return SpendRow("", account.id, entity, day, account.currency, account.timezone, fetched_at, **figures)


def _sample_platform_data(accounts: tuple[AdAccount, ...] = (EUR_ACCOUNT, JPY_ACCOUNT)) -> PlatformData:
    """Returns two accounts with three days of spend, in which a campaign has more spend than the sum of its ads."""
    campaign_fields = {"campaign_id": "101", "campaign_name": "Größe & Farbe"}
    campaign = AdEntity(AdLevel.CAMPAIGN, **campaign_fields)
    group = AdEntity(AdLevel.GROUP, **campaign_fields, group_id="201", group_name='Group "one"')
    ads = [replace(group, level=AdLevel.AD, ad_id=f"30{n}", ad_name=f"Ad {n}") for n in range(1, 6)]
    euros, yen = accounts
    return PlatformData(
        accounts,
        (
            _spend_row(euros, campaign, FIRST, spend=1234, impressions=4000, clicks=50, reach=3100, conversions=2.0, conversion_value=9990),
            _spend_row(euros, campaign, SECOND, spend=1, impressions=7, clicks=0, reach=7, conversions=0.0, conversion_value=0),
            _spend_row(euros, campaign, THIRD, spend=100_000_000_007, impressions=5_000_000_000),
            _spend_row(euros, group, FIRST, spend=1200, impressions=3900, clicks=49, reach=3000, conversions=1.5, conversion_value=4995),
            *(_spend_row(euros, ad, FIRST, spend=200 + n, impressions=600, clicks=n, reach=500) for n, ad in enumerate(ads)),
            _spend_row(euros, ads[0], SECOND, spend=0, impressions=1, clicks=0, reach=1),
            _spend_row(yen, campaign, SECOND, spend=1500, impressions=80, clicks=1, reach=80, conversions=1.0, conversion_value=2500),
        ),
    )  # fmt: skip


class AdPlatformConformance:
    """All tests of the kit; override the fixture ``harness``.

    Attributes:
        figures: the figures of `FIGURES` that the platform reports; the others are None.
        accounts: the two accounts of the data, in euros and yen; override for other id formats or missing names or zones.
    """

    figures: ClassVar[frozenset[str]] = frozenset(FIGURES)
    accounts: ClassVar[tuple[AdAccount, AdAccount]] = (EUR_ACCOUNT, JPY_ACCOUNT)

    @pytest.fixture
    def platform_data(self) -> PlatformData:
        """Returns the data that the server has."""
        return _sample_platform_data(self.accounts)

    @pytest.fixture
    def harness(self) -> PlatformHarness:
        """Returns the platform with its server."""
        raise pytest.UsageError(
            "override the fixture `harness` with the platform and a server that returns `platform_data`"
        )

    async def test_accounts_lists_every_account_of_the_credentials(
        self, harness: PlatformHarness, platform_data: PlatformData
    ) -> None:
        """`list_accessible_accounts` returns every account that the credentials can read."""
        found = await harness.platform.list_accessible_accounts(harness.secrets)
        assert sorted(found, key=lambda account: account.id) == list(platform_data.accounts)

    @pytest.mark.parametrize("level", AdLevel)
    async def test_spend_returns_every_row_and_figure_of_a_level(
        self, harness: PlatformHarness, platform_data: PlatformData, level: AdLevel
    ) -> None:
        """`fetch_daily_spend` returns every row of an account at each level with the figures of that level, over all pages."""
        for account in platform_data.accounts:
            found = await harness.platform.fetch_daily_spend(account, level, FIRST, THIRD, harness.secrets)
            assert _sorted_rows(
                map(self._without_platform_specific_values, found)
            ) == self._sorted_comparable_rows(
                harness, platform_data.expected_rows(account.id, level, FIRST, THIRD)
            )

    async def test_spend_returns_only_days_from_first_to_last_inclusive(
        self, harness: PlatformHarness, platform_data: PlatformData
    ) -> None:
        """`fetch_daily_spend` returns the rows of both end days and all between, and no others."""
        for first, last in ((FIRST, FIRST), (SECOND, THIRD), (date(2026, 1, 1), date(2026, 1, 2))):
            found = await harness.platform.fetch_daily_spend(
                platform_data.accounts[0], AdLevel.CAMPAIGN, first, last, harness.secrets
            )
            expected = self._sorted_comparable_rows(
                harness,
                platform_data.expected_rows(platform_data.accounts[0].id, AdLevel.CAMPAIGN, first, last),
            )
            assert _sorted_rows(map(self._without_platform_specific_values, found)) == expected

    async def test_spend_rows_have_a_utc_fetch_time_and_unique_keys(
        self, harness: PlatformHarness, platform_data: PlatformData
    ) -> None:
        """Each row has the time of the call in UTC; entity, day and attribution setting are unique."""
        before = datetime.now(UTC)
        found = await harness.platform.fetch_daily_spend(
            platform_data.accounts[0], AdLevel.AD, FIRST, THIRD, harness.secrets
        )
        assert all(before <= row.fetched_at <= datetime.now(UTC) for row in found)
        assert {row.fetched_at.utcoffset() for row in found} == {datetime.now(UTC).utcoffset()}
        keys = [(row.entity.id, row.day, row.attribution_setting) for row in found]
        assert len(keys) == len(set(keys))

    async def test_concurrent_spend_calls_return_their_own_rows(
        self, harness: PlatformHarness, platform_data: PlatformData
    ) -> None:
        """Concurrent calls for all accounts and levels return their own rows."""
        calls = [(account, level) for account in platform_data.accounts for level in AdLevel]
        answers = await asyncio.gather(
            *(
                harness.platform.fetch_daily_spend(*account_and_level, FIRST, THIRD, harness.secrets)
                for account_and_level in calls
            )
        )
        for (account, level), rows in zip(calls, answers, strict=True):
            assert _sorted_rows(
                map(self._without_platform_specific_values, rows)
            ) == self._sorted_comparable_rows(
                harness, platform_data.expected_rows(account.id, level, FIRST, THIRD)
            )

    async def test_restated_days_return_the_restated_figures_alone(
        self, harness: PlatformHarness, platform_data: PlatformData
    ) -> None:
        """A day whose figures the platform corrects is read with its new figures once, without the earlier ones."""
        account = platform_data.accounts[0]
        for spend in (1_300, 900):
            platform_data.rows = tuple(
                replace(row, spend=spend) if row.spend == platform_data.rows[0].spend else row
                for row in platform_data.rows
            )
            found = await harness.platform.fetch_daily_spend(
                account, AdLevel.CAMPAIGN, FIRST, SECOND, harness.secrets
            )
            assert _sorted_rows(
                map(self._without_platform_specific_values, found)
            ) == self._sorted_comparable_rows(
                harness, platform_data.expected_rows(account.id, AdLevel.CAMPAIGN, FIRST, SECOND)
            )

    async def test_calls_do_not_block_the_event_loop(
        self, harness: PlatformHarness, platform_data: PlatformData
    ) -> None:
        """No call waits for a server, or sleeps, in the thread of the event loop."""
        with record_socket_calls() as calls:
            await harness.platform.list_accessible_accounts(harness.secrets)
            await harness.platform.fetch_daily_spend(
                platform_data.accounts[0], AdLevel.AD, FIRST, SECOND, harness.secrets
            )
        assert calls.blocking == []

    async def test_slow_answer_is_read_to_its_end(
        self, harness: PlatformHarness, platform_data: PlatformData
    ) -> None:
        """An answer that comes in small pieces gives every row."""
        harness.fail_with(ServerFailure.SLOW)
        account = platform_data.accounts[0]
        found = await harness.platform.fetch_daily_spend(account, AdLevel.AD, FIRST, THIRD, harness.secrets)
        assert len(found) == len(platform_data.expected_rows(account.id, AdLevel.AD, FIRST, THIRD))

    @pytest.mark.parametrize("failure", [ServerFailure.BUSY, ServerFailure.BROKEN])
    async def test_failed_request_is_not_sent_again(
        self, harness: PlatformHarness, platform_data: PlatformData, failure: ServerFailure
    ) -> None:
        """A platform leaves retries to Touchpoint, which knows the limits: no request is repeated within a call."""
        harness.fail_with(failure)
        with record_socket_calls() as calls:
            await self._errors_of_accounts_and_spend(harness, platform_data, PlatformUnavailable, calls)

    @pytest.mark.parametrize(
        "failure",
        [
            ServerFailure.BUSY,
            ServerFailure.BROKEN,
            ServerFailure.GARBAGE,
            ServerFailure.CUT,
            ServerFailure.HALF,
        ],
    )
    async def test_failing_server_raises_platform_unavailable_without_credentials(
        self, harness: PlatformHarness, platform_data: PlatformData, failure: ServerFailure
    ) -> None:
        """Rate limits, status 500, garbage, cut connections and half answers raise `PlatformUnavailable` whose text has no credential."""
        harness.fail_with(failure)
        for error in await self._errors_of_accounts_and_spend(harness, platform_data, PlatformUnavailable):
            assert str(error)
            _assert_no_credentials(error, harness)
            if failure is ServerFailure.BUSY:
                assert error.retry_after in {None, RETRY_SECONDS}

    async def test_rejected_credentials_raise_credentials_rejected_with_a_message(
        self, harness: PlatformHarness, platform_data: PlatformData
    ) -> None:
        """Refused credentials raise `CredentialsRejected` with a text from both calls; Touchpoint removes credentials from it."""
        harness.fail_with(ServerFailure.REFUSED)
        for error in await self._errors_of_accounts_and_spend(harness, platform_data, CredentialsRejected):
            assert str(error)

    async def test_missing_credential_is_named_in_credentials_rejected(
        self, harness: PlatformHarness, platform_data: PlatformData
    ) -> None:
        """A missing credential raises `CredentialsRejected` that names it."""
        for name in harness.secrets:
            incomplete = {other: value for other, value in harness.secrets.items() if other != name}
            with pytest.raises(CredentialsRejected, match=name):
                await harness.platform.list_accessible_accounts(incomplete)
            with pytest.raises(CredentialsRejected, match=name):
                await harness.platform.fetch_daily_spend(
                    platform_data.accounts[0], AdLevel.AD, FIRST, THIRD, incomplete
                )

    async def _errors_of_accounts_and_spend(
        self,
        harness: PlatformHarness,
        platform_data: PlatformData,
        expected_type: type[Exception],
        calls: SocketCalls | None = None,
    ) -> list[Any]:
        """Returns the errors that both methods raise; asserts that both raise the expected type, and repeat no request."""
        calls = calls or SocketCalls()
        with pytest.raises(expected_type) as accounts_error:
            await harness.platform.list_accessible_accounts(harness.secrets)
        calls.assert_no_request_is_repeated()
        calls.requests.clear()
        with pytest.raises(expected_type) as spend_error:
            await harness.platform.fetch_daily_spend(
                platform_data.accounts[0], AdLevel.AD, FIRST, THIRD, harness.secrets
            )
        calls.assert_no_request_is_repeated()
        return [accounts_error.value, spend_error.value]

    def _sorted_comparable_rows(self, harness: PlatformHarness, rows: list[SpendRow]) -> list[SpendRow]:
        """Returns the rows under the id of the platform, comparable and sorted by entity and day."""
        return _sorted_rows(
            self._without_platform_specific_values(replace(row, platform=harness.platform.id)) for row in rows
        )

    def _without_platform_specific_values(self, row: SpendRow) -> SpendRow:
        """Returns the row without status, fetch time, settings and the figures that the platform does not report."""
        unreported: dict[str, Any] = dict.fromkeys(set(FIGURES) - self.figures)
        entity = replace(row.entity, status=None)
        fetched_at = datetime(2026, 7, 8, tzinfo=UTC)
        return replace(
            row, entity=entity, fetched_at=fetched_at, attribution_setting="", report_version="", **unreported
        )


def _sorted_rows(rows: Any) -> list[SpendRow]:
    return sorted(rows, key=lambda row: (row.entity.id, row.day))


def _assert_no_credentials(error: Exception, harness: PlatformHarness) -> None:
    """Asserts that the text of an error has no credential."""
    assert not any(value in str(error) for value in harness.secrets.values())
