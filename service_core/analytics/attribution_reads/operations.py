"""`GET /attribution`."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Annotated, Final, Literal
from uuid import UUID

from pydantic import AliasChoices, Field

from service_core.access.models import Caller
from service_core.analytics.attribution.execute import (
    AttributionTotals,
    CreditedGroup,
    DataDrivenAttribution,
    RuleBasedAttribution,
)
from service_core.analytics.attribution.models import (
    AttributionModels,
    AttributionRequest,
    AttributionSettings,
    WindowDays,
)
from service_core.analytics.attribution.ports import AttributionModel, DataDrivenModel
from service_core.analytics.attribution.resolve_model import (
    credit_rule_or_last_touch_with_model_id,
    without_data_driven_model_id,
)
from service_core.analytics.attribution.schemas import (
    GROUPINGS,
    AnyAttributionRow,
    AttributionRow,
    ChannelRow,
    CreditAndTrafficTotals,
    CreditTotals,
    GroupBy,
    Grouping,
)
from service_core.analytics.attribution_reads.segment_conditions import (
    SegmentAggregateReader,
    read_segment_conditions_by_relation,
)
from service_core.analytics.event_rules.event_synonyms import list_event_synonyms
from service_core.analytics.freshness import EventFreshness
from service_core.analytics.ports import AggregateReader, QueryScope, TouchPathReader
from service_core.analytics.query.metric_queries import MetricQueries
from service_core.analytics.range_query import RangeQuery
from service_core.analytics.scope import scope_for_caller
from service_core.kernel.async_gather import gather_or_cancel
from service_core.kernel.date_range import RangeResponse
from service_core.kernel.errors import BadRequest
from service_core.kernel.null_reasons import NULL_FIELD_REASONS, ListsNullReasons, UnavailableMetric
from service_core.kernel.operations import operation
from service_core.kernel.row_selection import RowSelection
from service_core.kernel.schemas import Clamp
from service_core.kernel.time_ranges import ResolvedRange

AttributionBasis = Literal["conversion", "touch"]
RefundBasis = Literal["refund", "order"]

_GroupPage = tuple[list[CreditedGroup], bool]
_CHANNELS: Final = GROUPINGS["channel"]


class AttributionQuery(RowSelection, RangeQuery):
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
    basis: AttributionBasis = Field(
        "conversion", description="Book credit on the day of the conversion or of the touch."
    )
    refund_basis: RefundBasis = Field(
        "refund", description="Book a refund on its own day or on that of its order."
    )
    segment_id: UUID | None = Field(
        default=None,
        description="A segment, whose filters sessions and credited touches meet; not for data-driven models.",
    )
    limit: Annotated[int, Clamp(1, 500)] = Field(100, description="Rows of `campaigns`.")

    @property
    def books_at_touch(self) -> bool:
        """Whether credit is booked on the day of the touch."""
        return self.basis == "touch"

    @property
    def event_names(self) -> frozenset[str] | None:
        """The requested conversion event with its synonyms; None for the conversion set."""
        return list_event_synonyms(self.event_name) if self.event_name else None

    def attribution_settings(self, caller: Caller) -> AttributionSettings:
        """Returns the model and window to use."""
        return AttributionRequest(model=self.model, window_days=self.window_days).with_workspace_defaults(
            caller.workspace
        )

    def scope_with_requested_event_as_conversion(
        self, caller: Caller, date_range: ResolvedRange
    ) -> QueryScope:
        """Returns the scope of the read. A requested event counts as a conversion even if the workspace excludes it."""
        scope = scope_for_caller(
            caller,
            date_range.span,
            include_bots=self.include_bots,
            book_refunds_at_order=self.refund_basis == "order",
        )
        names = self.event_names
        if not names:
            return scope
        return replace(scope, conversions=replace(scope.conversions, names=names, any_revenue=False))


class AttributionResponse(ListsNullReasons):
    """Credits by group and by channel. Rows and ``unattributed`` add up to ``totals``."""

    campaigns: list[AnyAttributionRow]
    channels: list[ChannelRow]
    unattributed: CreditTotals
    totals: CreditAndTrafficTotals
    attribution: AttributionSettings
    group_by: GroupBy
    basis: AttributionBasis
    refund_basis: RefundBasis
    truncated: bool
    currency: str
    unavailable: list[UnavailableMetric] = NULL_FIELD_REASONS
    range: RangeResponse
    complete: bool


@operation("GET /attribution", tag="attribution", errors=(422,), is_aggregate=True)
async def get_attribution(
    query: AttributionQuery,
    *,
    caller: Caller,
    aggregate_reader: AggregateReader,
    path_reader: TouchPathReader,
    models: AttributionModels,
    freshness: EventFreshness,
    queries: MetricQueries,
) -> AttributionResponse:
    """Credits the conversions and revenue of a range to campaigns and channels.

    ``visitors`` and ``sessions`` count those whose session has the values of the row; they do not
    depend on the model. Data-driven models need enough conversions, and enough paths without one.
    """
    date_range = query.resolve_range_or_default(caller)
    chosen = query.attribution_settings(caller)
    model = models.require_installed(chosen.model)
    refuse_touch_basis_for_data_driven_model(query, model)
    credit = credit_rule_or_last_touch_with_model_id(
        models, chosen, book_at_touch=query.books_at_touch, event_names=query.event_names
    )
    segment = await read_segment_conditions_by_relation(caller, query.segment_id, model, queries)
    report = RuleBasedAttribution(
        query.scope_with_requested_event_as_conversion(caller, date_range),
        without_data_driven_model_id(credit),
        SegmentAggregateReader(aggregate_reader, segment),
    )
    fitting = (
        DataDrivenAttribution(report, models, model, path_reader)
        if isinstance(model, DataDrivenModel)
        else None
    )
    grouping = GROUPINGS[query.group_by]
    totals, (groups, truncated), (channels, _) = await _query_totals_groups_and_channels(
        report, fitting, grouping, query.limit
    )
    currency = caller.workspace.currency
    return AttributionResponse(
        campaigns=list(_build_rows_with_traffic_and_credit(grouping, groups, currency)),
        channels=list(_build_rows_with_traffic_and_credit(_CHANNELS, channels, currency)),
        unattributed=CreditTotals.model_validate(
            totals.unattributed.to_conversions_and_revenue_fields(currency)
        ),
        totals=CreditAndTrafficTotals.model_validate(
            {
                "visitors": totals.visitors,
                "sessions": totals.sessions,
                **totals.all_credited.to_conversions_and_revenue_fields(currency),
            }
        ),
        attribution=chosen,
        group_by=query.group_by,
        basis=query.basis,
        refund_basis=query.refund_basis,
        truncated=truncated,
        currency=currency,
        range=RangeResponse.from_range(date_range),
        complete=_is_final(query, chosen, date_range)
        and await freshness.is_range_complete(caller.workspace, date_range),
    )


async def _query_totals_groups_and_channels(
    rule_based: RuleBasedAttribution,
    data_driven: DataDrivenAttribution | None,
    grouping: Grouping,
    limit: int,
) -> tuple[AttributionTotals, _GroupPage, _GroupPage]:
    """Returns the totals, the groups and the channels; a data-driven model splits the totals."""
    if data_driven is None:
        return await gather_or_cancel(
            rule_based.query_attributed_and_unattributed_totals(),
            rule_based.query_top_groups_by_revenue_and_if_cut(grouping, limit),
            rule_based.query_top_groups_by_revenue_and_if_cut(_CHANNELS),
        )
    totals = await rule_based.query_attributed_and_unattributed_totals()
    groups, channels = await gather_or_cancel(
        data_driven.split_totals_into_top_groups_by_revenue(grouping, totals, limit),
        data_driven.split_totals_into_top_groups_by_revenue(_CHANNELS, totals),
    )
    return totals, groups, channels


def refuse_touch_basis_for_data_driven_model(query: AttributionQuery, model: AttributionModel) -> None:
    """Checks that credit of a data-driven model is not booked by touch.

    Raises:
        BadRequest: ``invalid_parameter``.
    """
    if query.books_at_touch and isinstance(model, DataDrivenModel):
        raise BadRequest(
            f"{model.label} credits groups, not single touches: basis must be conversion",
            "invalid_parameter",
            field="basis",
        )


def _is_final(query: AttributionQuery, settings: AttributionSettings, date_range: ResolvedRange) -> bool:
    """Whether no later conversion can still be credited to a touch of the range."""
    return not query.books_at_touch or date_range.span.end + settings.window <= date_range.now


def _build_rows_with_traffic_and_credit(
    grouping: Grouping, groups: Iterable[CreditedGroup], currency: str
) -> Iterable[AttributionRow]:
    for group in groups:
        yield grouping.row_model.model_validate(
            {
                **grouping.key_fields(group.key),
                "visitors": group.visitors,
                "sessions": group.sessions,
                **group.amounts.to_conversions_and_revenue_fields(currency),
                **group.amounts.conversion_rate_and_revenue_per_visitor(group.visitors, currency),
            }
        )


OPERATIONS = (get_attribution,)
