"""Entries into the queue: the acceptance check of `/track`, many offers at once, a count per outcome."""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable
from datetime import timedelta
from itertools import islice
from typing import Final

import orjson

from hosts.importing.entries import Entry
from hosts.importing.shifting import shifted
from service_core.access.model import Credential
from service_core.intake.accept import Accepted, accept
from service_core.intake.event_time import REPLACED, event_time
from service_core.intake.model import Arrival, Channel, Reason
from service_core.intake.ports import IngestQueue, Offer
from service_core.kernel.clock import Clock
from service_core.kernel.ids import new_id

TOGETHER: Final = 1_000
"""Entries offered at once: they share commits, and the import remembers its place after each lot."""


class Importer:
    """Offers entries under the write key of a workspace.

    Args:
        queue: where events go, the same as those of `/track`.
        key: the workspace's write key; the ledger counts the import under it.
        clock: receipt time of every entry.
        shift: what is added to every timestamp.
    """

    def __init__(
        self, queue: IngestQueue, key: Credential, clock: Clock, shift: timedelta | None = None
    ) -> None:
        self._queue = queue
        self._key = key
        self._clock = clock
        self._shift = shift
        self.outcomes: Counter[str] = Counter()
        self.retimed = 0
        """Accepted events that take the time of their receipt, since theirs is too old or cannot be read."""

    async def run(self, entries: Iterable[Entry], after_lot: Callable[[list[Entry]], None]) -> None:
        """Offer every entry.

        Args:
            entries: in the order of the file.
            after_lot: called with each lot once it is durable.

        Raises:
            QueueFailed: the queue takes nothing; what was offered before stays.
        """
        remaining = iter(entries)
        while lot := list(islice(remaining, TOGETHER)):
            self.outcomes.update(await asyncio.gather(*map(self._offer, lot)))
            after_lot(lot)

    async def _offer(self, entry: Entry) -> str:
        if entry.body is None:
            return entry.skipped or "not an event"
        body = entry.body if self._shift is None else shifted(entry.body, self._shift)
        verdict = accept(body)
        if isinstance(verdict, Reason):
            await self._queue.reject(
                self._key.workspace_id, self._key.id, Channel.TRACK, verdict, self._clock()
            )
            return verdict.value
        arrival = self._arrival(entry, body, verdict)
        offer = await self._queue.offer(arrival)
        if offer is Offer.QUEUED:
            self.retimed += event_time(body.get("timestamp"), arrival.received_at)[1] == REPLACED
        return offer.value

    def _arrival(self, entry: Entry, body: object, verdict: Accepted) -> Arrival:
        event_id = verdict.event_id or entry.event_id
        return Arrival(
            workspace_id=self._key.workspace_id,
            key_id=self._key.id,
            channel=Channel.TRACK,
            event_id=event_id or str(new_id()),
            claimed=event_id is not None,
            received_at=self._clock(),
            body=orjson.dumps(body),
            user_agent=entry.user_agent,
            address=entry.address,
            headers=entry.headers,
        )
