"""Reading what workspaces have connected, round after round: each connection on its time, one process at a time."""

import logging
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from traceback import format_tb
from typing import ClassVar, Final, TypeAlias
from uuid import UUID, uuid4

from service_core.commerce.credentials import ConnectionSecrets, VaultShut
from service_core.commerce.platform_faults import PlatformDown, PlatformRefused
from service_core.commerce.turns import ReadingTurns
from service_core.insight.connections.model import Connection, ConnectionStatus, ProviderKind
from service_core.insight.connections.ports import Connections
from service_core.insight.ports import StoreUnavailable
from service_core.kernel.clock import Clock

HOURLY: Final = timedelta(hours=1)
"""How often a connection is read."""
PATIENCE: Final = 2 * HOURLY
"""What was read longer ago than this reaches to then, and not to the present (semantics 19.1)."""
STALE: Final = timedelta(days=1)
"""How long a platform may be away before its connection says so."""
TURN: Final = timedelta(minutes=15)
"""How long a turn lasts without a sign of life; each question to a platform is one."""

_FIRST_PAUSE: Final = timedelta(minutes=1)
_LONGEST_PAUSE: Final = timedelta(hours=1)
_SHOWN: Final = 500
_READ: Final = frozenset({ConnectionStatus.CONNECTED, ConnectionStatus.PENDING, ConnectionStatus.ERROR})

_log: Final = logging.getLogger("touchpoint.rounds")


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the reading of a connection has come.

    Attributes:
        part: which account, or what else is read of it by itself.
        done, total: of the questions there will be; None when nobody knows how many.
    """

    provider: str
    part: str
    done: int
    total: int | None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a connection.

    Attributes:
        found: how much of what was read, by its name.
        problem: for people; None when all is well.
    """

    provider: str
    found: Mapping[str, int] = field(default_factory=dict)
    problem: str | None = None


Telling = Callable[[Progress], None]
Place: TypeAlias = tuple[UUID, str]
"""Workspace and provider of a connection."""


class Overtaken(Exception):
    """Another process has the turn."""


@dataclass(slots=True)
class _Pause:
    """A connection that could not be read: how often in a row, and when it is tried again.

    Attributes:
        of: the connection as it was left; one that somebody changed since is tried at once.
    """

    of: Connection
    failures: int
    until: datetime


@dataclass(frozen=True, slots=True)
class Visit:
    """One connection that is being read.

    Attributes:
        hold: says that the reading lives; to be awaited before each question. It raises `Overtaken`.
        telling: told of each step.
        began_at: when it began.
    """

    connection: Connection
    secrets: Mapping[str, str]
    hold: Callable[[], Awaitable[None]]
    telling: Telling
    began_at: datetime

    @property
    def place(self) -> Place:
        """Whose connection with whom."""
        return self.connection.workspace_id, self.connection.provider


@dataclass(frozen=True, slots=True, kw_only=True)
class Rounds(ABC):
    """Reads connections of one kind.

    Attributes:
        connections, secrets: what is connected, and with which credentials; without any a connection is
            a note of somebody, and nothing is read.
        turns: who reads a workspace.
        clock: the present.
    """

    kind: ClassVar[ProviderKind]
    connections: Connections
    secrets: ConnectionSecrets
    turns: ReadingTurns
    clock: Clock
    _pauses: dict[Place, _Pause] = field(default_factory=dict)

    @property
    @abstractmethod
    def readable(self) -> Collection[str]:
        """Ids of the providers that can be read."""

    @abstractmethod
    async def last_read(self, connection: Connection) -> datetime | None:
        """When a connection was read with success; None for never."""

    @abstractmethod
    async def visit(self, visit: Visit) -> tuple[Connection, Mapping[str, int]] | None:
        """Read one connection: how it stands afterwards, and what was found; None when nothing can be read of it.

        Raises:
            PlatformDown: it cannot be read now.
            PlatformRefused: its credentials are not good.
            Overtaken: another process reads it.
            StoreUnavailable: something cannot be kept or read here.
        """

    @abstractmethod
    def refused(self, connection: Connection, reason: str) -> Connection:
        """A connection whose credentials are not good any more."""

    async def due(self) -> list[UUID]:
        """The workspaces with a connection whose time has come.

        Raises:
            StoreUnavailable: connections cannot be read.
        """
        connected = set(await self.secrets.with_secrets())
        found = []
        for id_ in sorted({id_ for id_, provider in connected if provider in self.readable}):
            for one in await self._waiting(id_):
                if (id_, one.provider) in connected and await self._is_due(one):
                    found.append(id_)
                    break
        return found

    async def read(
        self, workspace_id: UUID, *, at_once: bool = False, telling: Telling = lambda _: None
    ) -> list[Outcome] | None:
        """Read what is due, each connection whatever becomes of the others; None while another process does.

        Args:
            workspace_id: whose connections.
            at_once: read what is not due, too.
            telling: told of each step.

        Raises:
            StoreUnavailable: something cannot be kept or read here; nobody connected is to blame.
        """
        holder = uuid4()
        if not await self._take(workspace_id, holder):
            return None
        try:
            return [
                outcome
                for connection in await self._waiting(workspace_id)
                if at_once or await self._is_due(connection)
                if (outcome := await self._outcome(connection, holder, telling)) is not None
            ]
        except Overtaken:
            return None
        finally:
            await self.turns.end_turn(workspace_id, self.kind, holder)

    async def _waiting(self, workspace_id: UUID) -> list[Connection]:
        """Connections that can be read, unless they wait for somebody to connect them again."""
        known = await self.connections.connections(workspace_id)
        return [
            one
            for one in known
            if one.kind is self.kind and one.provider in self.readable and one.status in _READ
        ]

    async def _is_due(self, connection: Connection) -> bool:
        now, waits = self.clock(), self._waits(connection)
        if waits is not None and waits.until > now:
            return False
        last = await self.last_read(connection)
        return last is None or now - last >= HOURLY

    def _waits(self, connection: Connection) -> _Pause | None:
        waits = self._pauses.get((connection.workspace_id, connection.provider))
        return waits if waits is not None and _is_same(waits.of, connection) else None

    async def _take(self, workspace_id: UUID, holder: UUID) -> bool:
        now = self.clock()
        return await self.turns.take_turn(workspace_id, self.kind, holder, now, now + TURN)

    async def _outcome(self, connection: Connection, holder: UUID, telling: Telling) -> Outcome | None:
        """Read one connection and write down how it stands; None for one of which nothing can be read."""
        place = connection.workspace_id, connection.provider

        async def hold() -> None:
            if not await self._take(connection.workspace_id, holder):
                raise Overtaken

        try:
            secrets = await self.secrets.secrets(*place)
        except VaultShut:
            return await self._wait(connection, "Its credentials cannot be opened.", None)
        if secrets is None:
            return None
        visit = Visit(connection, secrets, hold, telling, self.clock())
        try:
            read = await self.visit(visit)
        except (Overtaken, StoreUnavailable):
            raise
        except Exception as fault:  # noqa: BLE001 - a plugin's mistake stays with its connection
            return await self._failed(visit, fault)
        self._pauses.pop(place, None)
        if read is None:
            self._pauses[place] = _Pause(connection, 0, self.clock() + HOURLY)
            return None
        after, found = read
        await self._save(connection, after)
        return Outcome(connection.provider, found)

    async def _failed(self, visit: Visit, fault: Exception) -> Outcome:
        """Write down why a connection could not be read."""
        connection, secrets = visit.connection, visit.secrets
        if isinstance(fault, PlatformRefused):
            reason = told(str(fault), secrets)
            return await self._pause(connection, self.refused(connection, reason), reason, HOURLY)
        if isinstance(fault, PlatformDown):
            return await self._wait(connection, told(str(fault), secrets), fault.retry_after)
        # Its text may repeat what was sent, so its kind and its place alone are told.
        frames = "".join(format_tb(fault.__traceback__))
        _log.error("the plugin of %s failed: %s\n%s", connection.provider, type(fault).__name__, frames)
        return await self._wait(connection, "Its answer could not be read.", None)

    async def _wait(self, connection: Connection, reason: str, retry_after: float | None) -> Outcome:
        """Leave a platform alone for a while."""
        before = self._waits(connection)
        failures = before.failures + 1 if before else 1
        after = unread(connection, reason, await self.last_read(connection), self.clock())
        return await self._pause(connection, after, reason, pause(failures, retry_after), failures)

    async def _pause(
        self, before: Connection, after: Connection, reason: str, length: timedelta, failures: int = 1
    ) -> Outcome:
        place = before.workspace_id, before.provider
        self._pauses[place] = _Pause(after, failures, self.clock() + length)
        _log.warning("%s of workspace %s cannot be read: %s", before.provider, before.workspace_id, reason)
        await self._save(before, after)
        return Outcome(before.provider, problem=reason)

    async def _save(self, before: Connection, after: Connection) -> None:
        """Write down how a connection stands, unless somebody connected or removed it meanwhile."""
        known = await self.connections.connections(before.workspace_id)
        now = next((one for one in known if _is_same(one, before)), None)
        if now is None or after == before:
            return
        times = [one.last_synced_at for one in (now, after) if one.last_synced_at is not None]
        await self.connections.save_connection(replace(after, last_synced_at=max(times, default=None)))


def reaches_to(last_read: datetime, now: datetime) -> datetime:
    """Up to when what was read by then is believed present (semantics 19.1)."""
    return now if now - last_read < PATIENCE else last_read


def unread(connection: Connection, reason: str, last: datetime | None, now: datetime) -> Connection:
    """A connection that could not be read now: it says so at once when it never was, else after a day."""
    if last is None:
        return replace(connection, error=reason)
    if now - last < STALE:
        return connection
    return replace(connection, status=ConnectionStatus.ERROR, error=reason)


def pause(failures: int, retry_after: float | None) -> timedelta:
    """How long to leave a platform alone after so many failures in a row, and for as long as it asks."""
    doubled = min(_LONGEST_PAUSE, _FIRST_PAUSE * (1 << min(failures - 1, 10)))
    return max(doubled, timedelta(seconds=retry_after or 0))


def told(reason: str, secrets: Mapping[str, str]) -> str:
    """A reason as people may read it: short, and without a credential the platform repeats."""
    for value in secrets.values():
        reason = reason.replace(value, "***")
    return reason[:_SHOWN]


def _is_same(one: Connection, other: Connection) -> bool:
    """Whether nobody changed a connection: messages move when it was synced last, whoever reads it."""
    return replace(one, last_synced_at=None) == replace(other, last_synced_at=None)
