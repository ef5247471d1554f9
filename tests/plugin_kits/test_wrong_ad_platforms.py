"""Ad platforms that are wrong in one thing, and the promise that catches each."""

import asyncio
from collections import defaultdict
from dataclasses import replace
from datetime import timedelta
from typing import ClassVar

from service_core.plugin import AdLevel, CredentialsRejected, PlatformUnavailable
from tests.plugin_kits.examples import load_example
from tests.plugin_kits.wrong_plugin import WrongPlugin

EXAMPLE, TESTS = load_example("ad_platform")
Right = EXAMPLE.RightAdPlatform


class WrongPlatform(WrongPlugin, TESTS.TestRightAdPlatform):
    example, plugin_name = TESTS, "RightAdPlatform"


class ChangedRows(Right):
    """Changes the rows that the right platform returns."""

    async def fetch_daily_spend(self, *request):
        return [self.change(row) for row in await super().fetch_daily_spend(*request)]


class TestRestatedDaysAreCountedTwice(
    WrongPlatform, promise="restated_days_return_the_restated_figures_alone"
):
    class Plugin(ChangedRows):
        totals: ClassVar = defaultdict(dict)

        def change(self, row):
            figures = self.totals[row.entity.id, row.day]
            figures[row.spend] = row.spend
            return replace(row, spend=sum(figures.values()))


class TestDaysAreReadOnce(WrongPlatform, promise="restated_days_return_the_restated_figures_alone"):
    class Plugin(Right):
        known: ClassVar = {}

        async def fetch_daily_spend(self, account, level, *request):
            if (account, level) not in self.known:
                self.known[account, level] = await super().fetch_daily_spend(account, level, *request)
            return self.known[account, level]


class TestOnlyTheFirstPageIsRead(
    WrongPlatform, promise="spend_returns_every_row_and_figure_of_a_level", case="[campaign]"
):
    class Plugin(Right):
        async def fetch_daily_spend(self, *request):
            return (await super().fetch_daily_spend(*request))[:2]


class TestAccountsHaveOnePage(WrongPlatform, promise="accounts_lists_every_account_of_the_credentials"):
    class Plugin(Right):
        async def list_accessible_accounts(self, secrets):
            return (await super().list_accessible_accounts(secrets))[:1]


class TestReadsBlockTheLoop(WrongPlatform, promise="calls_do_not_block_the_event_loop"):
    class Plugin(Right):
        async def _request(self, path, parameters, secrets):
            request = EXAMPLE.Request(f"{self.api}/{path}?{EXAMPLE.urlencode(parameters)}")
            return self._answer(request)


class TestFailuresAreTriedAgain(WrongPlatform, promise="failed_request_is_not_sent_again"):
    class Plugin(Right):
        def _answer(self, request):
            for _ in range(2):
                try:
                    return super()._answer(request)
                except PlatformUnavailable:
                    pass
            return super()._answer(request)


class TestDaysAreThoseOfAnotherZone(WrongPlatform, promise="spend_returns_every_row_and_figure_of_a_level"):
    class Plugin(ChangedRows):
        def change(self, row):
            return replace(row, day=row.day - timedelta(days=1))


class TestErrorsHaveTheToken(
    WrongPlatform, promise="failing_server_raises_platform_unavailable_without_credentials"
):
    class Plugin(Right):
        async def list_accessible_accounts(self, secrets):
            try:
                return await super().list_accessible_accounts(secrets)
            except PlatformUnavailable as error:
                raise PlatformUnavailable(f"{error} Token: {secrets['token']}") from None


class TestMoneyIsAFloat(
    WrongPlatform, promise="spend_returns_every_row_and_figure_of_a_level", case="[campaign]"
):
    class Plugin(ChangedRows):
        def change(self, row):
            return replace(row, spend=int(row.spend / 100 * 100 - 1e-9))


class TestYenHaveCents(
    WrongPlatform, promise="spend_returns_every_row_and_figure_of_a_level", case="[campaign]"
):
    class Plugin(ChangedRows):
        def change(self, row):
            return replace(row, spend=row.spend * 100 if row.currency == "JPY" else row.spend)


class TestCampaignsAreSumsOfAds(
    WrongPlatform, promise="spend_returns_every_row_and_figure_of_a_level", case="[campaign]"
):
    class Plugin(Right):
        async def fetch_daily_spend(self, account, level, *request):
            rows = await super().fetch_daily_spend(account, level, *request)
            ads = await super().fetch_daily_spend(account, AdLevel.AD, *request)
            spend = defaultdict(int)
            for ad in ads:
                spend[ad.day] += ad.spend
            return [replace(row, spend=spend[row.day]) for row in rows]


class TestFailuresAreDaysWithoutSpend(
    WrongPlatform, promise="failing_server_raises_platform_unavailable_without_credentials"
):
    class Plugin(Right):
        async def fetch_daily_spend(self, *request):
            try:
                return await super().fetch_daily_spend(*request)
            except PlatformUnavailable:
                return []


class TestRefusedTokenIsTriedLater(
    WrongPlatform,
    promise="rejected_credentials_raise_credentials_rejected_with_a_message",
    raises=PlatformUnavailable,
):
    class Plugin(Right):
        async def fetch_daily_spend(self, *request):
            try:
                return await super().fetch_daily_spend(*request)
            except CredentialsRejected:
                raise PlatformUnavailable("Boards does not answer.") from None


class TestFetchTimeHasNoZone(
    WrongPlatform, promise="spend_rows_have_a_utc_fetch_time_and_unique_keys", raises=TypeError
):
    class Plugin(ChangedRows):
        def change(self, row):
            return replace(row, fetched_at=row.fetched_at.replace(tzinfo=None))


class TestRowsAreRepeated(WrongPlatform, promise="spend_rows_have_a_utc_fetch_time_and_unique_keys"):
    class Plugin(Right):
        async def fetch_daily_spend(self, *request):
            return 2 * await super().fetch_daily_spend(*request)


class TestLastDayIsLeftOut(WrongPlatform, promise="spend_returns_only_days_from_first_to_last_inclusive"):
    class Plugin(Right):
        async def fetch_daily_spend(self, account, level, first_day, last_day, secrets):
            rows = await super().fetch_daily_spend(account, level, first_day, last_day, secrets)
            return [row for row in rows if row.day < last_day]


class TestAccountIsKeptBetweenCalls(WrongPlatform, promise="concurrent_spend_calls_return_their_own_rows"):
    class Plugin(Right):
        last: ClassVar = []

        async def fetch_daily_spend(self, account, *request):
            self.last[:] = [account]
            await asyncio.sleep(0)
            return await super().fetch_daily_spend(self.last[0], *request)


class TestMissingTokenIsNotNoticed(
    WrongPlatform, promise="missing_credential_is_named_in_credentials_rejected"
):
    class Plugin(Right):
        async def _request(self, path, parameters, secrets):
            return await super()._request(path, parameters, {"token": "none", **secrets})
