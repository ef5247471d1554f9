"""`GET /rules/deliveries`: what became of the conversions of each rule."""

from collections import defaultdict
from typing import ClassVar, Literal
from uuid import UUID

from pydantic import Field

from service_core.access.models import Caller
from service_core.analytics.postbacks.ports import SENT, PostbackReader, RulePostbackCount
from service_core.analytics.range_query import RangeQuery, resolve_last_30_days
from service_core.kernel.date_range import RangeResponse
from service_core.kernel.operations import operation
from service_core.kernel.row_selection import RowSelection
from service_core.kernel.schemas import ResponseModel
from service_core.kernel.time_ranges import ResolvedRange

FAILED = "failed"
SKIPPED = "skipped"


class RuleDeliveriesQuery(RowSelection, RangeQuery):
    """Parameters of `GET /rules/deliveries`; the default range is the last 30 days."""

    required_params: ClassVar = ()

    def default_range(self, caller: Caller) -> ResolvedRange:
        """Returns the last 30 local days."""
        return resolve_last_30_days(caller)


class DeliveryReason(ResponseModel):
    """Why conversions of a rule were not accepted."""

    status: Literal["failed", "skipped"]
    reason: str | None = Field(
        description="Why it was skipped, such as `duplicate` or `no_match_key`, or the error code of the platform."
    )
    count: int


class RuleDeliveryCounts(ResponseModel):
    """Finished conversions of one rule, without tests; each counts when it became final."""

    rule_id: UUID
    sent: int = Field(description="Accepted by the platform.")
    failed: int = Field(description="Given up after the last attempt.")
    skipped: int = Field(description="Not sent, for one of the reasons.")
    reasons: list[DeliveryReason] = Field(description="Most frequent first.")


class RuleDeliveries(ResponseModel):
    """Deliveries of rules that have some in the range, also of rules that were deleted since."""

    rules: list[RuleDeliveryCounts]
    range: RangeResponse


@operation("GET /rules/deliveries", tag="rules", tool="list_rule_deliveries", errors=(503,))
async def list_rule_deliveries(
    query: RuleDeliveriesQuery, *, caller: Caller, postbacks: PostbackReader
) -> RuleDeliveries:
    """Returns how many conversions each rule sent, failed to send and skipped, and why.

    A rule without finished conversions in the range is left out.
    """
    date_range = query.resolve_range_or_default(caller)
    counts = await postbacks.count_final_postbacks_by_rule(caller.workspace.id, date_range.span)
    by_rule: dict[UUID, list[RulePostbackCount]] = defaultdict(list)
    for count in counts:
        by_rule[count.rule_id].append(count)
    return RuleDeliveries(
        rules=[_sum_counts_by_status_and_reason(rule_id, by_rule[rule_id]) for rule_id in sorted(by_rule)],
        range=RangeResponse.from_range(date_range),
    )


def _sum_counts_by_status_and_reason(rule_id: UUID, counts: list[RulePostbackCount]) -> RuleDeliveryCounts:
    totals: dict[str, int] = defaultdict(int)
    for count in counts:
        totals[count.status] += count.count
    unsent = [count for count in counts if count.status in (FAILED, SKIPPED)]
    unsent.sort(key=lambda count: (-count.count, count.status, count.reason or ""))
    return RuleDeliveryCounts(
        rule_id=rule_id,
        sent=totals[SENT],
        failed=totals[FAILED],
        skipped=totals[SKIPPED],
        reasons=[
            DeliveryReason(
                status="failed" if count.status == FAILED else "skipped",
                reason=count.reason,
                count=count.count,
            )
            for count in unsent
        ],
    )


OPERATIONS = (list_rule_deliveries,)
