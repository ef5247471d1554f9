"""Syncs the ad spend of connected platforms."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import ClassVar, Final, TypeAlias
from uuid import UUID

from service_core.analytics.connections.models import Connection, ProviderKind
from service_core.commerce.ads.models import AdAccount, AdLevel, SpendRow
from service_core.commerce.ads.ports import AdPlatform, AdSpendStore
from service_core.commerce.ads.sync_window import (
    days_to_sync_with_restated_ones,
    mark_expired,
    mark_synced_with_lost_accounts_as_error,
    require_accounts_to_sync,
    weekly_chunks_newest_first,
)
from service_core.commerce.platform_errors import CredentialsRejected
from service_core.commerce.sync.connection_sync import ConnectionKey, ConnectionSync, SyncProgress, SyncRun

SPEND_BATCH_SIZE: Final = 1_000
"""Rows that are kept by one write."""

_SpendRequest: TypeAlias = tuple[str, AdLevel, date, date]
"""Account, level, first and last day."""


@dataclass(frozen=True, slots=True)
class AdSpendSync(ConnectionSync):
    """Reads the ad platforms that workspaces have connected.

    Attributes:
        platforms: those that are installed, by id.
        store: where spend is kept.
        first_days: how many days the first reading of a connection takes.
    """

    kind: ClassVar[ProviderKind] = ProviderKind.ADS
    platforms: Mapping[str, AdPlatform]
    store: AdSpendStore
    first_days: int
    _completed: dict[ConnectionKey, set[_SpendRequest]] = field(default_factory=dict)
    """Completed requests of a run that failed; the next run skips them."""

    @property
    def supported_providers(self) -> Collection[str]:
        """Ids of the platforms."""
        return self.platforms.keys()

    async def last_sync(self, connection: Connection) -> datetime | None:
        """Returns the time of the last sync, which is the last read."""
        return connection.last_synced_at

    async def sync_connection(self, run: SyncRun) -> tuple[Connection, Mapping[str, int]]:
        """Read every account of a connection.

        Raises:
            PlatformUnavailable: the platform cannot be read now.
            CredentialsRejected: its credentials are not good.
            LeaseLost: another process syncs it.
            StoreUnavailable: what was read cannot be kept.
        """
        try:
            accounts, rows = await self._sync_accounts_resuming_failed_run(run)
        except CredentialsRejected:
            self._completed.pop(run.connection_key, None)
            raise
        self._completed.pop(run.connection_key, None)
        after = mark_synced_with_lost_accounts_as_error(run.connection, accounts, run.started_at)
        return after, {"accounts": len(accounts), "rows": rows}

    def mark_credentials_rejected(self, connection: Connection, reason: str) -> Connection:
        """Returns the connection as expired: it has to be connected again."""
        return mark_expired(connection, reason)

    async def _sync_accounts_resuming_failed_run(self, run: SyncRun) -> tuple[list[AdAccount], int]:
        """Syncs the accounts; returns them and the number of reported rows. Chunks that a failed run completed are skipped."""
        connection, platform = run.connection, self.platforms[run.connection.provider]
        accounts = require_accounts_to_sync(connection, await platform.list_accessible_accounts(run.secrets))
        answered, rows, now = self._completed.setdefault(run.connection_key, set()), 0, self.clock()
        for account in accounts:
            first, today = days_to_sync_with_restated_ones(
                account, connection.last_synced_at, now, self.first_days
            )
            steps = [(level, *part) for part in weekly_chunks_newest_first(first, today) for level in AdLevel]
            for done, (level, begin, end) in enumerate(steps, start=1):
                request = account.id, level, begin, end
                if end == today or request not in answered:
                    await run.renew_lease()
                    reported = await platform.fetch_daily_spend(account, level, begin, end, run.secrets)
                    await self._store_rows(connection.workspace_id, reported)
                    answered.add(request)
                    rows += len(reported)
                run.on_progress(SyncProgress(platform.id, account.id, done, len(steps)))
        return accounts, rows

    async def _store_rows(self, workspace_id: UUID, rows: Sequence[SpendRow]) -> None:
        for start in range(0, len(rows), SPEND_BATCH_SIZE):
            await self.store.add_new_spend_versions(workspace_id, rows[start : start + SPEND_BATCH_SIZE])
