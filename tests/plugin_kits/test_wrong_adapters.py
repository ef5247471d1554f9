"""Adapters of small ports that are wrong in one thing, and the promise that catches each."""

import logging
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from service_core.plugin import CachedRedirect, DnsUnavailable, EmailSenderUnavailable
from service_core.testing.redirects import RedirectCacheConformance
from service_core.testing.txt_records import FakeTxtRecords, TxtRecordsConformance
from tests.plugin_kits.examples import load_example
from tests.plugin_kits.wrong_plugin import WrongPlugin

GEO, GEO_TESTS = load_example("geo")
MAIL, MAIL_TESTS = load_example("mail")
STORAGE, STORAGE_TESTS = load_example("export_storage")
RATES, RATES_TESTS = load_example("rate_source")


class WrongLocator(WrongPlugin, GEO_TESTS.TestRightGeo):
    example, plugin_name = GEO, "RightGeo"


class TestCountryIsInLowerCase(WrongLocator, promise="known_address_has_a_country_of_two_capital_letters"):
    class Plugin(GEO.RightGeo):
        def locate(self, ip):
            location = super().locate(ip)
            return location and replace(location, country=location.country.lower())


class TestPrivateAddressesAreSomewhere(WrongLocator, promise="private_address_has_no_location"):
    class Plugin(GEO.RightGeo):
        def locate(self, ip):
            return super().locate("203.0.113.7")


class TestTextIsAnError(WrongLocator, promise="text_that_is_no_address_has_no_location", raises=ValueError):
    class Plugin(GEO.RightGeo):
        def locate(self, ip):
            return super().locate(str(GEO.ip_address(ip)))


class WrongMail(WrongPlugin, MAIL_TESTS.TestRightMail):
    example, plugin_name = MAIL, "RightMail"


class TestMailIsLogged(WrongMail, promise="one_time_links_are_not_logged"):
    class Plugin(MAIL.RightMail):
        async def send(self, message):
            logging.getLogger("mail").info("sent %s", message.text)
            await super().send(message)


class TestLostMailIsASuccess(WrongMail, promise="failed_delivery_raises_email_sender_unavailable"):
    class Plugin(MAIL.RightMail):
        async def send(self, message):
            try:
                await super().send(message)
            except EmailSenderUnavailable:
                return


class TestErrorHasTheText(WrongMail, promise="failed_delivery_raises_email_sender_unavailable"):
    class Plugin(MAIL.RightMail):
        async def send(self, message):
            try:
                await super().send(message)
            except EmailSenderUnavailable:
                raise EmailSenderUnavailable(f"{message.text} was not sent.") from None


class TestMailIsSentTwice(WrongMail, promise="message_is_sent_once_with_recipient_and_whole_text"):
    class Plugin(MAIL.RightMail):
        async def send(self, message):
            await super().send(message)
            await super().send(replace(message, id=None))


class TestMailsReplaceEachOther(WrongMail, promise="two_messages_are_two_e_mails"):
    class Plugin(MAIL.RightMail):
        async def send(self, message):
            await super().send(replace(message, id="mail"))


class TestTextEndsAtAFullStop(WrongMail, promise="message_is_sent_once_with_recipient_and_whole_text"):
    class Plugin(MAIL.RightMail):
        async def send(self, message):
            await super().send(replace(message, text=message.text.partition("\n.\n")[0]))


class WrongStorage(WrongPlugin, STORAGE_TESTS.TestRightExportStorage):
    example, plugin_name = STORAGE, "RightExportStorage"


class TestHalfAFileIsVisible(WrongStorage, promise="file_is_not_visible_before_it_is_complete"):
    class Plugin(STORAGE.RightExportStorage):
        @asynccontextmanager
        async def open_for_write(self, name, download_name):
            with self._path(name).open("wb") as file:
                yield file


class TestFailedWriteIsKept(WrongStorage, promise="failed_write_leaves_nothing"):
    class Plugin(STORAGE.RightExportStorage):
        @asynccontextmanager
        async def open_for_write(self, name, download_name):
            with self._path(name).open("wb") as file:
                yield file


class TestMissingFileCannotBeDeleted(
    WrongStorage,
    promise="deleted_file_is_gone_and_deleting_it_again_is_no_error",
    raises=FileNotFoundError,
):
    class Plugin(STORAGE.RightExportStorage):
        async def delete(self, name):
            self._path(name).unlink()


class TestNamesLeaveTheFolder(WrongStorage, promise="name_outside_the_storage_is_refused", case="[../"):
    class Plugin(STORAGE.RightExportStorage):
        def _path(self, name):
            return self._folder / name


class TestLaterFileIsAppended(WrongStorage, promise="file_is_replaced_by_a_later_one"):
    class Plugin(STORAGE.RightExportStorage):
        @asynccontextmanager
        async def open_for_write(self, name, download_name):
            with self._path(name).open("ab") as file:
                yield file


class WrongRates(WrongPlugin, RATES_TESTS.TestRightRateSource):
    example, plugin_name = RATES, "RightRateSource"


class TestRatesAreRounded(WrongRates, promise="fetch_rates_keeps_the_published_decimals"):
    class Plugin(RATES.RightRateSource):
        async def fetch_rates_not_stored_yet(self, coverage):
            rates = await super().fetch_rates_not_stored_yet(coverage)
            return [replace(rate, per_euro=round(rate.per_euro, 2)) for rate in rates]


class TestOnlyTheLatestDayIsRead(
    WrongRates, promise="fetch_rates_returns_all_rates_missing_from_the_coverage"
):
    class Plugin(RATES.RightRateSource):
        async def fetch_rates_not_stored_yet(self, coverage):
            rates = await super().fetch_rates_not_stored_yet(coverage)
            return [rate for rate in rates if rate.day == max(each.day for each in rates)]


class TestMissingFileIsAnError(
    WrongRates, promise="fetch_rates_raises_rate_source_unavailable_with_a_sentence", raises=OSError
):
    class Plugin(RATES.RightRateSource):
        def _read(self):
            Path(self._path).read_bytes()
            return super()._read()


class WrongRecords(WrongPlugin, TxtRecordsConformance):
    Plugin = FakeTxtRecords

    @pytest.fixture
    def zone_records(self):
        return {}

    @pytest.fixture
    def resolver(self, zone_records):
        return self.Plugin(zone_records)

    @pytest.fixture
    def unreachable_resolver(self):
        return self.Plugin(down=True)


class TestRecordsAreRemembered(WrongRecords, promise="query_txt_sees_added_and_removed_records_at_once"):
    class Plugin(FakeTxtRecords):
        known = None

        async def query_txt(self, name):
            self.known = self.known or [*await super().query_txt(name)]
            return self.known


class TestSilenceIsNoRecord(WrongRecords, promise="query_txt_raises_dns_unavailable_when_no_server_answers"):
    class Plugin(FakeTxtRecords):
        async def query_txt(self, name):
            try:
                return await super().query_txt(name)
            except DnsUnavailable:
                return []


class MemoryCache:
    """A right cache of redirects."""

    def __init__(self):
        self.cached = {}

    async def get(self, key):
        return self.cached.get(key)

    async def set(self, key, redirect):
        self.cached[key] = CachedRedirect(redirect)

    async def add(self, key, redirect):
        self.cached.setdefault(key, CachedRedirect(redirect))


class WrongCache(WrongPlugin, RedirectCacheConformance):
    @pytest.fixture
    def cache(self):
        return self.Plugin()


class TestRightMemoryCache(RedirectCacheConformance):
    """The right cache, whose wrong ones follow."""

    @pytest.fixture
    def cache(self):
        return MemoryCache()


class TestAddOverwrites(WrongCache, promise="lookup_read_before_a_delete_does_not_restore_the_link"):
    class Plugin(MemoryCache):
        async def add(self, key, redirect):
            await self.set(key, redirect)


class TestCaseOfSlugsIsLost(WrongCache, promise="find_distinguishes_hosts_and_letter_case_of_slugs"):
    class Plugin(MemoryCache):
        async def get(self, key):
            return self.cached.get(key.lower())
