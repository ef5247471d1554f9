"""`GET /subscriptions`: subscriptions of a time range and their summary."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Annotated, Final

from pydantic import Field

from service_core.access.models import Caller
from service_core.analytics.people.ports import PersonFirstTouch, PersonReader
from service_core.analytics.query.metric_queries import MetricQueries
from service_core.commerce.subscriptions.lifecycle import (
    LifecycleState,
    LifecycleStatus,
    monthly_price_if_known,
)
from service_core.commerce.subscriptions.models import SubscriptionState, SubscriptionStatus
from service_core.commerce.subscriptions.ports import SubscriptionPage, SubscriptionStore
from service_core.commerce.subscriptions.schemas import SubscriptionRow, SubscriptionsResponse
from service_core.commerce.subscriptions.summary import SUMMARY_METRICS, SubscriptionSummaryQuery
from service_core.kernel.as_of_request import AsOfRequest
from service_core.kernel.async_gather import gather_or_cancel
from service_core.kernel.date_range import DateRange, RangeResponse, parse_inclusive_start_end_dates
from service_core.kernel.money import to_major
from service_core.kernel.operations import operation
from service_core.kernel.paging import (
    OffsetCursor,
    cursor_scope_digest,
    decode_offset_cursor,
    encode_offset_cursor,
)
from service_core.kernel.row_selection import RowSelection
from service_core.kernel.schemas import Clamp
from service_core.kernel.time_ranges import ResolvedRange

_PERSON_ID_FIELDS: Final = ("user_id", "visitor_id")
"""Ids a person is found by, the first known one: a device may change hands, a user id does not."""

_UNKNOWN_ORIGIN: Final = PersonFirstTouch(None, None)


class SubscriptionsQuery(AsOfRequest, RowSelection):
    """Parameters of `GET /subscriptions`; without a range, the last 30 days."""

    start_date: str | None = Field(default=None, description="Start, inclusive; goes with `end_date`.")
    end_date: str | None = Field(default=None, description="End, inclusive.")
    provider: str | None = Field(default=None, description="Subscriptions of one provider.")
    status: SubscriptionStatus | None = Field(
        default=None, description="Lists those that stood so at the end of the range; the summary is of all."
    )
    limit: Annotated[int, Clamp(1, 200)] = 50
    cursor: str | None = Field(default=None, description="`next_cursor` of the page before.")

    def resolve_range_or_last_30_days(self, caller: Caller) -> ResolvedRange:
        """The range, or the last 30 days.

        Raises:
            BadRequest: one date without the other, one that does not parse, or the start after the end.
        """
        if self.start_date is None and self.end_date is None:
            return DateRange(preset="last_30_days").resolve(caller.workspace.zone, caller.now, None)
        return parse_inclusive_start_end_dates(
            self.start_date, self.end_date, caller.workspace.zone, caller.now
        )

    def cursor_binding(self, caller: Caller) -> bytes:
        """Returns the parameters a cursor is bound to."""
        sent = self.cursor_parameters()
        return cursor_scope_digest(caller.workspace.secret, "subscriptions", str(caller.workspace.id), sent)


@operation("GET /subscriptions", tag="marketing")
async def get_subscriptions(
    query: SubscriptionsQuery,
    *,
    caller: Caller,
    queries: MetricQueries,
    store: SubscriptionStore,
    people: PersonReader,
) -> SubscriptionsResponse:
    """Subscriptions alive at any time in the range, and what all of them come to at its end.

    What is known of a subscription begins with the first message that names its price. Null is what is not
    known; `unavailable` says why.
    """
    cursor = (
        decode_offset_cursor(query.cursor, query.cursor_binding(caller))
        if query.cursor
        else OffsetCursor(0, caller.now)
    )
    caller = replace(caller, now=cursor.first_requested_at)
    date_range = query.resolve_range_or_last_30_days(caller)
    end = min(date_range.span.end, caller.now + datetime.resolution)
    page = SubscriptionPage(
        caller.workspace.id,
        date_range.span.start,
        end,
        query.limit + 1,
        cursor.offset,
        query.provider,
        query.status,
    )
    snapshot = await queries.read_source_states_once(caller, SUMMARY_METRICS)
    subscriptions, (summary, unavailable) = await gather_or_cancel(
        store.list_subscriptions(page),
        SubscriptionSummaryQuery(queries, snapshot, store, caller, date_range, query.provider).read_summary(
            end
        ),
    )
    listed = subscriptions[: query.limit]
    origins = await people.first_touches_of_seen_ids(
        caller.workspace.id, {id_ for lifecycle in listed for id_ in _person_ids(lifecycle.state)}
    )
    following = OffsetCursor(cursor.offset + len(listed), cursor.first_requested_at)
    return SubscriptionsResponse(
        summary=summary,
        subscriptions=_render_rows_with_first_touches(listed, origins),
        next_cursor=encode_offset_cursor(following, query.cursor_binding(caller))
        if len(subscriptions) > len(listed)
        else None,
        currency=caller.workspace.currency,
        unavailable=unavailable,
        range=RangeResponse.from_range(date_range),
        complete=snapshot.is_complete_without_failed_source(
            date_range, SUMMARY_METRICS, {"provider": query.provider}
        ),
    )


def _person_ids(state: SubscriptionState) -> list[str]:
    """Returns the user id and the visitor id of the subscriber, if known, in this order."""
    identity = dict(state.identity)
    return [identity[name] for name in _PERSON_ID_FIELDS if identity.get(name)]


def _render_rows_with_first_touches(
    states: Sequence[LifecycleState], first_touch_by_person_id: Mapping[str, PersonFirstTouch]
) -> list[SubscriptionRow]:
    known = (
        (
            lifecycle,
            [
                first_touch_by_person_id[id_]
                for id_ in _person_ids(lifecycle.state)
                if id_ in first_touch_by_person_id
            ],
        )
        for lifecycle in states
    )
    return [
        _render_row(lifecycle, touches[0] if touches else _UNKNOWN_ORIGIN) for lifecycle, touches in known
    ]


def _render_row(lifecycle: LifecycleState, first_touch: PersonFirstTouch) -> SubscriptionRow:
    state, touch = lifecycle.state, first_touch.first_touch
    fields = {name: getattr(state, name) for name in SubscriptionRow.model_fields if hasattr(state, name)}
    return SubscriptionRow.model_validate(
        {
            **fields,
            "id": state.subscription_id,
            "status": lifecycle.reported_or_expired_status,
            "amount": _major_units(state, None if state.amount is None else state.amount * state.quantity),
            "interval": _render_interval(state),
            "mrr": _render_mrr_or_none_if_unknown(lifecycle),
            "user_id": first_touch.user_id,
            "attribution_source": touch.source if touch else None,
            "utm_campaign": touch.campaign if touch else None,
        }
    )


def _render_mrr_or_none_if_unknown(lifecycle: LifecycleState) -> float | None:
    """Returns the MRR in major units; None while it is alive and its price is unknown."""
    is_unknown = (
        monthly_price_if_known(lifecycle.state) is None
        and lifecycle.lifecycle_status is not LifecycleStatus.ENDED
    )
    return None if is_unknown else _major_units(lifecycle.state, round(lifecycle.mrr))


def _major_units(state: SubscriptionState, units: int | None) -> float | None:
    return None if units is None or state.currency is None else float(to_major(units, state.currency))


def _render_interval(state: SubscriptionState) -> str | None:
    if state.interval is None or state.interval_count == 1:
        return state.interval
    return f"{state.interval_count} {state.interval}s"


OPERATIONS = (get_subscriptions,)
