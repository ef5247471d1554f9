"""`GET /users` and `GET /users/{userId}`."""

from collections.abc import Awaitable, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, Field, model_validator

from service_core.access.models import Caller
from service_core.analytics.attribution.models import AttributionModels, AttributionSettings
from service_core.analytics.attribution.resolve_model import credit_rule_for
from service_core.analytics.freshness import is_range_complete
from service_core.analytics.fx.convert import CurrencyConverter
from service_core.analytics.people.activity import (
    MAX_ACTIVITY_ITEMS,
    ConversionResponse,
    SessionResponse,
    build_conversion_response,
    build_session_response,
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
    build_inactive_user_row,
    build_touch_response,
    build_user_row,
    compute_person_revenue,
)
from service_core.analytics.ports import QueryScope
from service_core.analytics.postbacks.ports import PostbackReader
from service_core.analytics.range_query import RangeQuery
from service_core.analytics.scope import scope_for_caller
from service_core.ingestion.event_time import EARLIEST_EVENT_TIME
from service_core.ingestion.ports import IngestQueue
from service_core.kernel.date_range import RangeResponse
from service_core.kernel.errors import BadRequest, NotFound
from service_core.kernel.operations import operation
from service_core.kernel.schemas import Clamp, QueryModel, ResponseModel
from service_core.kernel.time_ranges import ResolvedRange, TimeRange

MAX_PAGE_END: Final = 5000
"""Maximum of offset plus limit."""

_DEFAULT_LIMIT: Final = 50


class UsersQuery(RangeQuery):
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
    sort: Literal["last_seen", "first_seen", "revenue", "events"] = "last_seen"

    @model_validator(mode="before")
    @classmethod
    def _within_the_window(cls, sent: Mapping[str, Any]) -> Mapping[str, Any]:
        """Rejects pages past the maximum by the numbers as sent, before they are clamped."""
        if int(sent.get("limit", _DEFAULT_LIMIT)) + int(sent.get("offset", 0)) > MAX_PAGE_END:
            raise BadRequest(
                f"offset plus limit must not exceed {MAX_PAGE_END}", "window_exceeded", field="offset"
            )
        return sent

    def people_query(self, caller: Caller, *, limit: int | None = None) -> PeoplePageQuery:
        """Returns the query of the page, or of a page with another length."""
        return PeoplePageQuery(
            scope=scope_for_caller(caller, self.resolve_range(caller).span, include_bots=self.include_bots),
            limit=limit or self.limit,
            offset=self.offset,
            sort=self.sort,
            search=self.search,
            identified=self.identified,
            utm_source=self.utm_source,
            utm_campaign=self.utm_campaign,
            country=self.country,
        )


class UserList(ResponseModel):
    """A page of persons."""

    users: list[UserRow]
    total_count: int
    has_more: bool
    limit: int
    offset: int
    currency: str
    range: RangeResponse
    complete: bool


class UserPath(BaseModel):
    """Path parameter of a person."""

    userId: str = Field(description="A user id, else a visitor or anonymous id.")  # noqa: N815 - as in the path


class UserQuery(QueryModel):
    """Parameters of `GET /users/{userId}`."""

    window_days: Annotated[int, Clamp(1, 365)] = Field(90, description="Days up to now.")
    include_bots: bool = Field(default=False, description="Count events of bots, too.")


class UserResponse(ResponseModel):
    """One person with the activity in the window; lists are newest first, at most 200 each.

    Of a conversion with more touches the latest 200 are weighed, of more ids 1000 are listed, and the answer is not
    complete.
    """

    user: UserDetail
    sessions: list[SessionResponse]
    conversions: list[ConversionResponse]
    window_days: int
    currency: str
    complete: bool


@operation("GET /users", tag="people", tool_title="People")
async def list_users(
    query: UsersQuery,
    *,
    caller: Caller,
    people: PersonReader,
    converter: CurrencyConverter,
    queue: IngestQueue,
) -> UserList:
    """Lists persons with an event in the range, one row each.

    A person is everything that linked ids did, on any device. ``offset`` plus ``limit`` is at most 5000.
    """
    people_query = query.people_query(caller)
    persons, total = await converter.run_converted(
        people_query.scope,
        lambda scope: people.list_people(replace(people_query, scope=scope)),
        lambda answer: any(person.foreign_money for person in answer[0]),
    )
    date_range, currency = query.resolve_range(caller), caller.workspace.currency
    return UserList(
        users=[UserRow.model_validate(build_user_row(person, currency)) for person in persons],
        total_count=total,
        has_more=query.offset + len(persons) < total,
        limit=query.limit,
        offset=query.offset,
        currency=currency,
        range=RangeResponse.from_range(date_range),
        complete=await is_range_complete(queue, date_range),
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
    queue: IngestQueue,
    postbacks: PostbackReader,
) -> UserResponse:
    """Returns one person: traits, sessions, and conversions with their touches.

    Touches are weighed by the default attribution of the workspace.
    """
    person = await people.find_person(caller.workspace.id, path.userId)
    if person is None:
        raise NotFound
    date_range = _resolve_activity_range(query, caller)
    scope = scope_for_caller(caller, date_range.span, include_bots=query.include_bots)
    chosen = AttributionSettings.workspace_default(caller.workspace)
    credit = credit_rule_for(models, chosen)
    activity = await _read_activity(
        PersonActivityQuery(scope, person, credit.window, MAX_ACTIVITY_ITEMS), activity_reader, converter
    )
    conversion_ids = [conversion.event.event_id for conversion in activity.conversions]
    sent = await postbacks.list_event_postbacks(caller.workspace.id, conversion_ids) if conversion_ids else {}
    detail = _build_user_detail(activity, scope.currency)
    ids = max(len(detail.visitor_ids), len(detail.anonymous_ids))
    is_whole = ids < MAX_ITEMS_PER_PERSON and not any(
        conversion.is_truncated for conversion in activity.conversions
    )
    return UserResponse(
        user=detail,
        sessions=[build_session_response(session, scope.currency) for session in activity.sessions],
        conversions=[
            build_conversion_response(conversion, credit, chosen, sent.get(conversion.event.event_id, ()))
            for conversion in activity.conversions
        ],
        window_days=query.window_days,
        currency=scope.currency,
        complete=is_whole and await is_range_complete(queue, date_range),
    )


async def _read_activity(
    plan: PersonActivityQuery, activity_reader: PersonActivityReader, converter: CurrencyConverter
) -> PersonActivity:
    """Returns the activity with money converted to the currency of the workspace, as far as rates exist."""

    def read_in_scope(scope: QueryScope) -> Awaitable[PersonActivity]:
        return activity_reader.read_activity(replace(plan, scope=replace(plan.scope, rates=scope.rates)))

    def has_foreign_money(activity: PersonActivity) -> bool:
        totals = (activity.in_range, activity.lifetime, *activity.sessions)
        return any(total is not None and total.foreign_money for total in totals)

    return await converter.run_converted(
        replace(plan.scope, span=TimeRange(EARLIEST_EVENT_TIME, plan.scope.span.end)),
        read_in_scope,
        has_foreign_money,
    )


def _resolve_activity_range(query: UserQuery, caller: Caller) -> ResolvedRange:
    """Returns the days up to now, inclusive."""
    span = TimeRange(caller.now - timedelta(days=query.window_days), caller.now + timedelta.resolution)
    return ResolvedRange(span, caller.workspace.zone, caller.now)


def _build_user_detail(journey: PersonActivity, currency: str) -> UserDetail:
    lifetime, profile = journey.lifetime, journey.profile
    if lifetime is None:
        raise NotFound
    fields = (
        build_user_row(journey.in_range, currency)
        if journey.in_range
        else build_inactive_user_row(lifetime, currency)
    )
    return UserDetail.model_validate(
        {
            **fields,
            "traits": dict(profile.traits),
            "external_ids": dict(profile.external_ids),
            "anonymous_ids": list(profile.anonymous_ids),
            "first_touch": build_touch_response(lifetime.first_touch),
            "last_touch": build_touch_response(journey.last_touch),
            "lifetime": _build_lifetime(lifetime, currency),
        }
    )


def _build_lifetime(ever: Person, currency: str) -> Lifetime:
    return Lifetime(
        revenue=compute_person_revenue(ever, currency),
        orders=ever.orders,
        conversions=ever.conversions,
        sessions=ever.sessions,
        events=ever.events,
    )


OPERATIONS = (list_users, get_user)
