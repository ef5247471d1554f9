"""Sources evaluate aggregations; each source serves some relations.

The event store is one source. Ad spend, subscriptions, costs and postbacks are others, each with a port of
its own.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Protocol

from service_core.access.models import Workspace
from service_core.analytics.attribution.models import AttributionModels
from service_core.analytics.freshness import CachedGapHours, QueueStateReader, get_events_complete_through
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
    """Availability and freshness of one source.

    Attributes:
        watermark: time up to which its data is complete.
        unavailable_reasons: relations without data for this workspace, with the reason.
        multi_valued_dimensions: dimensions with more than one value; see `Aggregation.non_additive_dimension`.
        per_value: state of the rows with one value of a dimension, where it differs.
        lagging: relations whose data is complete up to an earlier time.
        gap_hours: starts of hours of which some rows are missing or wrong, in order; None if they cannot be read.
    """

    watermark: datetime
    unavailable_reasons: Mapping[Relation, UnavailableReason] = field(default_factory=dict)
    multi_valued_dimensions: frozenset[str] = frozenset()
    per_value: Mapping[tuple[str, Operand], "SourceState"] = field(default_factory=dict)
    lagging: Mapping[Relation, datetime] = field(default_factory=dict)
    gap_hours: Sequence[datetime] | None = ()

    def complete_through(self, relation: Relation) -> datetime:
        """Returns the time up to which the data of a relation is complete."""
        return min(self.watermark, self.lagging.get(relation, self.watermark))

    def for_dimensions(self, fixed_dimensions: Mapping[str, Operand]) -> "SourceState":
        """Returns the state of rows that have the given values of dimensions."""
        return next(
            (self.per_value[item] for item in fixed_dimensions.items() if item in self.per_value), self
        )


class Source(Protocol):
    """Evaluates aggregations over its relations."""

    @property
    def relations(self) -> frozenset[Relation]:
        """The relations it serves; no two sources serve the same one."""

    async def aggregate(self, query: AggregateQuery) -> AggregateResult:
        """Returns measures by dimensions and buckets; all aggregations are of its relations.

        Only the event source receives an order and a limit.
        """

    async def read_state(self, workspace: Workspace, now: datetime) -> SourceState:
        """Returns whether it has data for a workspace, and up to when the data is complete."""


class SourceUnavailable(StoreUnavailable):
    """A source cannot be read.

    Attributes:
        relations: the relations it serves.
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
"""Why a relation without a source is unavailable: what is not connected is not measured."""


class DataFreshness(Protocol):
    """Tells up to when payments of polled providers are complete."""

    async def complete_through(self, workspace: Workspace, now: datetime) -> datetime:
        """Returns the time up to which payments are complete."""


_PAYMENT_RELATIONS: Final = (Relation.PAYMENTS, Relation.CREDITS)


@dataclass(frozen=True, slots=True)
class EventSource:
    """The event store as a source. It is up to date unless an event has waited in the queue for five minutes.

    Payments are complete up to the last successful poll of their providers. Credits of a data-driven model
    are split here, from the totals and paths of the store.
    """

    events: AggregateReader
    paths: TouchPathReader
    queue_state: QueueStateReader
    models: AttributionModels
    provider_freshness: DataFreshness | None = None
    gaps: CachedGapHours | None = None

    @property
    def relations(self) -> frozenset[Relation]:
        """The relations that follow from events."""
        return frozenset(Relation) - UNCONNECTED_REASONS.keys()

    async def aggregate(self, query: AggregateQuery) -> AggregateResult:
        """Evaluates measures in the event store."""
        if query.credit is not None and query.credit.data_driven_model_id is not None:
            return await DataDrivenCredits(
                self.events, self.paths, self.models
            ).aggregate_splitting_credits_by_model(query, query.credit)
        return await self.events.aggregate(query)

    async def read_state(self, workspace: Workspace, now: datetime) -> SourceState:
        """Returns the state: always measured, complete as far as the queue is processed."""
        through = await get_events_complete_through(self.queue_state, now)
        gaps = () if self.gaps is None else await self.gaps.list_gap_hours_or_none_if_unreadable(workspace.id)
        if self.provider_freshness is None:
            return SourceState(through, gap_hours=gaps)
        money = await self.provider_freshness.complete_through(workspace, now)
        lagging = dict.fromkeys(_PAYMENT_RELATIONS, money) if money < through else {}
        return SourceState(through, lagging=lagging, gap_hours=gaps)
