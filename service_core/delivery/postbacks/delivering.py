"""Sending what waits: a queue at a time by one process, whatever becomes of the others (semantics 13.6)."""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import groupby
from typing import Final
from uuid import UUID, uuid4

from service_core.access.workspaces import Workspaces
from service_core.changes.ports import Units
from service_core.commerce.credentials import ConnectionSecrets, VaultShut
from service_core.commerce.rounds import told
from service_core.delivery.postbacks.breaker import AccountState
from service_core.delivery.postbacks.calls import Line, Waiting
from service_core.delivery.postbacks.customers import Customers
from service_core.delivery.postbacks.model import Destination
from service_core.delivery.postbacks.outbox import Outbox
from service_core.delivery.postbacks.ports import BatchRejected, ConversionSender
from service_core.delivery.postbacks.postback import Postback, PostbackQueue, SkipReason, skipped
from service_core.delivery.postbacks.preparing import Preparation, outdated_ones
from service_core.insight.connections.model import Connection, ConnectionStatus
from service_core.insight.connections.ports import Connections
from service_core.insight.people.ports import People
from service_core.insight.ports import EventLog
from service_core.kernel.clock import Clock

TURN: Final = timedelta(minutes=5)
"""How long a queue is held without a sign of life; each call is one."""
HOLD: Final = timedelta(minutes=1)
"""How soon a queue is looked at again that could not be sent."""
MOST: Final = 250
"""Conversions that are read, and sent by one call, at most."""
ROUNDS: Final = 20
"""Such readings of one turn; then others have theirs."""

_SENDABLE: Final = frozenset({ConnectionStatus.CONNECTED, ConnectionStatus.PENDING})
_log: Final = logging.getLogger("touchpoint.postbacks")

Stopping = Callable[[], bool]
"""Asked before each call; the one that is under way ends."""


@dataclass(frozen=True, slots=True)
class PostbackDelivery:
    """Sends what rules have put into the outbox.

    Attributes:
        senders: those that are installed, by platform.
        calls: how many calls the throttle of a platform allows, where not as many as its sender says.
        outbox: where conversions wait.
        connections, secrets: what is connected, and with which credentials.
        units: where rules are kept.
        workspaces: whose conversions they are.
        events, people: what is told of each, read when it is sent.
        clock: the present.
    """

    senders: Mapping[str, ConversionSender]
    calls: Mapping[str, int]
    outbox: Outbox
    connections: Connections
    secrets: ConnectionSecrets
    units: Units
    workspaces: Workspaces
    events: EventLog
    people: People
    clock: Clock

    async def due(self) -> Sequence[PostbackQueue]:
        """Queues that have something to send, the longest due first.

        Raises:
            StoreUnavailable: they cannot be read.
        """
        return await self.outbox.due_queues(self.clock())

    async def deliver(self, queue: PostbackQueue, stopping: Stopping = lambda: False) -> int | None:
        """Send what is due of a queue, for a while; how many were settled. None while another process does.

        Raises:
            StoreUnavailable: something cannot be read or kept here; what was not settled is sent again.
        """
        turn = _Turn(self, queue)
        state = await turn.take()
        if state is None:
            return None
        turn.state = state
        try:
            await turn.run(stopping)
        except BaseException:
            turn.not_before = self.clock() + HOLD
            raise
        finally:
            await self.outbox.leave_queue(queue, turn.holder, turn.state, turn.not_before)
        return turn.settled

    async def connection(self, queue: PostbackQueue) -> Connection | None:
        """What is connected of the platform of a queue."""
        known = await self.connections.connections(queue.workspace_id)
        return next((one for one in known if one.provider == queue.platform), None)

    def line(self, sender: ConversionSender, secrets: Mapping[str, str], state: AccountState) -> Line:
        """The line to an account."""
        throttle = sender.terms.throttle
        throttle = replace(throttle, calls=self.calls.get(sender.id, throttle.calls))
        return Line(sender, throttle, secrets, state, self.clock)


@dataclass(slots=True)
class _Turn:
    """One process at one queue."""

    of: PostbackDelivery
    queue: PostbackQueue
    holder: UUID = field(default_factory=uuid4)
    state: AccountState = field(default_factory=AccountState)
    not_before: datetime | None = None
    settled: int = 0

    async def take(self) -> AccountState | None:
        """Have the queue, or have it for longer; how its account stood when somebody left it."""
        now = self.of.clock()
        return await self.of.outbox.take_queue(self.queue, self.holder, now, now + TURN)

    async def run(self, stopping: Stopping) -> None:
        """Send for a while, or say why nothing is sent."""
        sender = self.of.senders.get(self.queue.platform)
        connection = await self.of.connection(self.queue)
        try:
            secrets = await self.of.secrets.secrets(self.queue.workspace_id, self.queue.platform)
        except VaultShut:
            _log.error("the credentials of %s of workspace %s cannot be opened", *self.queue[1::-1])
            secrets = {}
        is_there = connection is not None and connection.status is not ConnectionStatus.DISCONNECTED
        if sender is None or connection is None or secrets is None or not is_there:
            await self._give_up()
        elif not secrets or (self.state.refused and connection.status not in _SENDABLE):
            await self._hold(sender)
        else:
            await self._send_all(self.of.line(sender, secrets, self.state), connection, stopping)

    async def _give_up(self) -> None:
        """Nothing is connected: what waits is never sent."""
        now = self.of.clock()
        while due := await self._due(MOST):
            await self._settle([skipped(one, SkipReason.NOT_CONNECTED, now) for one in due])

    async def _hold(self, sender: ConversionSender) -> None:
        """Look again in a while; what has become too old meanwhile does not wait any longer."""
        now = self.of.clock()
        self.not_before = now + HOLD
        await self._settle(list(outdated_ones(sender, await self._due(MOST), now)))

    async def _send_all(self, line: Line, connection: Connection, stopping: Stopping) -> None:
        for _ in range(ROUNDS):
            due = await self._due(min(MOST, line.sender.terms.batch))
            if not due or not await self._send_some(line, connection, due, stopping):
                break
        if line.refusal is not None:
            self.not_before = self.of.clock() + HOLD
            await self._tell(connection, told(line.refusal, line.secrets))

    async def _send_some(
        self, line: Line, connection: Connection, due: Sequence[Postback], stopping: Stopping
    ) -> bool:
        """Send what can be sent of what is due; False when there is nothing more to do in this turn."""
        workspace = await self.of.workspaces.find(self.queue.workspace_id)
        if workspace is None:
            return False
        reading = Preparation(self.of.units, self.of.events, Customers(self.of.people))
        prepared = await reading.prepared(workspace, line.sender, due, self.of.clock())
        await self._settle(prepared.settled)
        calls = list(_calls(prepared.waiting, connection))
        while calls:
            if stopping() or not line.is_open() or await self.take() is None:
                return False
            destination, some = calls.pop()
            try:
                sent = await line.send(destination, some)
            except BatchRejected:
                half = len(some) // 2
                calls += [(destination, some[half:]), (destination, some[:half])]
                sent = []
            self.state = line.state
            await self._settle(sent)
        return line.is_open()

    async def _due(self, most: int) -> Sequence[Postback]:
        return await self.of.outbox.waiting_postbacks(self.queue, self.of.clock(), most)

    async def _settle(self, postbacks: Sequence[Postback]) -> None:
        if postbacks:
            await self.of.outbox.settle_postbacks(postbacks)
            self.settled += len(postbacks)

    async def _tell(self, connection: Connection, reason: str) -> None:
        """Say of a connection that its credentials were refused, unless somebody changed it meanwhile."""
        _log.warning("%s of workspace %s refuses conversions: %s", *self.queue[1::-1], reason)
        if await self.of.connection(self.queue) == connection:
            broken = replace(connection, status=ConnectionStatus.ERROR, error=reason)
            await self.of.connections.save_connection(broken)


def _calls(waiting: Iterable[Waiting], connection: Connection) -> Iterator[tuple[Destination, list[Waiting]]]:
    """What goes to one place by one call; the last is sent first."""
    names = {
        (account.id, asset.id): asset.name for account in connection.accounts for asset in account.assets
    }
    for place, some in groupby(sorted(waiting, key=_place), _place):
        account_id, asset_id, is_test, code = place
        name = names.get((account_id, asset_id))
        yield Destination(account_id, asset_id, name, is_test, code or None), list(some)


def _place(waiting: Waiting) -> tuple[str, str, bool, str]:
    one = waiting.postback
    return one.account_id, one.asset_id, one.is_test, one.test_code or ""
