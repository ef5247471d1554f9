"""Sends due postbacks. One process at a time holds the lease of a queue; other queues are independent."""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import groupby
from typing import Final
from uuid import UUID, uuid4

from service_core.access.workspace_cache import WorkspaceCache
from service_core.analytics.connections.models import Connection, ConnectionStatus
from service_core.analytics.connections.ports import Connections
from service_core.analytics.people.ports import PersonReader
from service_core.analytics.ports import EventReader
from service_core.changes.ports import Transactions
from service_core.commerce.credentials.ports import CipherUnavailable, ConnectionSecrets
from service_core.commerce.sync.connection_sync import redact_and_shorten_reason
from service_core.delivery.postbacks.account_sender import AccountSender, PreparedPostback
from service_core.delivery.postbacks.circuit_breaker import AccountHealth
from service_core.delivery.postbacks.customer_reader import CustomerReader
from service_core.delivery.postbacks.models import Destination
from service_core.delivery.postbacks.order_reports import OrderReportReader
from service_core.delivery.postbacks.order_settlement import OrderSettlement
from service_core.delivery.postbacks.outbox import PostbackQueues
from service_core.delivery.postbacks.payloads import PayloadBuilder, expired_postbacks
from service_core.delivery.postbacks.ports import BatchRejected, ConversionSender
from service_core.delivery.postbacks.postback import Postback, PostbackQueue, SkipReason, mark_skipped
from service_core.kernel.clock import Clock

QUEUE_LEASE: Final = timedelta(minutes=5)
"""Lifetime of the lease of a queue; each request renews it."""
RETRY_DELAY: Final = timedelta(minutes=1)
"""Pause before a queue that could not be sent is tried again."""
MAX_POSTBACKS: Final = 250
"""Conversions that are read, and sent by one call, at most."""
MAX_BATCHES: Final = 20
"""Batches of one account before the next account has its turn."""

_SENDABLE: Final = frozenset({ConnectionStatus.CONNECTED, ConnectionStatus.PENDING})
_log: Final = logging.getLogger("touchpoint.postbacks")

ShouldStop = Callable[[], bool]
"""Asked before each call; the one that is under way ends."""


@dataclass(frozen=True, slots=True)
class DeliveryWorker:
    """Sends the postbacks that rules put into the outbox.

    Attributes:
        senders: those that are installed, by platform.
        call_limits: how many calls the throttle of a platform allows, where not as many as its sender says.
        queues: the queues of open postbacks.
        connections, secrets: connected platforms and their credentials.
        units: transactions of the workspace store, for rules.
        workspaces: the workspaces of the postbacks.
        events, people: events and persons, read when a postback is sent.
        clock: returns the current time.
        settle_time: how long after the latest report of an order its postback is sent.
    """

    senders: Mapping[str, ConversionSender]
    call_limits: Mapping[str, int]
    queues: PostbackQueues
    connections: Connections
    secrets: ConnectionSecrets
    units: Transactions
    workspaces: WorkspaceCache
    events: EventReader
    people: PersonReader
    clock: Clock
    settle_time: timedelta

    async def list_due_queues(self) -> Sequence[PostbackQueue]:
        """Returns the queues with due postbacks, longest due first.

        Raises:
            StoreUnavailable: they cannot be read.
        """
        return await self.queues.list_due_queues(self.clock())

    async def deliver_queue_unless_leased(
        self, queue: PostbackQueue, should_stop: ShouldStop = lambda: False
    ) -> int | None:
        """Sends the due postbacks of a queue; returns how many were finished, None if another process holds the lease.

        Raises:
            StoreUnavailable: something cannot be read or kept here; what was not settled is sent again.
        """
        lease = _QueueLease(self, queue)
        state = await lease.acquire_or_renew()
        if state is None:
            return None
        lease.health = state
        try:
            await lease.send_skip_or_postpone_due(should_stop)
        except BaseException:
            lease.not_before = self.clock() + RETRY_DELAY
            raise
        finally:
            await self.queues.release_queue_and_save_health(
                queue, lease.holder, lease.health, lease.not_before
            )
        return lease.finished

    async def find_connection(self, queue: PostbackQueue) -> Connection | None:
        """Returns the platform connection of a queue."""
        known = await self.connections.list_connections_oldest_first(queue.workspace_id)
        return next((connection for connection in known if connection.provider == queue.platform), None)

    def payload_builder(self) -> PayloadBuilder:
        """Returns the builder of conversions."""
        orders = OrderSettlement(OrderReportReader(self.events), self.queues, self.settle_time)
        return PayloadBuilder(self.units, self.events, CustomerReader(self.people), orders)

    def account_sender(
        self, sender: ConversionSender, secrets: Mapping[str, str], health: AccountHealth
    ) -> AccountSender:
        """Returns the sender for an account."""
        throttle = sender.limits.throttle
        throttle = replace(throttle, calls=self.call_limits.get(sender.id, throttle.calls))
        return AccountSender(sender, throttle, secrets, health, self.clock)


@dataclass(slots=True)
class _QueueLease:
    """The lease of one process on one queue."""

    worker: DeliveryWorker
    queue: PostbackQueue
    holder: UUID = field(default_factory=uuid4)
    health: AccountHealth = field(default_factory=AccountHealth)
    not_before: datetime | None = None
    finished: int = 0

    async def acquire_or_renew(self) -> AccountHealth | None:
        """Acquires or renews the lease; returns the stored account health, None if another process holds it."""
        now = self.worker.clock()
        return await self.worker.queues.claim_or_extend_queue(self.queue, self.holder, now, now + QUEUE_LEASE)

    async def send_skip_or_postpone_due(self, should_stop: ShouldStop) -> None:
        """Sends due postbacks, or records why nothing can be sent."""
        sender = self.worker.senders.get(self.queue.platform)
        connection = await self.worker.find_connection(self.queue)
        try:
            secrets = await self.worker.secrets.find_secrets(self.queue.workspace_id, self.queue.platform)
        except CipherUnavailable:
            _log.error("the credentials of %s of workspace %s cannot be opened", *self.queue[1::-1])
            secrets = {}
        is_there = connection is not None and connection.status is not ConnectionStatus.DISCONNECTED
        if sender is None or connection is None or secrets is None or not is_there:
            await self._skip_all()
        elif not secrets or (self.health.refused and connection.status not in _SENDABLE):
            await self._postpone_queue_and_expire_too_old_due(sender)
        else:
            await self._send_batches_and_report_refusal(
                self.worker.account_sender(sender, secrets, self.health), connection, should_stop
            )

    async def _skip_all(self) -> None:
        """Skips all waiting postbacks, because no account is connected."""
        now = self.worker.clock()
        while due := await self._due_postbacks(MAX_POSTBACKS):
            await self._save_results(
                [mark_skipped(postback, SkipReason.NOT_CONNECTED, now) for postback in due]
            )

    async def _postpone_queue_and_expire_too_old_due(self, sender: ConversionSender) -> None:
        """Postpones the queue and expires postbacks that became too old."""
        now = self.worker.clock()
        self.not_before = now + RETRY_DELAY
        await self._save_results(
            list(expired_postbacks(sender, await self._due_postbacks(MAX_POSTBACKS), now))
        )

    async def _send_batches_and_report_refusal(
        self, account: AccountSender, connection: Connection, should_stop: ShouldStop
    ) -> None:
        for _ in range(MAX_BATCHES):
            due = await self._due_postbacks(min(MAX_POSTBACKS, account.sender.limits.batch_size))
            if not due or not await self._send_due_and_tell_if_more(account, connection, due, should_stop):
                break
        if account.auth_error is not None:
            self.not_before = self.worker.clock() + RETRY_DELAY
            await self._mark_connection_refused_if_unchanged(
                connection, redact_and_shorten_reason(account.auth_error, account.secrets)
            )

    async def _send_due_and_tell_if_more(
        self,
        account: AccountSender,
        connection: Connection,
        due_postbacks: Sequence[Postback],
        should_stop: ShouldStop,
    ) -> bool:
        """Sends due postbacks; returns False if there is nothing more to do under this lease."""
        workspace = await self.worker.workspaces.find_by_id(self.queue.workspace_id)
        if workspace is None:
            return False
        builder = self.worker.payload_builder()
        prepared = await builder.build_conversions_or_finish(
            workspace, account.sender, due_postbacks, self.worker.clock()
        )
        await self._save_results(prepared.finished)
        calls = list(_batches_by_destination(prepared.sendable, connection))
        while calls:
            if should_stop() or not account.allows_call() or await self.acquire_or_renew() is None:
                return False
            destination, batch = calls.pop()
            try:
                sent = await account.send_batch(destination, batch)
            except BatchRejected:
                half = len(batch) // 2
                calls += [(destination, batch[half:]), (destination, batch[:half])]
                sent = []
            self.health = account.health
            await self._save_results(sent)
        return account.allows_call()

    async def _due_postbacks(self, limit: int) -> Sequence[Postback]:
        return await self.worker.queues.list_due_postbacks(self.queue, self.worker.clock(), limit)

    async def _save_results(self, postbacks: Sequence[Postback]) -> None:
        if postbacks:
            await self.worker.queues.save_results_unless_finished(postbacks)
            self.finished += len(postbacks)

    async def _mark_connection_refused_if_unchanged(self, connection: Connection, reason: str) -> None:
        """Marks the connection as rejected by the platform, unless somebody changed it meanwhile."""
        _log.warning("%s of workspace %s refuses conversions: %s", *self.queue[1::-1], reason)
        if await self.worker.find_connection(self.queue) == connection:
            broken = replace(connection, status=ConnectionStatus.ERROR, error=reason)
            await self.worker.connections.save_connection_keeping_created_at(broken)


def _batches_by_destination(
    prepared: Iterable[PreparedPostback], connection: Connection
) -> Iterator[tuple[Destination, list[PreparedPostback]]]:
    """Yields the prepared postbacks of one call, grouped by destination; the last group is sent first."""
    names = {
        (account.id, asset.id): asset.name for account in connection.accounts for asset in account.assets
    }
    for key, batch in groupby(sorted(prepared, key=_destination_key), _destination_key):
        account_id, asset_id, is_test, code = key
        name = names.get((account_id, asset_id))
        yield Destination(account_id, asset_id, name, is_test, code or None), list(batch)


def _destination_key(prepared: PreparedPostback) -> tuple[str, str, bool, str]:
    postback = prepared.postback
    return postback.account_id, postback.asset_id, postback.is_test, postback.test_code or ""
