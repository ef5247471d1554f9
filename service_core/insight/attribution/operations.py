"""`GET /attribution` (contract 3.12, semantics 8 and 9)."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Annotated, Final, Literal

from pydantic import AliasChoices, Field

from service_core.access.model import Caller
from service_core.insight.attribution.choose import credit_for, totals_only
from service_core.insight.attribution.grouping import (
    GROUPINGS,
    AnyRow,
    ChannelRow,
    Earned,
    GroupBy,
    Grouping,
    Row,
    Visited,
)
from service_core.insight.attribution.model import AskedAttribution, Attribution, Models, WindowDays
from service_core.insight.attribution.ports import AttributionModel, DataDriven
from service_core.insight.attribution.report import FittedReport, Group, Report, Totals
from service_core.insight.event_names import same_as
from service_core.insight.freshness import is_complete
from service_core.insight.ports import Aggregates, ConversionSet, Paths, Scan
from service_core.insight.range_query import RangeQuery
from service_core.insight.scans import scan_of
from service_core.intake.ports import IngestQueue
from service_core.kernel.date_range import RangeAnswer
from service_core.kernel.errors import BadRequest
from service_core.kernel.operations import operation
from service_core.kernel.params import Answer, Clamp
from service_core.kernel.ranges import Range
from service_core.kernel.together import together

Basis = Literal["conversion", "touch"]
RefundBasis = Literal["refund", "order"]

_Groups = tuple[list[Group], bool]
_CHANNELS: Final = GROUPINGS["channel"]


class AttributionQuery(RangeQuery):
    """Parameters of `GET /attribution`; the range is that of the conversions."""

    model: str | None = Field(
        default=None, description="Id of an installed attribution model; default the workspace's."
    )
    window_days: WindowDays | None = Field(
        default=None,
        description="Days before the conversion in which a touch counts; default the workspace's.",
    )
    event_name: str | None = Field(
        default=None,
        validation_alias=AliasChoices("event_name", "conversion_event"),
        description="One conversion event; default the conversion set.",
    )
    group_by: GroupBy = "campaign"
    basis: Basis = Field(
        "conversion", description="Book credit on the day of the conversion or of the touch."
    )
    refund_basis: RefundBasis = Field(
        "refund", description="Book a refund on its own day or on that of its order."
    )
    limit: Annotated[int, Clamp(1, 500)] = Field(100, description="Rows of `campaigns`.")

    @property
    def by_touch(self) -> bool:
        """Whether credit is booked on the day of the touch."""
        return self.basis == "touch"

    @property
    def event_names(self) -> frozenset[str] | None:
        """The conversion event asked for, with the names that count as one with it."""
        return same_as(self.event_name) if self.event_name else None

    def chosen(self, who: Caller) -> Attribution:
        """The attribution that runs."""
        return AskedAttribution(model=self.model, window_days=self.window_days).of(who.workspace)

    def scan(self, who: Caller, asked: Range) -> Scan:
        """What is looked at: an event named in the request converts, whether the workspace says so or not."""
        scan = scan_of(
            who, asked.span, include_bots=self.include_bots, order_refunds=self.refund_basis == "order"
        )
        names = self.event_names
        return replace(scan, conversions=ConversionSet(names, any_revenue=False)) if names else scan


class AttributionReport(Answer):
    """Credits by group and by channel. Rows and ``unattributed`` add up to ``totals``."""

    campaigns: list[AnyRow]
    channels: list[ChannelRow]
    unattributed: Earned
    totals: Visited
    attribution: Attribution
    group_by: GroupBy
    basis: Basis
    refund_basis: RefundBasis
    truncated: bool
    currency: str
    range: RangeAnswer
    complete: bool


@operation("GET /attribution", tag="attribution", errors=(422,))
async def get_attribution(
    query: AttributionQuery,
    *,
    who: Caller,
    aggregates: Aggregates,
    paths: Paths,
    models: Models,
    queue: IngestQueue,
) -> AttributionReport:
    """Which campaigns and channels the conversions of a range are credited to, and their money.

    ``visitors`` and ``sessions`` count those whose session carries the values of the row; they do not
    depend on the model. Data-driven models need enough conversions, and paths without one.
    """
    asked = query.asked(who)
    chosen = query.chosen(who)
    model = models.named(chosen.model)
    check_basis(query, model)
    credit = credit_for(models, chosen, by_touch=query.by_touch, event_names=query.event_names)
    report = Report(query.scan(who, asked), totals_only(credit), aggregates)
    fitting = FittedReport(report, models, model, paths) if isinstance(model, DataDriven) else None
    grouping = GROUPINGS[query.group_by]
    totals, (groups, truncated), (channels, _) = await _read(report, fitting, grouping, query.limit)
    currency = who.workspace.currency
    return AttributionReport(
        campaigns=list(_rows(grouping, groups, currency)),
        channels=list(_rows(_CHANNELS, channels, currency)),
        unattributed=Earned.model_validate(totals.unattributed.written(currency)),
        totals=Visited.model_validate(
            {"visitors": totals.visitors, "sessions": totals.sessions, **totals.earned.written(currency)}
        ),
        attribution=chosen,
        group_by=query.group_by,
        basis=query.basis,
        refund_basis=query.refund_basis,
        truncated=truncated,
        currency=currency,
        range=RangeAnswer.of(asked),
        complete=_is_settled(query, chosen, asked) and await is_complete(queue, asked),
    )


async def _read(
    report: Report, fitting: FittedReport | None, grouping: Grouping, limit: int
) -> tuple[Totals, _Groups, _Groups]:
    """The totals, the groups and the channels; a fitted model shares out totals that are known."""
    if fitting is None:
        return await together(report.totals(), report.groups(grouping, limit), report.groups(_CHANNELS))
    totals = await report.totals()
    groups, channels = await together(
        fitting.groups(grouping, totals, limit), fitting.groups(_CHANNELS, totals)
    )
    return totals, groups, channels


def check_basis(query: AttributionQuery, model: AttributionModel) -> None:
    """Refuse to book a fitted model's credit by touch.

    Raises:
        BadRequest: ``invalid_parameter``.
    """
    if query.by_touch and isinstance(model, DataDriven):
        raise BadRequest(
            f"{model.label} credits groups, not single touches: basis must be conversion",
            "invalid_parameter",
            field="basis",
        )


def _is_settled(query: AttributionQuery, chosen: Attribution, asked: Range) -> bool:
    """Whether no later conversion can still be credited to a touch of the range (semantics 8.6)."""
    return not query.by_touch or asked.span.end + chosen.window <= asked.now


def _rows(grouping: Grouping, groups: Iterable[Group], currency: str) -> Iterable[Row]:
    for group in groups:
        yield grouping.row.model_validate(
            {
                **grouping.keys(group.key),
                "visitors": group.visitors,
                "sessions": group.sessions,
                **group.earned.written(currency),
                **group.earned.rates(group.visitors, currency),
            }
        )


OPERATIONS = (get_attribution,)
