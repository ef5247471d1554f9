"""`GET /users` and `GET /users/{userId}` (contract 3.8, 3.9, semantics 5)."""

from collections.abc import Awaitable, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, Field, model_validator

from service_core.access.model import Caller
from service_core.insight.attribution.choose import credit_for
from service_core.insight.attribution.model import Attribution, Models
from service_core.insight.deliveries.ports import Deliveries
from service_core.insight.freshness import is_complete
from service_core.insight.fx.rated import Rated
from service_core.insight.people.answers import (
    Lifetime,
    UserDetail,
    UserRow,
    revenue_of,
    row_of,
    silent_row_of,
    touch_of,
)
from service_core.insight.people.journey import (
    MOST,
    ConversionAnswer,
    SessionAnswer,
    conversion_of,
    session_of,
)
from service_core.insight.people.ports import (
    MOST_OF_A_PERSON,
    Journey,
    JourneyPlan,
    Journeys,
    People,
    PeoplePage,
    Person,
)
from service_core.insight.ports import Scan
from service_core.insight.range_query import RangeQuery
from service_core.insight.scans import scan_of
from service_core.intake.event_time import EARLIEST
from service_core.intake.ports import IngestQueue
from service_core.kernel.date_range import RangeAnswer
from service_core.kernel.errors import BadRequest, NotFound
from service_core.kernel.operations import operation
from service_core.kernel.params import Answer, Clamp, QueryModel
from service_core.kernel.ranges import Range, Span

WINDOW: Final = 5000
"""Offset plus limit may reach this far (specification, Limits)."""

_DEFAULT_LIMIT: Final = 50


class UsersQuery(RangeQuery):
    """Parameters of `GET /users`."""

    limit: Annotated[int, Clamp(1, 1000)] = _DEFAULT_LIMIT
    offset: Annotated[int, Clamp(0, WINDOW)] = 0
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
        """Refuse what reaches past the window, by the numbers as sent: clamped ones never would."""
        if int(sent.get("limit", _DEFAULT_LIMIT)) + int(sent.get("offset", 0)) > WINDOW:
            raise BadRequest(f"offset plus limit must not exceed {WINDOW}", "window_exceeded", field="offset")
        return sent

    def page(self, who: Caller, *, limit: int | None = None) -> PeoplePage:
        """The plan of the page, or of one of another length."""
        return PeoplePage(
            scan=scan_of(who, self.asked(who).span, include_bots=self.include_bots),
            limit=limit or self.limit,
            offset=self.offset,
            sort=self.sort,
            search=self.search,
            identified=self.identified,
            utm_source=self.utm_source,
            utm_campaign=self.utm_campaign,
            country=self.country,
        )


class Users(Answer):
    """A page of persons."""

    users: list[UserRow]
    total_count: int
    has_more: bool
    limit: int
    offset: int
    currency: str
    range: RangeAnswer
    complete: bool


class UserPath(BaseModel):
    """Whom a path names."""

    userId: str = Field(description="A user id, else a visitor or anonymous id.")  # noqa: N815 - as in the path


class UserQuery(QueryModel):
    """Parameters of `GET /users/{userId}`."""

    window_days: Annotated[int, Clamp(1, 365)] = Field(90, description="Days up to now.")
    include_bots: bool = Field(default=False, description="Count events of bots, too.")


class User(Answer):
    """One person, with what they did in the window; lists are newest first, at most 200 each.

    Of a conversion with more touches the latest 200 are weighed, of more ids 1000 are told, and the answer is not
    complete.
    """

    user: UserDetail
    sessions: list[SessionAnswer]
    conversions: list[ConversionAnswer]
    window_days: int
    currency: str
    complete: bool


@operation("GET /users", tag="people")
async def list_users(
    query: UsersQuery, *, who: Caller, people: People, rated: Rated, queue: IngestQueue
) -> Users:
    """Persons with an event in the range, one row each.

    A person is everything that linked ids did, on any device. ``offset`` plus ``limit`` reaches to 5000.
    """
    page = query.page(who)
    found, total = await rated.ask(
        page.scan,
        lambda scan: people.people(replace(page, scan=scan)),
        lambda answer: any(person.foreign_money for person in answer[0]),
    )
    asked, currency = query.asked(who), who.workspace.currency
    return Users(
        users=[UserRow.model_validate(row_of(person, currency)) for person in found],
        total_count=total,
        has_more=query.offset + len(found) < total,
        limit=query.limit,
        offset=query.offset,
        currency=currency,
        range=RangeAnswer.of(asked),
        complete=await is_complete(queue, asked),
    )


@operation("GET /users/{userId}", tag="people")
async def get_user(
    query: UserQuery,
    path: UserPath,
    *,
    who: Caller,
    people: People,
    journeys: Journeys,
    rated: Rated,
    models: Models,
    queue: IngestQueue,
    deliveries: Deliveries,
) -> User:
    """One person: what is known of them, their sessions, and their conversions with the touches behind.

    Touches are weighed by the workspace's attribution default.
    """
    person = await people.resolve(who.workspace.id, path.userId)
    if person is None:
        raise NotFound
    asked = _window(query, who)
    scan = scan_of(who, asked.span, include_bots=query.include_bots)
    chosen = Attribution.usual(who.workspace)
    credit = credit_for(models, chosen)
    journey = await _journey(JourneyPlan(scan, person, credit.window, MOST), journeys, rated)
    converted = [one.event.event_id for one in journey.conversions]
    sent = await deliveries.deliveries(who.workspace.id, converted) if converted else {}
    detail = _detail(journey, scan.currency)
    ids = max(len(detail.visitor_ids), len(detail.anonymous_ids))
    whole = ids < MOST_OF_A_PERSON and not any(conversion.cut for conversion in journey.conversions)
    return User(
        user=detail,
        sessions=[session_of(session, scan.currency) for session in journey.sessions],
        conversions=[
            conversion_of(conversion, credit, chosen, sent.get(conversion.event.event_id, ()))
            for conversion in journey.conversions
        ],
        window_days=query.window_days,
        currency=scan.currency,
        complete=whole and await is_complete(queue, asked),
    )


async def _journey(plan: JourneyPlan, journeys: Journeys, rated: Rated) -> Journey:
    """The journey, with its money in the currency of the workspace as far as there are rates."""

    def asked(scan: Scan) -> Awaitable[Journey]:
        return journeys.journey(replace(plan, scan=replace(plan.scan, rates=scan.rates)))

    def lacks(journey: Journey) -> bool:
        told = (journey.now, journey.ever, *journey.sessions)
        return any(each is not None and each.foreign_money for each in told)

    return await rated.ask(replace(plan.scan, span=Span(EARLIEST, plan.scan.span.end)), asked, lacks)


def _window(query: UserQuery, who: Caller) -> Range:
    """The days up to now, which they include."""
    span = Span(who.now - timedelta(days=query.window_days), who.now + timedelta.resolution)
    return Range(span, who.workspace.zone, who.now)


def _detail(journey: Journey, currency: str) -> UserDetail:
    ever, profile = journey.ever, journey.profile
    if ever is None:
        raise NotFound
    fields = row_of(journey.now, currency) if journey.now else silent_row_of(ever, currency)
    return UserDetail.model_validate(
        {
            **fields,
            "traits": dict(profile.traits),
            "external_ids": dict(profile.external_ids),
            "anonymous_ids": list(profile.anonymous_ids),
            "first_touch": touch_of(ever.first_touch),
            "last_touch": touch_of(journey.last_touch),
            "lifetime": _lifetime(ever, currency),
        }
    )


def _lifetime(ever: Person, currency: str) -> Lifetime:
    return Lifetime(
        revenue=revenue_of(ever, currency),
        orders=ever.orders,
        conversions=ever.conversions,
        sessions=ever.sessions,
        events=ever.events,
    )


OPERATIONS = (list_users, get_user)
