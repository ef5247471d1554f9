"""Response models of persons."""

from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any

from pydantic import Field

from service_core.analytics.people.ports import Person, Touch
from service_core.analytics.rounding import to_decimal_amount
from service_core.kernel.null_reasons import WITHOUT_RATE
from service_core.kernel.schemas import ResponseModel


class UserRow(ResponseModel):
    """One person.

    Counts, money and ``last_seen`` cover the range; ``first_seen`` is the first event ever, the
    attribution is that of the first touch, device and location are the latest.
    """

    user_id: str | None
    visitor_id: str
    visitor_ids: list[str] = Field(description="The first 1000, by code point.")
    email: str | None
    name: str | None
    first_seen: datetime
    last_seen: datetime | None
    sessions: int
    pageviews: int
    events: int
    conversions: int
    revenue: Annotated[Decimal | None, WITHOUT_RATE]
    currency: str
    attribution_source: str | None
    utm_source: str | None
    utm_medium: str | None
    utm_campaign: str | None
    country: str | None
    region: str | None
    city: str | None
    device_type: str | None
    browser: str | None
    os: str | None


class TouchResponse(ResponseModel):
    """A touch of a person."""

    source: str | None
    medium: str | None
    campaign: str | None
    term: str | None
    content: str | None
    channel: str
    click_id: str | None
    click_id_type: str | None
    referrer: str | None
    landing_page: str | None
    lyr: str | None
    timestamp: datetime


class Lifetime(ResponseModel):
    """Totals of a person over all time."""

    revenue: Annotated[Decimal | None, WITHOUT_RATE]
    orders: int
    conversions: int
    sessions: int
    events: int


class UserDetail(UserRow):
    """One person with ids, traits and touches over all time."""

    traits: dict[str, Any]
    external_ids: dict[str, str]
    anonymous_ids: list[str] = Field(description="The first 1000, by code point.")
    first_touch: TouchResponse | None
    last_touch: TouchResponse | None
    lifetime: Lifetime


def user_row_fields_from_first_touch(person: Person, currency: str) -> Mapping[str, Any]:
    """Returns the fields of a `UserRow`."""
    touch = person.first_touch
    return {
        **{
            name: getattr(person, name)
            for name in (
                "user_id", "visitor_id", "visitor_ids", "email", "name", "first_seen", "last_seen",
                "sessions", "pageviews", "events", "conversions",
            )
        },
        "revenue": compute_person_revenue(person, currency),
        "currency": currency,
        "attribution_source": touch.source if touch else None,
        "utm_source": touch.utm_source if touch else None,
        "utm_medium": touch.utm_medium if touch else None,
        "utm_campaign": touch.campaign if touch else None,
        **asdict(person.latest_location_and_device),
    }  # fmt: skip


def user_row_fields_without_activity(lifetime: Person, currency: str) -> Mapping[str, Any]:
    """Returns the fields of a `UserRow` for a person without an event in the range."""
    zero_counts = dict.fromkeys(("sessions", "pageviews", "events", "conversions"), 0)
    return {
        **user_row_fields_from_first_touch(lifetime, currency),
        **zero_counts,
        "revenue": Decimal(0),
        "last_seen": None,
    }


def compute_person_revenue(person: Person, currency: str) -> Decimal | None:
    """Returns the revenue of a person; None if some of it is in another currency."""
    return None if person.foreign_money else to_decimal_amount(person.revenue, currency)


def build_touch_response(touch: Touch | None) -> TouchResponse | None:
    """Returns the response model of a touch."""
    if touch is None:
        return None
    return TouchResponse.model_validate({name: getattr(touch, name) for name in TouchResponse.model_fields})
