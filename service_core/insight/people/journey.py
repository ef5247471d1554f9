"""What a person did: sessions and conversions from their events (contract 3.9)."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Final

from service_core.insight.attribution.model import Attribution
from service_core.insight.attribution.weigh import MILLION, Step, weigh
from service_core.insight.conversions import converts, standard
from service_core.insight.orders import CHARGE, movement, without_repeats
from service_core.insight.ports import ConversionSet, Credit, Touch
from service_core.insight.rounding import money, seconds
from service_core.intake.model import PAGE_VIEWS, Event
from service_core.kernel.money import split
from service_core.kernel.params import Answer

MOST: Final = 200
"""Sessions, and conversions, of one answer."""

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


def sessions(events: Sequence[Event], currency: str) -> list[SessionAnswer]:
    """The sessions of a person, newest first.

    Args:
        events: oldest first.
        currency: of the money shown; a session with money in another one shows none.
    """
    found: dict[tuple[str, str], list[Event]] = defaultdict(list)
    for event in events:
        found[event.visitor_id, event.session_id].append(event)
    paid = {event.seq for event in _charges(events)}
    newest = sorted(found.values(), key=lambda session: session[0].timestamp, reverse=True)
    return [_session(session, paid, currency) for session in newest[:MOST]]


def _charges(events: Iterable[Event]) -> list[Event]:
    return without_repeats((e for e in events if movement(e) == CHARGE), lambda e: e.order_id)


def _session(events: Sequence[Event], paid: set[int], currency: str) -> SessionAnswer:
    first, last = events[0], events[-1]
    pages = [event for event in events if event.event_name in PAGE_VIEWS]
    charges = [event for event in events if event.seq in paid]
    foreign = any(event.currency != currency for event in charges if event.revenue)
    return SessionAnswer(
        session_id=first.session_id,
        visitor_id=first.visitor_id,
        started_at=first.timestamp,
        ended_at=last.timestamp,
        duration_seconds=seconds((last.timestamp - first.timestamp).total_seconds()),
        pageviews=len(pages),
        events=len(events),
        landing_page=first.landing_page,
        exit_page=pages[-1].page_path if pages else None,
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
        revenue=None if foreign else money(sum(event.revenue or 0 for event in charges), currency),
    )


def conversions(events: Sequence[Event], which: ConversionSet) -> list[Event]:
    """The conversions of a person, newest first, repeats of an order left out.

    Args:
        events: oldest first; those of the 7 days before the range tell what repeats an earlier order.
        which: what converts.
    """
    kept = without_repeats((event for event in events if converts(event, which)), _of_order)
    return kept[::-1]


def _of_order(event: Event) -> tuple[str, str] | None:
    return None if event.order_id is None else (standard(event.event_name), event.order_id)


def conversion_of(
    event: Event, touches: Sequence[Touch], credit: Credit, chosen: Attribution
) -> ConversionAnswer:
    """A conversion with its path: every touch in the window, passed over or not."""
    path = [
        touch for touch in touches if event.timestamp - credit.window <= touch.timestamp <= event.timestamp
    ]
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
        postbacks=[],
    )
