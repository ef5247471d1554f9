"""`GET /users` and `GET /users/{userId}`."""

from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Annotated, Any, Final, Literal
from uuid import UUID

from pydantic import BaseModel, Field, model_validator

from service_core.access.models import Caller
from service_core.analytics.attribution.models import AttributionModels, AttributionSettings
from service_core.analytics.attribution.resolve_model import credit_rule_or_last_touch_with_model_id
from service_core.analytics.freshness import EventFreshness
from service_core.analytics.fx.convert import CurrencyConverter
from service_core.analytics.measures import Condition
from service_core.analytics.people.activity import (
    MAX_ACTIVITY_ITEMS,
    ConversionResponse,
    SessionResponse,
    build_conversion_with_touch_weights,
    build_session_hiding_mixed_revenue,
)
from service_core.analytics.people.ports import (
    MAX_ITEMS_PER_PERSON,
    PeoplePageQuery,
    Person,
    PersonActivity,
    PersonActivityQuery,
    PersonActivityReader,
    PersonReader,
)
from service_core.analytics.people.schemas import (
    Lifetime,
    UserDetail,
    UserRow,
    build_touch_response,
    compute_person_revenue,
    user_row_fields_from_first_touch,
    user_row_fields_without_activity,
)
from service_core.analytics.ports import QueryScope
from service_core.analytics.postbacks.ports import PostbackReader
from service_core.analytics.query.metric_queries import MetricQueries
from service_core.analytics.range_query import RangeQuery
from service_core.analytics.scope import scope_for_caller
from service_core.ingestion.event_time import EARLIEST_EVENT_TIME
from service_core.kernel.date_range import RangeResponse
from service_core.kernel.errors import BadRequest, NotFound
from service_core.kernel.null_reasons import NULL_FIELD_REASONS, ListsNullReasons, UnavailableMetric
from service_core.kernel.operations import operation
from service_core.kernel.row_selection import RowSelection
from service_core.kernel.schemas import Clamp, QueryModel
from service_core.kernel.time_ranges import ResolvedRange, TimeRange

MAX_PAGE_END: Final = 5000
"""Maximum of offset plus limit."""

_DEFAULT_LIMIT: Final = 50


class UsersQuery(RowSelection, RangeQuery):
    """Parameters of `GET /users`."""

    limit: Annotated[int, Clamp(1, 1000)] = _DEFAULT_LIMIT
    offset: Annotated[int, Clamp(0, MAX_PAGE_END)] = 0
    search: str | None = Field(
        default=None, description="Prefix of an e-mail address, user id or visitor id, without case."
    )
    identified: bool | None = Field(default=None, description="Only persons with, or without, a user id.")
    utm_source: str | None = Field(default=None, description="Exact, as the row shows it.")
    utm_campaign: str | None = Field(default=None, description="Exact, as the row shows it.")
    country: str | None = Field(default=None, description="Exact, as the row shows it.")
    segment_id: UUID | None = Field(
        default=None,
        description="A segment; lists persons with an event that meets its filters, and counts those events.",
    )
    sort: Literal["last_seen", "first_seen", "revenue", "events"] = "last_seen"

    @model_validator(mode="before")
    @classmethod
    def _refuse_page_end_over_5000(cls, raw_params: Mapping[str, Any]) -> Mapping[str, Any]:
        """Rejects pages past the maximum by the numbers as sent, before they are clamped."""
        if int(raw_params.get("limit", _DEFAULT_LIMIT)) + int(raw_params.get("offset", 0)) > MAX_PAGE_END:
            raise BadRequest(
                f"offset plus limit must not exceed {MAX_PAGE_END}", "window_exceeded", field="offset"
            )
        return raw_params

    def to_people_page_query(
        self, caller: Caller, segment: Sequence[Condition] = (), *, limit_override: int | None = None
    ) -> PeoplePageQuery:
        """Returns the query of the page, or of a page with another length.

        Args:
            caller: whose workspace is read.
            segment: the conditions of the segment.
            limit_override: the length of the page, if not that of the request.
        """
        return PeoplePageQuery(
            scope=scope_for_caller(
                caller,
                self.resolve_range_or_default(caller).span,
                filters=segment,
                include_bots=self.include_bots,
            ),
            limit=limit_override or self.limit,
            offset=self.offset,
            sort=self.sort,
            search=self.search,
            identified=self.identified,
            utm_source=self.utm_source,
            utm_campaign=self.utm_campaign,
            country=self.country,
        )


class UserList(ListsNullReasons):
    """A page of persons."""

    users: list[UserRow]
    total_count: int
    has_more: bool
    limit: int
    offset: int
    currency: str
    unavailable: list[UnavailableMetric] = NULL_FIELD_REASONS
    range: RangeResponse
    complete: bool


class UserPath(BaseModel):
    """Path parameter of a person."""

    userId: str = Field(description="A user id, else a visitor or anonymous id.")  # noqa: N815 - as in the path


class UserQuery(QueryModel):
    """Parameters of `GET /users/{userId}`."""

    window_days: Annotated[int, Clamp(1, 365)] = Field(90, description="Days up to now.")
    include_bots: bool = Field(default=False, description="Count events of bots, too.")


class UserResponse(ListsNullReasons):
    """One person with the activity in the window; lists are newest first, at most 200 each.

    Of a conversion with more touches the latest 200 are weighed, of more ids 1000 are listed, and the answer is not
    complete.
    """

    user: UserDetail
    sessions: list[SessionResponse]
    conversions: list[ConversionResponse]
    window_days: int
    currency: str
    unavailable: list[UnavailableMetric] = NULL_FIELD_REASONS
    complete: bool


@operation("GET /users", tag="people", tool_title="People")
async def list_users(
    query: UsersQuery,
    *,
    caller: Caller,
    people: PersonReader,
    converter: CurrencyConverter,
    freshness: EventFreshness,
    queries: MetricQueries,
) -> UserList:
    """Lists persons with an event in the range, one row each.

    A person is everything that linked ids did, on any device. ``offset`` plus ``limit`` is at most 5000.
    """
    segment = await queries.read_segment_event_conditions(caller, query.segment_id)
    people_query = query.to_people_page_query(caller, segment)
    persons, total = await converter.run_and_repeat_with_missing_rates(
        people_query.scope,
        lambda scope: people.list_people_and_total(replace(people_query, scope=scope)),
        lambda answer: any(person.foreign_money for person in answer[0]),
    )
    date_range, currency = query.resolve_range_or_default(caller), caller.workspace.currency
    return UserList(
        users=[
            UserRow.model_validate(user_row_fields_from_first_touch(person, currency)) for person in persons
        ],
        total_count=total,
        has_more=query.offset + len(persons) < total,
        limit=query.limit,
        offset=query.offset,
        currency=currency,
        range=RangeResponse.from_range(date_range),
        complete=await freshness.is_range_complete(caller.workspace, date_range),
    )


@operation("GET /users/{userId}", tag="people", tool_title="Person")
async def get_user(
    query: UserQuery,
    path: UserPath,
    *,
    caller: Caller,
    people: PersonReader,
    activity_reader: PersonActivityReader,
    converter: CurrencyConverter,
    models: AttributionModels,
    freshness: EventFreshness,
    postbacks: PostbackReader,
) -> UserResponse:
    """Returns one person: traits, sessions, and conversions with their touches.

    Touches are weighed by the default attribution of the workspace.
    """
    person = await people.find_person_of_any_id(caller.workspace.id, path.userId)
    if person is None:
        raise NotFound
    date_range = _resolve_activity_range(query, caller)
    scope = scope_for_caller(caller, date_range.span, include_bots=query.include_bots)
    chosen = AttributionSettings.workspace_default(caller.workspace)
    credit = credit_rule_or_last_touch_with_model_id(models, chosen)
    activity = await _read_activity_with_converted_money(
        PersonActivityQuery(scope, person, credit.window, MAX_ACTIVITY_ITEMS), activity_reader, converter
    )
    conversion_ids = [conversion.event.event_id for conversion in activity.conversions]
    sent = (
        await postbacks.list_postbacks_by_event(caller.workspace.id, conversion_ids) if conversion_ids else {}
    )
    detail = _build_user_detail_or_not_found(activity, scope.currency)
    ids = max(len(detail.visitor_ids), len(detail.anonymous_ids))
    is_whole = ids < MAX_ITEMS_PER_PERSON and not any(
        conversion.is_truncated for conversion in activity.conversions
    )
    return UserResponse(
        user=detail,
        sessions=[
            build_session_hiding_mixed_revenue(session, scope.currency) for session in activity.sessions
        ],
        conversions=[
            build_conversion_with_touch_weights(
                conversion, credit, chosen, sent.get(conversion.event.event_id, ())
            )
            for conversion in activity.conversions
        ],
        window_days=query.window_days,
        currency=scope.currency,
        complete=is_whole and await freshness.is_range_complete(caller.workspace, date_range),
    )


async def _read_activity_with_converted_money(
    query: PersonActivityQuery, activity_reader: PersonActivityReader, converter: CurrencyConverter
) -> PersonActivity:
    """Returns the activity with money converted to the currency of the workspace, as far as rates exist."""

    def read_in_scope(scope: QueryScope) -> Awaitable[PersonActivity]:
        return activity_reader.read_activity(replace(query, scope=replace(query.scope, rates=scope.rates)))

    def has_foreign_money(activity: PersonActivity) -> bool:
        totals = (activity.in_range, activity.lifetime, *activity.sessions)
        return any(total is not None and total.foreign_money for total in totals)

    return await converter.run_and_repeat_with_missing_rates(
        replace(query.scope, span=TimeRange(EARLIEST_EVENT_TIME, query.scope.span.end)),
        read_in_scope,
        has_foreign_money,
    )


def _resolve_activity_range(query: UserQuery, caller: Caller) -> ResolvedRange:
    """Returns the days up to now, inclusive."""
    span = TimeRange(caller.now - timedelta(days=query.window_days), caller.now + timedelta.resolution)
    return ResolvedRange(span, caller.workspace.zone, caller.now)


def _build_user_detail_or_not_found(activity: PersonActivity, currency: str) -> UserDetail:
    lifetime, profile = activity.lifetime, activity.profile
    if lifetime is None:
        raise NotFound
    fields = (
        user_row_fields_from_first_touch(activity.in_range, currency)
        if activity.in_range
        else user_row_fields_without_activity(lifetime, currency)
    )
    return UserDetail.model_validate(
        {
            **fields,
            "traits": dict(profile.traits),
            "external_ids": dict(profile.external_ids),
            "anonymous_ids": list(profile.anonymous_ids),
            "first_touch": build_touch_response(lifetime.first_touch),
            "last_touch": build_touch_response(activity.last_touch),
            "lifetime": _build_lifetime_totals(lifetime, currency),
        }
    )


def _build_lifetime_totals(person_over_all_time: Person, currency: str) -> Lifetime:
    return Lifetime(
        revenue=compute_person_revenue(person_over_all_time, currency),
        orders=person_over_all_time.orders,
        conversions=person_over_all_time.conversions,
        sessions=person_over_all_time.sessions,
        events=person_over_all_time.events,
    )


OPERATIONS = (list_users, get_user)
