"""Response models of a person's sessions and conversions."""

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from typing import Annotated, Final

from service_core.analytics.attribution.credit_shares import (
    MILLION,
    PathTouch,
    compute_credit_share_per_touch,
)
from service_core.analytics.attribution.models import AttributionSettings
from service_core.analytics.people.ports import ConversionPath, PersonSession
from service_core.analytics.ports import CreditRule
from service_core.analytics.postbacks.ports import PostbackSummary
from service_core.analytics.rounding import round_seconds, to_decimal_amount
from service_core.kernel.money import allocate_by_largest_remainder
from service_core.kernel.null_reasons import KNOWN_NULL, WITHOUT_RATE
from service_core.kernel.schemas import ResponseModel

MAX_ACTIVITY_ITEMS: Final = 200
"""Maximum number of sessions, of conversions, and of touches per conversion in one answer."""

_DIRECT: Final = "direct"


class SessionResponse(ResponseModel):
    """One session. Source, device and location are those of its first event."""

    session_id: str
    visitor_id: str
    started_at: datetime
    ended_at: datetime
    duration_seconds: Annotated[Decimal | None, KNOWN_NULL]
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
    revenue: Annotated[Decimal | None, WITHOUT_RATE]


class CreditedTouch(ResponseModel):
    """A touch in the path of a conversion, and its share."""

    timestamp: datetime
    source: str | None
    medium: str | None
    campaign: str | None
    channel: str
    weight: Decimal


class ConversionAttribution(ResponseModel):
    """The path of a conversion under a model."""

    model: str
    window_days: int
    touches: list[CreditedTouch]


class PostbackResponse(ResponseModel):
    """A conversion as sent to an ad platform."""

    rule_id: str
    platform: str
    status: str
    sent_at: datetime | None


class ConversionResponse(ResponseModel):
    """One conversion; its amount is as sent, ``source`` is the transport."""

    event_id: str
    event_name: str
    timestamp: datetime
    revenue: Annotated[Decimal | None, KNOWN_NULL]
    currency: str | None
    order_id: str | None
    session_id: str
    source: str
    attribution: ConversionAttribution
    postbacks: list[PostbackResponse]


def build_session_hiding_mixed_revenue(session: PersonSession, currency: str) -> SessionResponse:
    """Returns a session; without revenue if it has money in another currency."""
    first = session.first_event
    return SessionResponse(
        session_id=first.session_id,
        visitor_id=first.visitor_id,
        started_at=first.timestamp,
        ended_at=session.ended_at,
        duration_seconds=round_seconds((session.ended_at - first.timestamp).total_seconds()),
        pageviews=session.pageviews,
        events=session.events,
        landing_page=first.landing_page,
        exit_page=session.exit_page,
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
        revenue=None if session.foreign_money else to_decimal_amount(session.revenue, currency),
    )


def build_conversion_with_touch_weights(
    conversion: ConversionPath,
    rule: CreditRule,
    settings: AttributionSettings,
    postbacks: Sequence[PostbackSummary] = (),
) -> ConversionResponse:
    """Returns a conversion with its postbacks and every touch in the window, ignored touches included."""
    event, path = conversion.event, conversion.path
    steps = [PathTouch(touch.timestamp, is_direct=touch.channel == _DIRECT) for touch in path]
    weights = (
        allocate_by_largest_remainder(MILLION, compute_credit_share_per_touch(rule, steps, event.timestamp))
        if path
        else []
    )
    return ConversionResponse(
        event_id=event.event_id,
        event_name=event.event_name,
        timestamp=event.timestamp,
        revenue=to_decimal_amount(event.revenue, event.currency) if event.currency else None,
        currency=event.currency,
        order_id=event.order_id,
        session_id=event.session_id,
        source=event.source,
        attribution=ConversionAttribution(
            model=settings.model,
            window_days=settings.window_days,
            touches=[
                CreditedTouch(
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
            PostbackResponse(
                rule_id=str(postback.rule_id),
                platform=postback.platform,
                status=postback.status,
                sent_at=postback.sent_at,
            )
            for postback in postbacks
        ],
    )
