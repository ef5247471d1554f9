"""`POST /batch` without its transport: many events of one page, sent without a secret (contract 11.2).

The workspace is named by its public id, which stands in every page; what pages may use it is the rule of
`origins`. The ledger counts each event apart, under the workspace's own id in the place of a key's.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, NamedTuple
from uuid import UUID

from service_core.access.model import Workspace
from service_core.access.workspaces import Workspaces
from service_core.intake import origins
from service_core.intake.accept import TEXTS, accept, event_id, scalar
from service_core.intake.model import Arrival, Channel, Reason
from service_core.intake.poison import clean
from service_core.intake.ports import IngestQueue, Offer, QueueFailed
from service_core.intake.track import INVALID_KEY, Answer, Sent, not_enqueued
from service_core.kernel.clock import Clock
from service_core.kernel.ids import new_id

MOST_EVENTS: Final = 500

FOREIGN: Final = Answer(403, {"error": "Origin not allowed"})
_NO_EVENTS: Final = Answer(400, {"error": "An events array is required"})
_TOO_MANY: Final = Answer(413, {"error": f"Too many events. Maximum is {MOST_EVENTS} per batch."})
_TOO_FAST: Final = Answer(
    429, {"error": "Rate limit exceeded. Maximum 1000 events per second."}, {"retry-after": "1"}
)

Encode = Callable[[object], bytes]
"""Value -> JSON bytes; raises TypeError for what is nested too deeply."""

Spend = Callable[[UUID, datetime, int], bool]
"""Counts so many events of a workspace; False when the second has no room for them."""


class Asked(NamedTuple):
    """A batch as it came.

    Attributes:
        document: the decoded body.
        sent: what the headers say.
        origin: of the page.
        address: of the client.
    """

    document: Mapping[str, Any]
    sent: Sent
    origin: str | None
    address: str | None


@dataclass(frozen=True, slots=True)
class Batches:
    """Takes the batches of browsers.

    Attributes:
        spend: counts events by workspace.
        encode: writes an event of a body as a body of its own.
        tell: hears of events the queue did not take.
    """

    workspaces: Workspaces
    queue: IngestQueue
    spend: Spend
    clock: Clock
    encode: Encode
    tell: Callable[[QueueFailed], None]

    async def take(self, asked: Asked) -> Answer:
        """Offer the events of a batch to the queue, all in one step, and say what became of each."""
        workspace = await public_workspace(self.workspaces, asked.document)
        if workspace is None:
            return INVALID_KEY.answer
        if not origins.is_allowed(asked.origin, workspace):
            return FOREIGN
        now = self.clock()
        books = _Books(self.queue, workspace.id, now)
        events = asked.document.get("events")
        if not isinstance(events, list):
            await books.reject(Reason.INVALID_JSON, 1)
            return _NO_EVENTS
        if len(events) > MOST_EVENTS:
            await books.reject(Reason.TOO_LARGE, len(events))
            return _TOO_MANY
        if events and not self.spend(workspace.id, now, len(events)):
            await books.reject(Reason.RATE_LIMITED, len(events))
            return _TOO_FAST
        return await self._offer(events, asked, books)

    async def _offer(self, events: list[Any], asked: Asked, books: "_Books") -> Answer:
        arrivals: list[Arrival] = []
        places: list[int] = []
        for place, event in enumerate(events):
            found = accept(event)
            if isinstance(found, Reason):
                books.refuse(place, event, found)
            else:
                places.append(place)
                arrivals.append(self._arrival(event, found.event_id, asked, books))
        outcomes = await self._outcomes(arrivals)
        failures = [each for each in outcomes if isinstance(each, QueueFailed)]
        for place, outcome in zip(places, outcomes, strict=True):
            if isinstance(outcome, QueueFailed):
                self.tell(outcome)
                books.refuse(place, events[place], Reason.ENQUEUE_FAILED)
        await books.close()
        if failures and len(failures) == len(arrivals):
            return not_enqueued(failures[0].detail).answer
        counts = outcomes.count(Offer.QUEUED), outcomes.count(Offer.DUPLICATE)
        return _taken(len(events), *counts, books.refused)

    async def _outcomes(self, arrivals: list[Arrival]) -> list[Offer | QueueFailed]:
        if not arrivals:
            return []
        try:
            return await self.queue.offer_all(arrivals)
        except QueueFailed as failure:
            return [failure] * len(arrivals)

    def _arrival(self, event: object, claimed: str | None, asked: Asked, books: "_Books") -> Arrival:
        return Arrival(  # by place: by name it takes three times as long
            books.workspace_id,
            books.workspace_id,
            Channel.BATCH,
            claimed or str(new_id()),
            claimed is not None,
            books.at,
            self._written(event),
            asked.sent.user_agent,
            asked.address,
            asked.sent.headers,
        )

    def _written(self, event: object) -> bytes:
        """The event as a body of its own; what is nested without end is cut off, as it would be later anyway."""
        try:
            return self.encode(event)
        except TypeError:
            return self.encode(clean(event))


def _taken(received: int, accepted: int, duplicates: int, refused: list[dict[str, Any]]) -> Answer:
    body = {
        "success": True,
        "received": received,
        "accepted": accepted,
        "duplicates": duplicates,
        "rejected": sorted(refused, key=lambda each: each["index"]),
    }
    return Answer(200, body)


async def public_workspace(workspaces: Workspaces, document: Mapping[str, Any]) -> Workspace | None:
    """The active workspace a body of a browser names; None when it names none.

    While the directory is away, what it said last is believed: a page that is left asks no second time.
    """
    named = scalar(document.get("workspace_id")) or scalar(document.get("workspaceId"))
    workspace = await workspaces.find_public(named, unsure=True) if named else None
    return workspace if workspace is not None and workspace.active else None


@dataclass(slots=True)
class _Books:
    """What is not taken of one batch: for its answer, and for the ledger."""

    queue: IngestQueue
    workspace_id: UUID
    at: datetime
    refused: list[dict[str, Any]] = field(default_factory=list)
    reasons: dict[Reason, int] = field(default_factory=dict)

    def refuse(self, place: int, event: object, reason: Reason) -> None:
        """Note an event that is not taken."""
        own = event_id(event) if isinstance(event, dict) else None
        self.refused.append({"index": place, "event_id": own, "error": TEXTS[reason]})
        self.reasons[reason] = self.reasons.get(reason, 0) + 1

    async def close(self) -> None:
        """Let the ledger know of all of them."""
        for reason, events in self.reasons.items():
            await self.reject(reason, events)

    async def reject(self, reason: Reason, events: int) -> None:
        """Let the ledger know of events."""
        await self.queue.reject(
            self.workspace_id, self.workspace_id, Channel.BATCH, reason, self.at, events=events
        )
