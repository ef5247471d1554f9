"""Reading what ad platforms report into the store, one workspace at a time."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from traceback import format_tb
from typing import Final, TypeAlias
from uuid import UUID, uuid4

from service_core.commerce.ads.model import AdAccount, Level, SpendRow
from service_core.commerce.ads.ports import (
    AdPlatform,
    PlatformDown,
    PlatformRefused,
    SpendStore,
)
from service_core.commerce.ads.sync import (
    days_to_read,
    in_parts,
    is_due,
    is_read,
    pause,
    refused,
    synced,
    to_read,
    told,
    unread,
)
from service_core.commerce.providers.ports import ConnectionSecrets, VaultShut
from service_core.commerce.turns import ReadingTurns
from service_core.insight.connections.model import Connection, ProviderKind
from service_core.insight.connections.ports import Connections
from service_core.insight.ports import StoreUnavailable
from service_core.kernel.clock import Clock

TURN: Final = timedelta(minutes=15)
"""How long a turn lasts without a sign of life; each question to a platform is one."""
BATCH: Final = 1_000
"""Rows that are kept by one write."""

_log: Final = logging.getLogger("touchpoint.ads")


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the reading of a connection has come: questions asked of those there will be."""

    provider: str
    account_id: str
    done: int
    total: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a connection; ``problem`` is for people, None when all is well."""

    provider: str
    accounts: int = 0
    rows: int = 0
    problem: str | None = None


Telling = Callable[[Progress], None]
_Place: TypeAlias = tuple[UUID, str]
"""Workspace and provider of a connection."""
_Question: TypeAlias = tuple[str, Level, date, date]
"""Account, level, first and last day."""


@dataclass(slots=True)
class _Pause:
    """A platform that could not be read: how often in a row, and when it is tried again.

    Attributes:
        of: the connection as it was left; one that somebody changed since is tried at once.
    """

    of: Connection
    failures: int
    until: datetime


class _Overtaken(Exception):
    """Another process has the turn."""


@dataclass(frozen=True, slots=True)
class AdReading:
    """Reads the ad platforms that workspaces have connected.

    Attributes:
        platforms: those that are installed, by id.
        connections, secrets: what is connected, and with which credentials; without any a connection is
            a note of somebody, and nothing is read.
        store: where spend is kept.
        turns: who reads a workspace.
        clock: the present.
        first_days: how many days the first reading of a connection takes.
    """

    platforms: Mapping[str, AdPlatform]
    connections: Connections
    secrets: ConnectionSecrets
    store: SpendStore
    turns: ReadingTurns
    clock: Clock
    first_days: int
    _pauses: dict[_Place, _Pause] = field(default_factory=dict)
    _done: dict[_Place, set[_Question]] = field(default_factory=dict)
    """What was answered of a reading that could not be finished: the next one does not ask it again."""

    async def due(self) -> list[UUID]:
        """The workspaces with a connection whose time has come.

        Raises:
            StoreUnavailable: connections cannot be read.
        """
        connected = set(await self.secrets.with_secrets())
        found = []
        for id_ in sorted({id_ for id_, provider in connected if provider in self.platforms}):
            known = await self._readable(id_)
            if any(self._is_due(one) for one in known if (id_, one.provider) in connected):
                found.append(id_)
        return found

    async def read(
        self, workspace_id: UUID, *, at_once: bool = False, telling: Telling = lambda _: None
    ) -> list[Outcome] | None:
        """Read what is due, each connection whatever becomes of the others; None while another process does.

        Args:
            workspace_id: whose platforms.
            at_once: read what is not due, too.
            telling: told of each step.

        Raises:
            StoreUnavailable: something cannot be kept or read here; the platforms are not to blame.
        """
        holder = uuid4()
        if not await self._take(workspace_id, holder):
            return None
        try:
            return [
                outcome
                for connection in await self._readable(workspace_id)
                if at_once or self._is_due(connection)
                if (outcome := await self._outcome(connection, holder, telling)) is not None
            ]
        except _Overtaken:
            return None
        finally:
            await self.turns.end_turn(workspace_id, ProviderKind.ADS, holder)

    async def _readable(self, workspace_id: UUID) -> list[Connection]:
        """Connections with a platform that is installed, unless they wait for somebody."""
        known = await self.connections.connections(workspace_id)
        return [
            one
            for one in known
            if one.kind is ProviderKind.ADS and one.provider in self.platforms and is_read(one)
        ]

    def _is_due(self, connection: Connection) -> bool:
        now, waits = self.clock(), self._waits(connection)
        return is_due(connection, now) and (waits is None or waits.until <= now)

    def _waits(self, connection: Connection) -> _Pause | None:
        waits = self._pauses.get((connection.workspace_id, connection.provider))
        return waits if waits is not None and waits.of == connection else None

    async def _take(self, workspace_id: UUID, holder: UUID) -> bool:
        now = self.clock()
        return await self.turns.take_turn(workspace_id, ProviderKind.ADS, holder, now, now + TURN)

    async def _outcome(self, connection: Connection, holder: UUID, telling: Telling) -> Outcome | None:
        """Read one connection and write down how it stands; None for one without credentials."""
        place = connection.workspace_id, connection.provider
        try:
            secrets = await self.secrets.secrets(*place)
        except VaultShut:
            return await self._wait(connection, "Its credentials cannot be opened.", None)
        if secrets is None:
            return None
        began_at = self.clock()
        try:
            accounts, rows = await self._spend(connection, secrets, holder, telling)
        except (_Overtaken, StoreUnavailable):
            raise
        except PlatformRefused as fault:
            reason = told(str(fault), secrets)
            self._forget(place)
            await self._save(connection, refused(connection, reason))
            return Outcome(connection.provider, problem=reason)
        except PlatformDown as fault:
            return await self._wait(connection, told(str(fault), secrets), fault.retry_after)
        except Exception as fault:  # noqa: BLE001 - a plugin's mistake stays with its connection
            # Its text may repeat what was sent, so its kind and its place alone are told.
            frames = "".join(format_tb(fault.__traceback__))
            _log.error("the plugin of %s failed: %s\n%s", connection.provider, type(fault).__name__, frames)
            return await self._wait(connection, "Its answer could not be read.", None)
        self._forget(place)
        await self._save(connection, synced(connection, accounts, began_at))
        return Outcome(connection.provider, len(accounts), rows)

    async def _spend(
        self, connection: Connection, secrets: Mapping[str, str], holder: UUID, telling: Telling
    ) -> tuple[list[AdAccount], int]:
        """Read every account of a connection; returns them and how many rows they reported."""
        place, platform = (connection.workspace_id, connection.provider), self.platforms[connection.provider]
        accounts = to_read(connection, await platform.accounts(secrets))
        answered, rows, now = self._done.setdefault(place, set()), 0, self.clock()
        for account in accounts:
            first, today = days_to_read(account, connection.last_synced_at, now, self.first_days)
            steps = [(level, *part) for part in in_parts(first, today) for level in Level]
            for done, (level, begin, end) in enumerate(steps, start=1):
                question = account.id, level, begin, end
                if end == today or question not in answered:
                    if not await self._take(connection.workspace_id, holder):
                        raise _Overtaken
                    found = await platform.spend(account, level, begin, end, secrets)
                    await self._keep(connection.workspace_id, found)
                    answered.add(question)
                    rows += len(found)
                telling(Progress(platform.id, account.id, done, len(steps)))
        return accounts, rows

    def _forget(self, place: _Place) -> None:
        """A reading has ended: the next one begins anew."""
        self._pauses.pop(place, None)
        self._done.pop(place, None)

    async def _keep(self, workspace_id: UUID, rows: Sequence[SpendRow]) -> None:
        for start in range(0, len(rows), BATCH):
            await self.store.add_spend(workspace_id, rows[start : start + BATCH])

    async def _wait(self, connection: Connection, reason: str, retry_after: float | None) -> Outcome:
        """Leave a platform alone for a while."""
        now, before = self.clock(), self._waits(connection)
        after = unread(connection, reason, now)
        failures = before.failures + 1 if before else 1
        until = now + pause(failures, retry_after)
        self._pauses[connection.workspace_id, connection.provider] = _Pause(after, failures, until)
        _log.warning(
            "%s of workspace %s cannot be read: %s", connection.provider, connection.workspace_id, reason
        )
        await self._save(connection, after)
        return Outcome(connection.provider, problem=reason)

    async def _save(self, before: Connection, after: Connection) -> None:
        """Write down how a connection stands, unless somebody connected or removed it meanwhile."""
        known = await self.connections.connections(before.workspace_id)
        if after != before and before in known:
            await self.connections.save_connection(after)
