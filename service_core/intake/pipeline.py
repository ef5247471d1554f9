"""From the queue into the event store: take, decode, enrich, append, settle.

A batch is settled only when it is durable in the store, so a failure anywhere leaves it in the
queue; it is enriched and appended again, which the store takes without doubling an event.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final, NamedTuple, TypeVar
from uuid import UUID

from service_core.access.model import Workspace
from service_core.intake.accept import scalar
from service_core.intake.attribution import next_state
from service_core.intake.campaign import tag_alone
from service_core.intake.enrich import Enricher
from service_core.intake.fields import Fields, read
from service_core.intake.model import UNREAD, Channel, Event, Quarantined, Queued
from service_core.intake.ports import EventStore, IngestQueue, LinkTags, SessionKey, SessionState
from service_core.intake.recent import Recent
from service_core.intake.told import told_tags
from service_core.intake.transport import BROWSER, MOBILE_APP, WEB

BATCH: Final = 2_000
"""Events of one append: four times 500 costs the store a third per event, and no longer a pause of the loop."""
BUSY_FROM: Final = 200
"""More events than this a minute by one visitor are noted (semantics 4)."""

_OF_USERS: Final = frozenset({BROWSER, WEB, MOBILE_APP})
"""Sources whose requests come from the end user's own browser or application."""
_REMEMBERED: Final = 20_000
_BREATH: Final = 50
_REASON: Final = 500

_T = TypeVar("_T")

_Lent = dict[UUID, dict[str, Mapping[str, str]]]
"""Workspace and tag -> the UTM values of the link."""

Workspaces = Callable[[UUID], Awaitable[Workspace | None]]
"""Workspace by id; None when it is gone."""


class Triggered(NamedTuple):
    """A stored event that a conversion rule of its workspace may wait for.

    Attributes:
        user_agent: of the end user, which no row has; None when only a server is known.
    """

    event: Event
    user_agent: str | None


Stored = Callable[[Sequence[Triggered]], Awaitable[None]]
"""Told of stored events before they leave the queue; told again of those whose batch comes again."""


class _Ready(NamedTuple):
    queued: Queued
    workspace: Workspace
    fields: Fields


class Pipeline:
    """The consumer's core; one at a time per queue.

    Args:
        queue: where accepted events wait.
        store: where they go.
        workspaces: looked up once per batch.
        enricher: makes rows.
        decode: JSON bytes -> value; may raise on anything it does not read.
        batch: most events of one step.
        links: whose UTM values count as sent where only the tag was; None knows no link.
        triggered: told of events that conversion rules wait for; None where nobody sends any.
    """

    def __init__(
        self,
        queue: IngestQueue,
        store: EventStore,
        workspaces: Workspaces,
        enricher: Enricher,
        decode: Callable[[bytes], object],
        *,
        batch: int = BATCH,
        links: LinkTags | None = None,
        triggered: Stored | None = None,
    ) -> None:
        self._queue = queue
        self._store = store
        self._workspaces = workspaces
        self._enricher = enricher
        self._decode = decode
        self._batch = batch
        self._links = links
        self._triggered = triggered
        self._sessions: Recent[SessionKey, SessionState] = Recent(max(_REMEMBERED, 2 * batch))
        self._minutes: Recent[tuple[UUID, str, datetime], int] = Recent(max(_REMEMBERED, 2 * batch))

    async def drain_once(self) -> int:
        """Move the next batch; returns how many events left the queue, 0 when none waits.

        An event that cannot become a row is set aside with its reason and does not hold up the rest.

        Raises:
            Exception: whatever queue or store raised; nothing is settled, the same batch comes again.
        """
        taken = await self._queue.take(self._batch)
        if not taken:
            return 0
        try:
            events, triggered, quarantined = await self._rows(taken)
            if events:
                await self._store.append(events)
            if triggered and self._triggered is not None:
                await self._triggered(triggered)
            await self._queue.settle(events, quarantined)
        except BaseException:
            self._sessions.clear()
            self._minutes.clear()
            raise
        return len(taken)

    async def _rows(self, taken: Sequence[Queued]) -> tuple[list[Event], list[Triggered], list[Quarantined]]:
        ids = {queued.arrival.workspace_id for queued in taken}
        workspaces = {workspace_id: await self._workspaces(workspace_id) for workspace_id in ids}
        ready: list[_Ready] = []
        events: list[Event] = []
        triggered: list[Triggered] = []
        quarantined: list[Quarantined] = []
        async for queued in _with_breaths(taken):
            try:
                ready.append(self._read(queued, workspaces[queued.arrival.workspace_id]))
            except Exception as fault:  # noqa: BLE001 - one event never holds up the others
                quarantined.append(_set_aside(queued, fault))
        await self._recall(ready)
        lent = await self._lent(ready)
        async for step in _with_breaths(ready):
            try:
                events.append(self._finish(step, lent))
            except Exception as fault:  # noqa: BLE001 - one event never holds up the others
                quarantined.append(_set_aside(step.queued, fault))
            else:
                if step.fields.name in step.workspace.triggers:
                    triggered.append(Triggered(events[-1], _user_agent(step, events[-1].source)))
        return events, triggered, quarantined

    def _read(self, queued: Queued, workspace: Workspace | None) -> _Ready:
        if workspace is None:
            raise LookupError("the workspace is gone")
        if queued.arrival.channel is Channel.WEBHOOK and UNREAD in queued.arrival.headers:
            raise ValueError(queued.arrival.headers[UNREAD])
        body = self._decode(queued.arrival.body)
        if not isinstance(body, dict):
            raise TypeError("the body is not a JSON object")
        return _Ready(queued, workspace, read(queued.arrival, body, workspace))

    async def _recall(self, ready: Iterable[_Ready]) -> None:
        """Ask the store for the sessions of a batch that are not remembered."""
        keys = {step.fields.session_key: None for step in ready}
        unknown = [key for key in keys if key not in self._sessions]
        if unknown:
            for key, state in (await self._store.sessions(unknown)).items():
                self._sessions.put(key, state)

    async def _lent(self, ready: Iterable[_Ready]) -> _Lent:
        """UTM values by workspace and tag, for the tags of a batch that came without any."""
        tags: dict[UUID, set[str]] = {}
        for step in ready:
            sent = step.fields.properties
            if self._links and (alone := {tag_alone(sent) or "", *told_tags(sent)} - {""}):
                tags.setdefault(step.workspace.id, set()).update(alone)
        lent: _Lent = {}
        for workspace_id, asked in tags.items():
            assert self._links is not None
            found = await self._links.tagged(workspace_id, asked)
            lent[workspace_id] = {tag: link.utm for tag, link in found.items()}
        return lent

    def _finish(self, step: _Ready, lent: _Lent) -> Event:
        key = step.fields.session_key
        known = self._sessions.get(key)
        # What is later than an event is nothing to it: come in whatever order, the first of a session is the same row.
        session = known if known and known.first_at <= step.fields.timestamp else None
        event = self._enricher.enrich(
            step.queued,
            step.fields,
            workspace=step.workspace,
            session=session,
            busy=self._is_busy(step.fields),
            lent=lent.get(step.workspace.id, {}),
        )
        if not event.is_bot:
            self._sessions.put(key, next_state(event, known))
        return event

    def _is_busy(self, fields: Fields) -> bool:
        minute = fields.workspace_id, fields.ids.visitor, fields.timestamp.replace(second=0, microsecond=0)
        seen = (self._minutes.get(minute) or 0) + 1
        self._minutes.put(minute, seen)
        return seen > BUSY_FROM


def _user_agent(step: _Ready, source: str) -> str | None:
    """What the end user's browser or application calls itself; the client of a server does not tell."""
    context = step.fields.context
    told = scalar(context.get("userAgent")) or scalar(context.get("user_agent"))
    return told or (scalar(step.queued.arrival.user_agent) if source in _OF_USERS else None)


def _set_aside(queued: Queued, fault: Exception) -> Quarantined:
    return Quarantined(queued, f"{type(fault).__name__}: {fault}"[:_REASON])


async def _with_breaths(values: Iterable[_T]) -> AsyncIterator[_T]:
    """The values, with a moment for other tasks of the loop now and then."""
    for position, value in enumerate(values):
        if position % _BREATH == 0:
            await asyncio.sleep(0)
        yield value
