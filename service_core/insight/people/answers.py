"""Persons as answers show them (contract 3.8, 3.9)."""

from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from decimal import Decimal
from typing import Any

from pydantic import Field

from service_core.insight.people.ports import Person, Touch
from service_core.insight.rounding import money
from service_core.kernel.params import Answer


class UserRow(Answer):
    """One person.

    Counts, money and ``last_seen`` cover the range; ``first_seen`` is the first event ever, the
    attribution is that of the first touch, device and place are the latest.
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
    revenue: Decimal | None
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


class TouchAnswer(Answer):
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


class Lifetime(Answer):
    """A person over all time."""

    revenue: Decimal | None
    orders: int
    conversions: int
    sessions: int
    events: int


class UserDetail(UserRow):
    """One person with what is known of them over all time."""

    traits: dict[str, Any]
    external_ids: dict[str, str]
    anonymous_ids: list[str] = Field(description="The first 1000, by code point.")
    first_touch: TouchAnswer | None
    last_touch: TouchAnswer | None
    lifetime: Lifetime


def row_of(person: Person, currency: str) -> Mapping[str, Any]:
    """The fields of a `UserRow`."""
    touch = person.first_touch
    return {
        **{
            name: getattr(person, name)
            for name in (
                "user_id", "visitor_id", "visitor_ids", "email", "name", "first_seen", "last_seen",
                "sessions", "pageviews", "events", "conversions",
            )
        },
        "revenue": revenue_of(person, currency),
        "currency": currency,
        "attribution_source": touch.source if touch else None,
        "utm_source": touch.utm_source if touch else None,
        "utm_medium": touch.utm_medium if touch else None,
        "utm_campaign": touch.campaign if touch else None,
        **asdict(person.latest),
    }  # fmt: skip


def silent_row_of(ever: Person, currency: str) -> Mapping[str, Any]:
    """The fields of a `UserRow` for a person who did nothing in the range."""
    nothing = dict.fromkeys(("sessions", "pageviews", "events", "conversions"), 0)
    return {**row_of(ever, currency), **nothing, "revenue": Decimal(0), "last_seen": None}


def revenue_of(person: Person, currency: str) -> Decimal | None:
    """What a person paid; unknown when some of it is in another currency."""
    return None if person.foreign_money else money(person.revenue, currency)


def touch_of(touch: Touch | None) -> TouchAnswer | None:
    """A touch as an answer shows it."""
    if touch is None:
        return None
    return TouchAnswer.model_validate({name: getattr(touch, name) for name in TouchAnswer.model_fields})
