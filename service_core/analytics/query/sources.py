"""Where leaves are evaluated: a source answers for some relations.

The event store is one; ad spend and subscriptions are further ones, each by a port of its own.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Protocol

from service_core.access.models import Workspace
from service_core.analytics.attribution.models import AttributionModels
from service_core.analytics.freshness import QueueStateReader, get_events_complete_through
from service_core.analytics.measures import Operand, Relation
from service_core.analytics.ports import (
    AggregateQuery,
    AggregateReader,
    AggregateResult,
    StoreUnavailable,
    TouchPathReader,
)
from service_core.analytics.query.attribution_credits import DataDrivenCredits
from service_core.kernel.availability import UnavailableReason


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
    unavailable_reasons: Mapping[Relation, UnavailableReason] = field(default_factory=dict)
    multi_valued_dimensions: frozenset[str] = frozenset()
    per_value: Mapping[tuple[str, Operand], "SourceState"] = field(default_factory=dict)
    lagging: Mapping[Relation, datetime] = field(default_factory=dict)

    def complete_through(self, relation: Relation) -> datetime:
        """Up to when the data of a relation is believed present."""
        return min(self.watermark, self.lagging.get(relation, self.watermark))

    def for_dimensions(self, held: Mapping[str, Operand]) -> "SourceState":
        """What it can say of rows that are all of the values held."""
        return next((self.per_value[each] for each in held.items() if each in self.per_value), self)


class Source(Protocol):
    """Something that evaluates leaves over its relations."""

    @property
    def relations(self) -> frozenset[Relation]:
        """The relations it answers for; no two sources share one."""

    async def aggregate(self, query: AggregateQuery) -> AggregateResult:
        """Evaluate measures by dimensions and buckets; all leaves are of its relations.

        Only the source of events is asked to order and to cut.
        """

    async def read_state(self, workspace: Workspace, now: datetime) -> SourceState:
        """Whether it measures for a workspace, and how far its data reaches."""


class SourceUnavailable(StoreUnavailable):
    """A source cannot be read.

    Attributes:
        relations: those it would have answered for.
    """

    def __init__(self, relations: frozenset[Relation]) -> None:
        super().__init__()
        self.relations = relations


UNCONNECTED_REASONS: Final = {
    Relation.SPEND: UnavailableReason.NO_AD_PLATFORM,
    Relation.POSTBACKS: UnavailableReason.NO_AD_PLATFORM,
    Relation.SUBSCRIPTIONS: UnavailableReason.NO_REVENUE_PROVIDER,
    Relation.COSTS: UnavailableReason.NO_COST_DATA,
}
"""What was never connected was never measured: why a relation without a source is unknown (semantics 19.3)."""


class DataFreshness(Protocol):
    """How far the money that others tell reaches, once somebody asks them for it."""

    async def complete_through(self, workspace: Workspace, now: datetime) -> datetime:
        """Up to when it is believed present."""


_PAYMENT_RELATIONS: Final = (Relation.PAYMENTS, Relation.CREDITS)


@dataclass(frozen=True, slots=True)
class EventSource:
    """The event store, up to date as long as no queued event has waited for five minutes.

    Money reaches no further than its providers were asked for it.

    Credits by a data-driven model are shared out here, from its totals and its paths.
    """

    events: AggregateReader
    paths: TouchPathReader
    queue_state: QueueStateReader
    models: AttributionModels
    provider_freshness: DataFreshness | None = None

    @property
    def relations(self) -> frozenset[Relation]:
        """Everything that follows from events."""
        return frozenset(Relation) - UNCONNECTED_REASONS.keys()

    async def aggregate(self, query: AggregateQuery) -> AggregateResult:
        """Ask the store."""
        if query.credit is not None and query.credit.data_driven_model_id is not None:
            return await DataDrivenCredits(self.events, self.paths, self.models).aggregate(
                query, query.credit
            )
        return await self.events.aggregate(query)

    async def read_state(self, workspace: Workspace, now: datetime) -> SourceState:
        """Always measured; the queue tells how far."""
        through = await get_events_complete_through(self.queue_state, now)
        if self.provider_freshness is None:
            return SourceState(through)
        money = await self.provider_freshness.complete_through(workspace, now)
        return SourceState(
            through, lagging=dict.fromkeys(_PAYMENT_RELATIONS, money) if money < through else {}
        )
