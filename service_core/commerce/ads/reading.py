"""Reading what ad platforms report into the store, one workspace at a time."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import ClassVar, Final, TypeAlias
from uuid import UUID

from service_core.commerce.ads.model import AdAccount, Level, SpendRow
from service_core.commerce.ads.ports import AdPlatform, SpendStore
from service_core.commerce.ads.sync import days_to_read, in_parts, refused, synced, to_read
from service_core.commerce.platform_faults import PlatformRefused
from service_core.commerce.rounds import Place, Progress, Rounds, Visit
from service_core.insight.connections.model import Connection, ProviderKind

BATCH: Final = 1_000
"""Rows that are kept by one write."""

_Question: TypeAlias = tuple[str, Level, date, date]
"""Account, level, first and last day."""


@dataclass(frozen=True, slots=True)
class AdReading(Rounds):
    """Reads the ad platforms that workspaces have connected.

    Attributes:
        platforms: those that are installed, by id.
        store: where spend is kept.
        first_days: how many days the first reading of a connection takes.
    """

    kind: ClassVar[ProviderKind] = ProviderKind.ADS
    platforms: Mapping[str, AdPlatform]
    store: SpendStore
    first_days: int
    _done: dict[Place, set[_Question]] = field(default_factory=dict)
    """What was answered of a reading that could not be finished: the next one does not ask it again."""

    @property
    def readable(self) -> Collection[str]:
        """Ids of the platforms."""
        return self.platforms.keys()

    async def last_read(self, connection: Connection) -> datetime | None:
        """When it was synced: nothing but reading does that."""
        return connection.last_synced_at

    async def visit(self, visit: Visit) -> tuple[Connection, Mapping[str, int]]:
        """Read every account of a connection.

        Raises:
            PlatformDown: the platform cannot be read now.
            PlatformRefused: its credentials are not good.
            Overtaken: another process reads it.
            StoreUnavailable: what was read cannot be kept.
        """
        try:
            accounts, rows = await self._spend(visit)
        except PlatformRefused:
            self._done.pop(visit.place, None)
            raise
        self._done.pop(visit.place, None)
        after = synced(visit.connection, accounts, visit.began_at)
        return after, {"accounts": len(accounts), "rows": rows}

    def refused(self, connection: Connection, reason: str) -> Connection:
        """It waits for somebody to connect it again."""
        return refused(connection, reason)

    async def _spend(self, visit: Visit) -> tuple[list[AdAccount], int]:
        """Read the accounts; returns them and how many rows they reported."""
        connection, platform = visit.connection, self.platforms[visit.connection.provider]
        accounts = to_read(connection, await platform.accounts(visit.secrets))
        answered, rows, now = self._done.setdefault(visit.place, set()), 0, self.clock()
        for account in accounts:
            first, today = days_to_read(account, connection.last_synced_at, now, self.first_days)
            steps = [(level, *part) for part in in_parts(first, today) for level in Level]
            for done, (level, begin, end) in enumerate(steps, start=1):
                question = account.id, level, begin, end
                if end == today or question not in answered:
                    await visit.hold()
                    found = await platform.spend(account, level, begin, end, visit.secrets)
                    await self._keep(connection.workspace_id, found)
                    answered.add(question)
                    rows += len(found)
                visit.telling(Progress(platform.id, account.id, done, len(steps)))
        return accounts, rows

    async def _keep(self, workspace_id: UUID, rows: Sequence[SpendRow]) -> None:
        for start in range(0, len(rows), BATCH):
            await self.store.add_spend(workspace_id, rows[start : start + BATCH])
