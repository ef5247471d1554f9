"""Where leaves are evaluated: a source answers for some relations.

The event store is one; ad spend and subscriptions are further ones, each by a port of its own.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Protocol

from service_core.access.model import Workspace
from service_core.insight.attribution.model import Models
from service_core.insight.freshness import Queue, data_through
from service_core.insight.measures import Operand, Relation
from service_core.insight.ports import Aggregate, Aggregates, Grid, Paths, StoreUnavailable
from service_core.insight.query.fitted import FittedCredits
from service_core.kernel.reading import Reason


@dataclass(frozen=True, slots=True)
class SourceState:
    """What a source can say at the moment.

    Attributes:
        watermark: up to when its data is believed present (semantics 19.1).
        reasons: the relations of which it measures nothing for this workspace, each with why.
        several: dimensions its rows have more than one value of; see `Leaf.apart`.
        within: what it can say of the rows of one value alone, where that is another thing.
        behind: relations that reach less far, each to when.
    """

    watermark: datetime
    reasons: Mapping[Relation, Reason] = field(default_factory=dict)
    several: frozenset[str] = frozenset()
    within: Mapping[tuple[str, Operand], "SourceState"] = field(default_factory=dict)
    behind: Mapping[Relation, datetime] = field(default_factory=dict)

    def through(self, relation: Relation) -> datetime:
        """Up to when the data of a relation is believed present."""
        return min(self.watermark, self.behind.get(relation, self.watermark))

    def of(self, held: Mapping[str, Operand]) -> "SourceState":
        """What it can say of rows that are all of the values held."""
        return next((self.within[each] for each in held.items() if each in self.within), self)


class Source(Protocol):
    """Something that evaluates leaves over its relations."""

    @property
    def relations(self) -> frozenset[Relation]:
        """The relations it answers for; no two sources share one."""

    async def aggregate(self, plan: Aggregate) -> Grid:
        """Evaluate measures by dimensions and buckets; all leaves are of its relations.

        Only the source of events is asked to order and to cut.
        """

    async def state(self, workspace: Workspace, now: datetime) -> SourceState:
        """Whether it measures for a workspace, and how far its data reaches."""


class SourceUnavailable(StoreUnavailable):
    """A source cannot be read.

    Attributes:
        relations: those it would have answered for.
    """

    def __init__(self, relations: frozenset[Relation]) -> None:
        super().__init__()
        self.relations = relations


NOT_CONNECTED: Final = {
    Relation.SPEND: Reason.NO_AD_PLATFORM,
    Relation.DELIVERIES: Reason.NO_AD_PLATFORM,
    Relation.SUBSCRIPTIONS: Reason.NO_REVENUE_PROVIDER,
    Relation.COSTS: Reason.NO_COST_DATA,
}
"""What was never connected was never measured: why a relation without a source is unknown (semantics 19.3)."""


class Reach(Protocol):
    """How far the money that others tell reaches, once somebody asks them for it."""

    async def through(self, workspace: Workspace, now: datetime) -> datetime:
        """Up to when it is believed present."""


_MONEY: Final = (Relation.MONEY, Relation.CREDITS)


@dataclass(frozen=True, slots=True)
class EventSource:
    """The event store, up to date as long as no queued event has waited for five minutes.

    Money reaches no further than its providers were asked for it.

    Credits by a data-driven model are shared out here, from its totals and its paths.
    """

    events: Aggregates
    paths: Paths
    queue: Queue
    models: Models
    providers: Reach | None = None

    @property
    def relations(self) -> frozenset[Relation]:
        """Everything that follows from events."""
        return frozenset(Relation) - NOT_CONNECTED.keys()

    async def aggregate(self, plan: Aggregate) -> Grid:
        """Ask the store."""
        if plan.credit is not None and plan.credit.fitted is not None:
            return await FittedCredits(self.events, self.paths, self.models).aggregate(plan, plan.credit)
        return await self.events.aggregate(plan)

    async def state(self, workspace: Workspace, now: datetime) -> SourceState:
        """Always measured; the queue tells how far."""
        through = await data_through(self.queue, now)
        if self.providers is None:
            return SourceState(through)
        money = await self.providers.through(workspace, now)
        return SourceState(through, behind=dict.fromkeys(_MONEY, money) if money < through else {})
