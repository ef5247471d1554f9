"""Traffic, engagement and conversion: metrics from events alone (semantics 17)."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from service_core.insight import event_names
from service_core.insight.catalog import Additivity, Metric, MetricUnit
from service_core.insight.dimensions import EVENT, NEWNESS, SESSION, VISIT
from service_core.insight.measures import (
    DailyMean,
    Leaf,
    Op,
    Predicate,
    Ratio,
    Relation,
    count,
    distinct,
    total,
)
from service_core.intake.model import PAGE_VIEWS

_OF_SESSIONS: Final = (*SESSION, *VISIT, *NEWNESS)
_OF_EVENTS: Final = (*SESSION, *EVENT, *VISIT, *NEWNESS)


def _named(names: Iterable[str]) -> Predicate:
    return Predicate("event_name", Op.IN, tuple(sorted(names)))


VISITORS: Final = distinct("visitor_id", Relation.EVENTS)
CONVERSIONS: Final = count(Relation.CONVERSIONS)
_VIEWED: Final = Predicate("pageviews", Op.GTE, 1)
_SEEN: Final = count(Relation.SESSIONS, _VIEWED)
"""Sessions with a page view: what engagement is measured over (semantics 6.5)."""

_DAILY: Final = Leaf(Relation.EVENTS, "person", distinct=True, trailing_days=1)
_MONTHLY: Final = Leaf(Relation.EVENTS, "person", distinct=True, trailing_days=30)
_WITH_CART: Final = count(Relation.SESSIONS, Predicate("has_cart", value=True))


def _counted(id_: str, label: str, measure: Leaf, text: str, category: str = "traffic") -> Metric:
    dimensions = _OF_SESSIONS if measure.of is Relation.SESSIONS else _OF_EVENTS
    additivity = Additivity.DISTINCT if measure.distinct else Additivity.ADDITIVE
    return Metric(id_, label, MetricUnit.COUNT, category, additivity, measure, dimensions, text)


def _rate(id_: str, label: str, measure: Ratio, text: str, category: str = "engagement") -> Metric:
    return Metric(
        id_, label, MetricUnit.RATIO, category, Additivity.RATIO, measure, _OF_SESSIONS, text, bounded=True
    )


def _mean(id_: str, label: str, unit: MetricUnit, column: str, text: str) -> Metric:
    measure = Ratio(total(column, Relation.SESSIONS, _VIEWED), _SEEN)
    return Metric(id_, label, unit, "engagement", Additivity.RATIO, measure, _OF_SESSIONS, text)


def _active(days: int) -> Metric:
    return _counted(
        f"active_users_{days}d",
        f"Active users, {days} days" if days > 1 else "Active users, 1 day",
        Leaf(Relation.EVENTS, "person", distinct=True, trailing_days=days),
        f"Distinct persons with an event in the {days} local days that end on the last day of the range or bucket."
        if days > 1
        else "Distinct persons with an event on the last local day of the range or bucket.",
    )


TRAFFIC: Final = (
    _counted("visitors", "Visitors", VISITORS, "Distinct visitors with an event."),
    _counted(
        "new_visitors",
        "New visitors",
        VISITORS.filtered(Predicate("visitor_is_new", value=True)),
        "Visitors whose first event ever lies in the range.",
    ),
    _counted(
        "returning_visitors",
        "Returning visitors",
        VISITORS.filtered(Predicate("visitor_is_new", value=False)),
        "Visitors whose first event ever lies before the range.",
    ),
    _counted(
        "sessions", "Sessions", distinct("session", Relation.EVENTS), "Distinct sessions with an event."
    ),
    _counted(
        "identified_users",
        "Identified users",
        distinct("person", Relation.EVENTS, Predicate("identified", value=True)),
        "Distinct persons with a user id and an event.",
    ),
    _active(1),
    _active(7),
    _active(30),
    _counted(
        "session_starts",
        "Session starts",
        count(Relation.SESSIONS),
        "Sessions whose first event lies in the range or bucket.",
    ),
    _counted("pageviews", "Page views", count(Relation.EVENTS, _named(PAGE_VIEWS)), "Page views."),
    _counted("events", "Events", count(Relation.EVENTS), "All events, page views included."),
    _counted(
        "custom_events",
        "Custom events",
        count(Relation.EVENTS, Predicate("event_name", Op.NOT_IN, tuple(sorted(PAGE_VIEWS)))),
        "Events that are no page views.",
    ),
    _counted(
        "signups",
        "Sign-ups",
        count(Relation.EVENTS, _named(event_names.SIGNUP)),
        "Events with a name of a sign-up.",
    ),
    _counted("leads", "Leads", count(Relation.EVENTS, _named(event_names.LEAD)), "Events named `lead`."),
)

ENGAGEMENT: Final = (
    _rate(
        "bounce_rate",
        "Bounce rate",
        Ratio(total("bounced", Relation.SESSIONS, _VIEWED), _SEEN),
        "Sessions with exactly one page view and no other interaction, divided by sessions with a page view.",
    ),
    _rate(
        "engagement_rate",
        "Engagement rate",
        Ratio(total("engaged", Relation.SESSIONS, _VIEWED), _SEEN),
        "Sessions of 10 seconds, two page views or a conversion, divided by sessions with a page view.",
    ),
    Metric(
        "stickiness",
        "Stickiness",
        MetricUnit.RATIO,
        "engagement",
        Additivity.RATIO,
        Ratio(DailyMean(_DAILY), _MONTHLY),
        _OF_EVENTS,
        "Mean daily active users over full days, divided by active users of 30 days.",
        bounded=True,
    ),
    _mean(
        "avg_session_duration",
        "Average session duration",
        MetricUnit.SECONDS,
        "duration",
        "Mean time from first to last event, over sessions with a page view.",
    ),
    _mean(
        "pages_per_session",
        "Pages per session",
        MetricUnit.NUMBER,
        "pageviews",
        "Mean number of page views, over sessions with a page view.",
    ),
    _mean(
        "events_per_session",
        "Events per session",
        MetricUnit.NUMBER,
        "events",
        "Mean number of events, over sessions with a page view.",
    ),
    _counted(
        "engaged_sessions",
        "Engaged sessions",
        count(Relation.SESSIONS, _VIEWED, Predicate("engaged", value=True)),
        "Sessions with a page view that last 10 seconds, or have two page views or a conversion.",
        "engagement",
    ),
)

CONVERSION: Final = (
    _counted(
        "conversions",
        "Conversions",
        CONVERSIONS,
        "Events of the conversion set, one per name and order within 7 days.",
        "conversion",
    ),
    _counted(
        "purchases",
        "Purchases",
        replace(CONVERSIONS, by_house=True).filtered(_named(event_names.PURCHASE)),
        "Events with a name of a purchase, one per order.",
        "conversion",
    ),
    _counted(
        "add_to_carts",
        "Additions to cart",
        count(Relation.EVENTS, _named(event_names.ADD_TO_CART)),
        "Events named `add_to_cart`.",
        "conversion",
    ),
    _counted(
        "checkouts_started",
        "Checkouts started",
        count(Relation.EVENTS, _named(event_names.CHECKOUT_STARTED)),
        "Events with a name of a checkout start.",
        "conversion",
    ),
    Metric(
        "conversion_rate",
        "Conversion rate",
        MetricUnit.RATIO,
        "conversion",
        Additivity.RATIO,
        Ratio(CONVERSIONS, VISITORS),
        _OF_EVENTS,
        "Conversions divided by visitors.",
        bounded=True,
    ),
    _rate(
        "cart_abandonment_rate",
        "Cart abandonment rate",
        Ratio(_WITH_CART.filtered(Predicate("has_purchase", value=True)), _WITH_CART, complement=True),
        "1 minus sessions with a cart and a purchase divided by sessions with a cart.",
        "conversion",
    ),
)
