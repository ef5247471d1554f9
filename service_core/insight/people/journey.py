"""What a person did, as answers show it: sessions, and conversions with the touches before (contract 3.9)."""

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from typing import Final

from service_core.insight.attribution.model import Attribution
from service_core.insight.attribution.weigh import MILLION, Step, weigh
from service_core.insight.deliveries.ports import Delivered
from service_core.insight.people.ports import Converted, PersonSession
from service_core.insight.ports import Credit
from service_core.insight.rounding import money, seconds
from service_core.kernel.money import split
from service_core.kernel.params import Answer

MOST: Final = 200
"""Sessions, conversions, and touches of one conversion, of one answer."""

_DIRECT: Final = "direct"


class SessionAnswer(Answer):
    """One session. Source, device and place are those of its first event."""

    session_id: str
    visitor_id: str
    started_at: datetime
    ended_at: datetime
    duration_seconds: Decimal | None
    pageviews: int
    events: int
    landing_page: str | None
    exit_page: str | None
    referrer: str | None
    source: str | None
    medium: str | None
    campaign: str | None
    channel: str | None
    device_type: str | None
    browser: str | None
    os: str | None
    country: str | None
    city: str | None
    revenue: Decimal | None


class WeighedTouch(Answer):
    """A touch in the path of a conversion, and its share of it."""

    timestamp: datetime
    source: str | None
    medium: str | None
    campaign: str | None
    channel: str
    weight: Decimal


class ConversionAttribution(Answer):
    """The path of a conversion under a model."""

    model: str
    window_days: int
    touches: list[WeighedTouch]


class PostbackAnswer(Answer):
    """A conversion as it was sent to an ad platform."""

    rule_id: str
    platform: str
    status: str
    sent_at: datetime | None


class ConversionAnswer(Answer):
    """One conversion; its money is as sent, ``source`` is the transport."""

    event_id: str
    event_name: str
    timestamp: datetime
    revenue: Decimal | None
    currency: str | None
    order_id: str | None
    session_id: str
    source: str
    attribution: ConversionAttribution
    postbacks: list[PostbackAnswer]


def session_of(told: PersonSession, currency: str) -> SessionAnswer:
    """A session as an answer shows it; one with money in another currency shows none."""
    first = told.first
    return SessionAnswer(
        session_id=first.session_id,
        visitor_id=first.visitor_id,
        started_at=first.timestamp,
        ended_at=told.ended_at,
        duration_seconds=seconds((told.ended_at - first.timestamp).total_seconds()),
        pageviews=told.pageviews,
        events=told.events,
        landing_page=first.landing_page,
        exit_page=told.exit_page,
        referrer=first.referrer,
        source=first.attribution_source,
        medium=first.attribution_medium,
        campaign=first.utm_campaign,
        channel=first.channel,
        device_type=first.device_type,
        browser=first.browser,
        os=first.os,
        country=first.country,
        city=first.city,
        revenue=None if told.foreign_money else money(told.revenue, currency),
    )


def conversion_of(
    told: Converted, credit: Credit, chosen: Attribution, delivered: Sequence[Delivered] = ()
) -> ConversionAnswer:
    """A conversion with its path, every touch in the window, passed over or not; and where it was sent."""
    event, path = told.event, told.path
    steps = [Step(touch.timestamp, direct=touch.channel == _DIRECT) for touch in path]
    weights = split(MILLION, weigh(credit, steps, event.timestamp)) if path else []
    return ConversionAnswer(
        event_id=event.event_id,
        event_name=event.event_name,
        timestamp=event.timestamp,
        revenue=money(event.revenue, event.currency) if event.currency else None,
        currency=event.currency,
        order_id=event.order_id,
        session_id=event.session_id,
        source=event.source,
        attribution=ConversionAttribution(
            model=chosen.model,
            window_days=chosen.window_days,
            touches=[
                WeighedTouch(
                    timestamp=touch.timestamp,
                    source=touch.source,
                    medium=touch.medium,
                    campaign=touch.campaign,
                    channel=touch.channel,
                    weight=Decimal(weight) / MILLION,
                )
                for touch, weight in zip(path, weights, strict=True)
            ],
        ),
        postbacks=[
            PostbackAnswer(
                rule_id=str(one.rule_id), platform=one.platform, status=one.status, sent_at=one.sent_at
            )
            for one in delivered
        ],
    )
