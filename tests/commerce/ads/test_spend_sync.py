"""Ad platforms are read on time, each for itself, and a connection says how it stands."""

import asyncio
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from uuid import uuid4

import pytest

from service_core.analytics.connections.models import (
    Asset,
    ConnectedAccount,
    Connection,
    ConnectionStatus,
    ProviderKind,
)
from service_core.analytics.ports import StoreUnavailable
from service_core.commerce.ads.models import AdAccount, AdEntity, AdLevel, SpendRow
from service_core.commerce.ads.ports import SpendQuery
from service_core.commerce.ads.spend_sync import AdSpendSync
from service_core.commerce.ads.sync_window import days_to_sync_with_restated_ones, weekly_chunks_newest_first
from service_core.commerce.credentials.ports import CipherUnavailable
from service_core.commerce.platform_errors import CredentialsRejected, PlatformUnavailable
from service_core.commerce.sync.connection_sync import backoff_delay
from service_core.kernel.plugin_faults import mark_as_fault_of_plugin
from service_core.testing.memory.ad_spend import MemoryAdSpend
from service_core.testing.memory.connections import MemoryConnections, MemorySecrets

NOW = datetime(2026, 7, 8, 15, 0, tzinfo=UTC)
BERLIN = AdAccount("act_1", "Main", "EUR", "Europe/Berlin")
TOKYO = AdAccount("act_2", "Japan", "JPY", "Asia/Tokyo")
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
OURS, THEIRS = uuid4(), uuid4()


class Platform:
    """An ad platform that spends 1.00 a day on one campaign, or fails as it is told."""

    def __init__(self, id_="meta", *accounts):
        self.id, self.found, self.fault = id_, list(accounts or [BERLIN]), None
        self.asked, self.gate, self.clock = [], None, lambda: NOW

    async def list_accessible_accounts(self, secrets):
        if self.gate:
            await self.gate.wait()
        if self.fault:
            raise self.fault
        assert secrets == {"access_token": "hush"}
        return self.found

    async def fetch_daily_spend(self, account, level, first, last, _secrets):
        self.asked.append((account.id, level, first, last))
        days = [first + timedelta(days=n) for n in range((last - first).days + 1)]
        return [self.row(account, level, day) for day in days]

    def row(self, account, level, day):
        below = {"group_id": "g", "ad_id": "a"}
        kept = {AdLevel.CAMPAIGN: {}, AdLevel.GROUP: {"group_id": "g"}, AdLevel.AD: below}[level]
        entity = AdEntity(level, "c", **kept)
        zone = account.timezone
        return SpendRow(self.id, account.id, entity, day, account.currency, zone, self.clock(), spend=100)

    def reach(self):
        """The first and last day asked for, by account."""
        days = {}
        for account, _, first, last in self.asked:
            before = days.get(account, (first, last))
            days[account] = min(before[0], first), max(before[1], last)
        self.asked.clear()
        return days


class Turns:
    def __init__(self):
        self.held = {}

    async def acquire_or_renew_lease(self, workspace_id, kind, holder, now, expires_at):
        own, over = self.held.get(workspace_id, (holder, now))
        if own != holder and over > now:
            return False
        self.held[workspace_id] = holder, expires_at
        return True

    async def release_lease(self, workspace_id, kind, holder):
        if self.held.get(workspace_id, (None,))[0] == holder:
            del self.held[workspace_id]


class SyncScenario:
    def __init__(self, *platforms):
        self.now = NOW
        self.platforms = platforms or (Platform(),)
        for platform in self.platforms:
            platform.clock = lambda: self.now
        self.connections, self.secrets = MemoryConnections(), MemorySecrets()
        self.store, self.leases = MemoryAdSpend(), Turns()
        self.reading = self.process()

    def process(self):
        """One more process that reads."""
        return AdSpendSync(
            {one.id: one for one in self.platforms},
            connections=self.connections,
            secrets=self.secrets,
            store=self.store,
            leases=self.leases,
            clock=lambda: self.now,
            first_days=90,
        )

    async def connect(self, provider="meta", workspace=OURS, *accounts, **more):
        connection = Connection(
            workspace, provider, ProviderKind.ADS, ConnectionStatus.PENDING, self.now, tuple(accounts), **more
        )
        await self.secrets.replace_or_delete_secrets(workspace, provider, {"access_token": "hush"})
        await self.connections.save_connection_keeping_created_at(connection)

    async def sync_all_due(self):
        """What the periodic task does."""
        return {
            one: await self.reading.sync_workspace_unless_leased(one)
            for one in await self.reading.list_due_workspaces()
        }

    async def standing(self, provider="meta", workspace=OURS):
        known = await self.connections.list_connections_oldest_first(workspace)
        return next(one for one in known if one.provider == provider)

    async def spent(self, workspace=OURS, level=AdLevel.CAMPAIGN):
        plan = SpendQuery(workspace, date(2026, 1, 1), date(2026, 12, 31), level)
        return [(one.currency, one.spend) for one in await self.store.sum_latest_spend(plan)]


@pytest.mark.parametrize(
    ("zone", "last_synced_at", "expected"),
    [
        ("Europe/Berlin", None, (date(2026, 4, 10), date(2026, 7, 8))),
        ("Europe/Berlin", NOW - HOUR, (date(2026, 7, 7), date(2026, 7, 8))),
        ("Europe/Berlin", NOW - 20 * HOUR, (date(2026, 6, 11), date(2026, 7, 8))),
        ("Europe/Berlin", NOW - 40 * DAY, (date(2026, 2, 14), date(2026, 7, 8))),
        # A week has begun since: late adjustments are read, too.
        ("Europe/Berlin", NOW - 3 * DAY, (date(2026, 2, 14), date(2026, 7, 8))),
        # An hour ago it was yesterday in Tokyo.
        ("Asia/Tokyo", NOW - HOUR, (date(2026, 6, 12), date(2026, 7, 9))),
        ("Asia/Tokyo", NOW, (date(2026, 7, 8), date(2026, 7, 9))),
    ],
)
def test_sync_reads_two_days_hourly_28_days_once_a_day_and_145_once_a_week(zone, last_synced_at, expected):
    account = replace(BERLIN, timezone=zone)
    assert days_to_sync_with_restated_ones(account, last_synced_at, NOW, 90) == expected


def test_sync_chunks_cover_every_day_once():
    first, last = date(2026, 4, 10), date(2026, 7, 8)
    parts = list(weekly_chunks_newest_first(first, last))
    days = sorted(a + timedelta(days=n) for a, b in parts for n in range((b - a).days + 1))
    assert days == [first + timedelta(days=n) for n in range(90)]
    assert parts[0][1] == last
    assert list(weekly_chunks_newest_first(last, last)) == [(last, last)]


def test_backoff_doubles_and_respects_retry_after():
    waits = [backoff_delay(failures, None).total_seconds() for failures in (1, 2, 3, 7, 500)]
    assert waits == [60, 120, 240, 3600, 3600]
    assert backoff_delay(1, 7200).total_seconds() == 7200
    assert backoff_delay(3, 5).total_seconds() == 240


async def test_first_sync_reads_accounts_and_90_days_at_every_level():
    scenario = SyncScenario(Platform("meta", BERLIN, TOKYO))
    await scenario.connect()
    assert await scenario.sync_all_due() != {}
    standing = await scenario.standing()
    assert (standing.status, standing.error, standing.last_synced_at) == (
        ConnectionStatus.CONNECTED,
        None,
        NOW,
    )
    assert standing.accounts == (
        ConnectedAccount("act_1", "Main", (), "EUR", "Europe/Berlin"),
        ConnectedAccount("act_2", "Japan", (), "JPY", "Asia/Tokyo"),
    )
    for level in AdLevel:
        assert sorted(await scenario.spent(level=level)) == [("EUR", 9000), ("JPY", 9000)]


async def test_workspace_is_due_every_hour():
    scenario = SyncScenario()
    await scenario.connect()
    await scenario.sync_all_due()
    scenario.platforms[0].reach()
    for minutes, expected in ((59, {}), (60, {"act_1": (date(2026, 7, 7), date(2026, 7, 8))}), (90, {})):
        scenario.now = NOW + timedelta(minutes=minutes)
        await scenario.sync_all_due()
        assert scenario.platforms[0].reach() == expected
    scenario.now = NOW + 8 * HOUR  # it is tomorrow in Berlin
    await scenario.sync_all_due()
    assert scenario.platforms[0].reach() == {"act_1": (date(2026, 6, 12), date(2026, 7, 9))}


async def test_sync_reads_only_selected_accounts_and_keeps_their_assets():
    scenario = SyncScenario(Platform("meta", BERLIN, TOKYO))
    await scenario.connect("meta", OURS, ConnectedAccount("act_2", None, (Asset("9", "Pixel"),)))
    await scenario.sync_all_due()
    assert set(scenario.platforms[0].reach()) == {"act_2"}
    (account,) = (await scenario.standing()).accounts
    assert account == ConnectedAccount("act_2", "Japan", (Asset("9", "Pixel"),), "JPY", "Asia/Tokyo")
    scenario.platforms[0].found = [BERLIN]
    scenario.now += HOUR
    await scenario.sync_all_due()
    standing = await scenario.standing()
    assert (standing.status, standing.error) == (
        ConnectionStatus.EXPIRED,
        "The credentials open no ad account named here: act_2.",
    )


async def test_closed_account_is_reported_and_others_are_synced():
    scenario = SyncScenario(Platform("meta", BERLIN, TOKYO))
    await scenario.connect()
    await scenario.sync_all_due()
    scenario.platforms[0].found = [TOKYO]
    scenario.now += HOUR
    await scenario.sync_all_due()
    standing = await scenario.standing()
    assert (standing.is_connected, standing.error) == (True, "The credentials do not open act_1.")
    assert standing.last_synced_at == scenario.now


async def test_rejected_credentials_stop_the_sync_until_reconnected():
    scenario = SyncScenario()
    await scenario.connect()
    scenario.platforms[0].fault = CredentialsRejected("The token hush has expired.")
    ((outcome,),) = (await scenario.sync_all_due()).values()
    assert outcome.problem == "The token *** has expired."
    standing = await scenario.standing()
    assert (standing.status, standing.error) == (ConnectionStatus.EXPIRED, "The token *** has expired.")
    scenario.now += 9 * DAY
    assert await scenario.reading.list_due_workspaces() == []
    assert await scenario.reading.sync_workspace_unless_leased(OURS, ignore_schedule=True) == []
    scenario.platforms[0].fault = None
    await scenario.connect()
    await scenario.sync_all_due()
    assert (await scenario.standing()).is_connected


async def test_unavailable_platform_is_retried_and_reported_after_a_day():
    scenario = SyncScenario()
    await scenario.connect()
    await scenario.sync_all_due()
    before = await scenario.standing()
    scenario.platforms[0].fault = PlatformUnavailable("Too many calls.", retry_after=1800)
    scenario.now = NOW + HOUR
    await scenario.sync_all_due()
    assert await scenario.standing() == before
    assert await scenario.reading.list_due_workspaces() == []
    scenario.now += timedelta(seconds=1800)
    assert await scenario.reading.list_due_workspaces() == [OURS]
    await scenario.sync_all_due()
    scenario.now = NOW + DAY + HOUR
    await scenario.sync_all_due()
    standing = await scenario.standing()
    assert (standing.status, standing.error) == (ConnectionStatus.ERROR, "Too many calls.")
    assert standing.last_synced_at == NOW
    scenario.platforms[0].fault = None
    scenario.now += HOUR
    scenario.platforms[0].reach()
    await scenario.sync_all_due()
    assert (await scenario.standing()).is_connected
    assert scenario.platforms[0].reach() == {"act_1": (date(2026, 6, 12), date(2026, 7, 9))}


async def test_interrupted_sync_resumes_and_reads_today_again():
    """A platform that answers forty questions an hour is read in the end, however many there are."""
    scenario = SyncScenario()
    platform, answers = scenario.platforms[0], []
    await scenario.connect()
    spend = platform.fetch_daily_spend

    async def a_few(*question):
        if len(platform.asked) >= 20:
            raise PlatformUnavailable("Too many calls.", 3600)
        return await spend(*question)

    platform.fetch_daily_spend = a_few
    for hour in range(5):
        scenario.now = NOW + hour * HOUR
        await scenario.sync_all_due()
        answers.append([(one[1], one[3]) for one in platform.asked])
        platform.asked.clear()
    # Thirteen stretches at three levels: 20 of 39 questions, then the 3 of today and 17 others, then 3 and the last two.
    assert [len(request) for request in answers] == [20, 20, 5, 3, 3]
    assert all(request[:3] == [(level, date(2026, 7, 8)) for level in AdLevel] for request in answers)
    assert (await scenario.standing()).last_synced_at == NOW + 4 * HOUR
    assert await scenario.spent() == [("EUR", 9000)]


async def test_reconnecting_resets_the_backoff():
    scenario = SyncScenario()
    await scenario.connect()
    scenario.platforms[0].fault = PlatformUnavailable("Away.", retry_after=3600)
    await scenario.sync_all_due()
    assert (await scenario.standing()).error == "Away."  # it was never read: that is told at once
    assert await scenario.reading.list_due_workspaces() == []
    await scenario.connect()
    assert await scenario.reading.list_due_workspaces() == [OURS]


async def test_failure_does_not_stop_other_workspaces_or_platforms(caplog):
    scenario = SyncScenario(Platform("meta"), Platform("tiktok"))
    scenario.platforms[0].fault = KeyError("hush")
    for workspace in (OURS, THEIRS):
        for provider in ("meta", "tiktok"):
            await scenario.connect(provider, workspace)
    outcomes = await scenario.sync_all_due()
    for workspace in (OURS, THEIRS):
        assert {one.provider: one.problem for one in outcomes[workspace]} == {
            "meta": "Its answer could not be read.",
            "tiktok": None,
        }
        assert (await scenario.standing("tiktok", workspace)).is_connected
    assert "hush" not in caplog.text


async def test_connection_names_the_plugin_that_failed():
    scenario = SyncScenario(Platform("meta"))
    fault = KeyError("hush")
    mark_as_fault_of_plugin(fault, "'ads_shop' (touchpoint-shop 2.1)")
    scenario.platforms[0].fault = fault
    await scenario.connect("meta", OURS)
    (outcome,) = (await scenario.sync_all_due())[OURS]
    assert outcome.problem == "Plugin 'ads_shop' (touchpoint-shop 2.1) failed with KeyError."


async def test_one_process_holds_the_sync_lease_of_a_workspace():
    scenario = SyncScenario(Platform())
    other = scenario.process()
    await scenario.connect("meta", OURS)
    await scenario.connect("meta", THEIRS)
    scenario.platforms[0].gate = asyncio.Event()
    slow = asyncio.create_task(scenario.reading.sync_workspace_unless_leased(OURS))
    while OURS not in scenario.leases.held:
        await asyncio.sleep(0)
    assert await other.sync_workspace_unless_leased(OURS) is None
    scenario.platforms[0].gate.set()
    assert (await other.sync_workspace_unless_leased(THEIRS))[0].problem is None
    assert (await slow)[0].counts["rows"] == 3 * 90
    assert scenario.leases.held == {}


async def test_process_with_an_expired_lease_stops_without_changes():
    scenario = SyncScenario()
    await scenario.connect()
    scenario.platforms[0].gate = asyncio.Event()
    slow = asyncio.create_task(scenario.reading.sync_workspace_unless_leased(OURS))
    while OURS not in scenario.leases.held:
        await asyncio.sleep(0)
    scenario.now += HOUR
    assert await scenario.leases.acquire_or_renew_lease(
        OURS, "ads", uuid4(), scenario.now, scenario.now + HOUR
    )
    scenario.platforms[0].gate.set()
    assert await slow is None
    assert (await scenario.standing()).status is ConnectionStatus.PENDING
    assert scenario.platforms[0].asked == []


async def test_concurrent_connection_changes_are_kept():
    scenario = SyncScenario()
    await scenario.connect()
    scenario.platforms[0].gate = asyncio.Event()
    slow = asyncio.create_task(scenario.reading.sync_workspace_unless_leased(OURS))
    while OURS not in scenario.leases.held:
        await asyncio.sleep(0)
    await scenario.connections.remove_connection_if_present(OURS, "meta")
    scenario.platforms[0].gate.set()
    await slow
    assert await scenario.connections.list_connections_oldest_first(OURS) == []


async def test_connections_without_credentials_or_platform_are_skipped():
    scenario = SyncScenario()
    await scenario.connect("myads")
    await scenario.connections.save_connection_keeping_created_at(
        Connection(OURS, "meta", ProviderKind.ADS, ConnectionStatus.CONNECTED, NOW)
    )
    assert await scenario.reading.list_due_workspaces() == []
    assert await scenario.reading.sync_workspace_unless_leased(OURS, ignore_schedule=True) == []
    assert (await scenario.standing()).last_synced_at is None
    await scenario.secrets.replace_or_delete_secrets(OURS, "myads", {"token": "of a plugin that is gone"})
    assert await scenario.reading.list_due_workspaces() == []


async def test_undecryptable_credentials_are_reported_and_others_are_synced(monkeypatch):
    scenario = SyncScenario(Platform("meta"), Platform("tiktok"))
    await scenario.connect("meta")
    await scenario.connect("tiktok")
    opened = scenario.secrets.find_secrets

    async def shut(workspace_id, provider):
        if provider == "meta":
            raise CipherUnavailable("another key")
        return await opened(workspace_id, provider)

    monkeypatch.setattr(scenario.secrets, "find_secrets", shut)
    await scenario.sync_all_due()
    assert (await scenario.standing("meta")).error == "Its credentials cannot be opened."
    assert (await scenario.standing("tiktok")).is_connected


async def test_store_failure_is_not_recorded_as_a_platform_error(monkeypatch):
    scenario = SyncScenario()
    await scenario.connect()

    async def away(*_):
        raise StoreUnavailable

    monkeypatch.setattr(scenario.store, "add_new_spend_versions", away)
    with pytest.raises(StoreUnavailable):
        await scenario.reading.sync_workspace_unless_leased(OURS)
    assert (await scenario.standing()).error is None
    assert scenario.leases.held == {}


async def test_progress_counts_up_to_the_number_of_requests():
    scenario, result = SyncScenario(), []
    await scenario.connect()
    await scenario.reading.sync_workspace_unless_leased(OURS, ignore_schedule=True, on_progress=result.append)
    assert [(one.done, one.total) for one in result] == [(n, 39) for n in range(1, 40)]
