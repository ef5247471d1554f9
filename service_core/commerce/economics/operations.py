"""`GET /commerce-metrics`: revenue, what it cost, and what is left (contract 3.15)."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from service_core.access.model import Caller
from service_core.commerce.ads.source import is_measured, read_through
from service_core.commerce.costs.source import CostSource
from service_core.commerce.economics.answer import (
    CommerceMetrics,
    Completeness,
    CostsCompleteness,
    PlatformCompleteness,
    RevenueCompleteness,
    SpendCompleteness,
)
from service_core.commerce.economics.asked import CommerceMetricsQuery
from service_core.insight.attribution.choose import credit_for
from service_core.insight.attribution.model import Attribution, Models
from service_core.insight.connections.model import Connection, ProviderKind
from service_core.insight.connections.ports import Connections
from service_core.insight.measures import Relation
from service_core.insight.ports import Scan, StoreUnavailable
from service_core.insight.query.formula import rounded
from service_core.insight.query.question import Question
from service_core.insight.query.questions import Questions
from service_core.insight.query.sources import SourceState, SourceUnavailable
from service_core.insight.rounding import decimal
from service_core.insight.scans import scan_of
from service_core.kernel.errors import Refusal, Unavailable503
from service_core.kernel.operations import operation
from service_core.kernel.ranges import Range
from service_core.kernel.reading import Measured, Reading, Reason, Unavailable
from service_core.kernel.together import together

_REVENUE: Final = (
    "gross_revenue", "discounts", "revenue", "refunds", "net_revenue", "shipping", "taxes", "fees", "orders",
    "aov", "new_customers",
)  # fmt: skip
_SPEND: Final = ("ad_spend",)
_COSTS: Final = ("cogs", "shipping_costs")
_PARTS: Final = {"revenue": _REVENUE, "spend": _SPEND, "costs": _COSTS}
"""Part of the answer -> the metrics that are known when it is."""

_METRICS: Final = (*_REVENUE, *_SPEND, *_COSTS, "profit", "margin", "roas", "platform_roas", "mer", "cac")
_FIELDS: Final = {id_: "spend" if id_ == "ad_spend" else id_ for id_ in _METRICS}
"""Metric -> the field that has its value."""

SHARE_DECIMALS: Final = 6
_PART_OF: Final = {Relation.SPEND: "spend", Relation.COSTS: "costs"}
"""What is told by neither is revenue, or follows from it."""


class Unverified(Unavailable503):
    """What a part of the answer is made of cannot be read: unknown, never zero."""

    def __init__(self, part: str) -> None:
        super().__init__(f"The {part} of the range cannot be verified at the moment", f"{part}_unverified")


def _reasoned(refusal: Refusal) -> Refusal:
    """Every error says its code as its reason, too."""
    if refusal.code is not None:
        refusal.extra = {"reason": refusal.code, **refusal.extra}
    return refusal


@operation("GET /commerce-metrics", tag="marketing", reshape=_reasoned)
async def get_commerce_metrics(
    query: CommerceMetricsQuery,
    *,
    who: Caller,
    questions: Questions,
    models: Models,
    connections: Connections,
    costs: CostSource,
) -> CommerceMetrics:
    """Revenue, ad spend, profit, margin, ROAS and MER over hours of UTC, and how far each part is known.

    Null is what is not known: the part it is of is not complete then. What is connected and cannot be read
    is refused, never left out of a sum.
    """
    asked = query.asked(who)
    usual = Attribution.usual(who.workspace)
    question = Question(
        _METRICS,
        asked,
        usual_credit=credit_for(models, usual),
        order_refunds=query.refund_basis == "order",
        include_bots=query.include_bots,
    )
    try:
        table, states, known = await together(
            questions.ask(who, question),
            questions.states(who, _METRICS),
            connections.connections(who.workspace.id),
        )
    except StoreUnavailable as fault:
        raise Unverified(_part_of(fault)) from fault
    told = _Told(asked, dict(zip(_METRICS, table.rows[0].readings, strict=True)), states, known)
    told.check()
    covered = await _covered(told, costs, scan_of(who, asked.span))
    metrics, currency = questions.catalog.metrics, who.workspace.currency
    values = {field: rounded(told.readings[id_], metrics[id_], currency) for id_, field in _FIELDS.items()}
    return CommerceMetrics.model_validate(
        {
            "start_date": asked.span.start,
            "end_date": asked.span.end,
            "timezone": asked.zone.key,
            "currency": currency,
            **values,
            "attribution": usual,
            "refund_basis": query.refund_basis,
            "completeness": told.completeness(covered),
        }
    )


async def _covered(told: "_Told", costs: CostSource, scan: Scan) -> float | None:
    """How much of revenue has a cost; it is looked for where not everything has.

    Raises:
        Unverified: it cannot be read.
    """
    cogs, orders = told.readings["cogs"], told.readings["orders"]
    if isinstance(cogs, Measured):
        return 1 if isinstance(orders, Measured) and orders.value else None
    if cogs.reason is Reason.NO_COST_DATA:
        return None
    try:
        share = await costs.covered_share(scan)
    except StoreUnavailable as fault:
        raise Unverified("costs") from fault
    return None if share is None else float(decimal(share, SHARE_DECIMALS))


def _part_of(fault: StoreUnavailable) -> str:
    """The part of what cannot be read."""
    lost: Collection[Relation] = fault.relations if isinstance(fault, SourceUnavailable) else ()
    return next((part for relation, part in _PART_OF.items() if relation in lost), "revenue")


@dataclass(frozen=True, slots=True)
class _Told:
    """What all sources said, and how far each of them knows."""

    asked: Range
    readings: Mapping[str, Reading]
    states: Mapping[Relation, SourceState]
    known: Sequence[Connection]

    def check(self) -> None:
        """Refuse to state a total of what could not be read.

        Raises:
            Unverified: a source is in error.
        """
        if any(one.kind is ProviderKind.REVENUE and one.is_broken for one in self.known):
            raise Unverified("revenue")
        for part, ids in _PARTS.items():
            if Unavailable(Reason.SOURCE_ERROR) in {self.readings[id_] for id_ in ids}:
                raise Unverified(part)

    def completeness(self, covered: float | None) -> Completeness:
        """How far each part is known; of costs it is told how much of revenue they cover."""
        revenue, spend, costs = self._revenue(), self._spend(), self._costs(covered)
        whole = revenue.complete and spend.complete and costs.complete
        return Completeness(complete=whole, revenue=revenue, spend=spend, costs=costs)

    def _revenue(self) -> RevenueCompleteness:
        through = self._through(self.states[Relation.MONEY].through(Relation.MONEY))
        return RevenueCompleteness(complete=self._is_whole("revenue", through), through=through)

    def _spend(self) -> SpendCompleteness:
        platforms = sorted(self._platforms(), key=lambda each: each.platform)
        through = min((each.through for each in platforms), default=None)
        complete = through is not None and self._is_whole("spend", through)
        return SpendCompleteness(complete=complete, through=through, platforms=platforms)

    def _costs(self, covered: float | None) -> CostsCompleteness:
        complete = self._is_whole("costs", self.asked.span.end)
        return CostsCompleteness(complete=complete, covered_revenue_share=covered)

    def _platforms(self) -> list[PlatformCompleteness]:
        read = {one.provider: read_through(one, self.asked.now) for one in self.known if is_measured(one)}
        ends = {name: self._through(instant) for name, instant in read.items() if instant is not None}
        return [
            PlatformCompleteness(platform=name, complete=end == self.asked.span.end, through=end)
            for name, end in ends.items()
        ]

    def _through(self, watermark: datetime) -> datetime:
        return min(watermark, self.asked.span.end)

    def _is_whole(self, part: str, through: datetime) -> bool:
        is_known = not any(isinstance(self.readings[id_], Unavailable) for id_ in _PARTS[part])
        return is_known and through == self.asked.span.end


OPERATIONS = (get_commerce_metrics,)
