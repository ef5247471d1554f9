"""Traffic, engagement and conversion metrics, computed from events."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from service_core.analytics.event_rules.visits import IS_VISIT_EVENT
from service_core.analytics.measures import (
    Aggregation,
    Column,
    DailyMean,
    FilterOperator,
    Predicate,
    Ratio,
    Relation,
    count_distinct,
    count_rows,
    sum_column,
)
from service_core.analytics.metrics.dimensions import (
    EVENT_DIMENSIONS,
    IMPORT_DIMENSIONS,
    LOCATION_AND_DEVICE_DIMENSIONS,
    NEW_OR_RETURNING,
    SESSION_SOURCE_DIMENSIONS,
    VISIT_DIMENSIONS,
)
from service_core.analytics.query.catalog import Additivity, Metric, MetricUnit
from service_core.ingestion import event_names
from service_core.ingestion.event_names import PAGE_VIEWS

_SESSION_DIMENSIONS: Final = (
    *SESSION_SOURCE_DIMENSIONS,
    *LOCATION_AND_DEVICE_DIMENSIONS,
    *NEW_OR_RETURNING,
    *IMPORT_DIMENSIONS,
)
_EVENT_DIMENSIONS: Final = (
    *SESSION_SOURCE_DIMENSIONS,
    *EVENT_DIMENSIONS,
    *LOCATION_AND_DEVICE_DIMENSIONS,
    *NEW_OR_RETURNING,
    *IMPORT_DIMENSIONS,
)


def _visit_dimensions_of_category(category: str) -> tuple[str, ...]:
    """Returns the dimensions of visits for traffic and engagement; none for conversions."""
    return () if category == "conversion" else VISIT_DIMENSIONS


def _match_event_names(names: Iterable[str]) -> Predicate:
    return Predicate("event_name", FilterOperator.IN, tuple(sorted(names)))


VISITORS: Final = count_distinct("visitor_id", Relation.EVENTS, IS_VISIT_EVENT)
CONVERSIONS: Final = count_rows(Relation.CONVERSIONS)
_HAS_PAGEVIEW: Final = Predicate("pageviews", FilterOperator.GTE, 1)
_SESSIONS_WITH_PAGEVIEW: Final = count_rows(Relation.SESSIONS, _HAS_PAGEVIEW)
"""Sessions with a page view: the base of engagement metrics."""

_DAILY: Final = Aggregation(Relation.EVENTS, Column("person"), distinct=True, trailing_days=1)
_MONTHLY: Final = Aggregation(Relation.EVENTS, Column("person"), distinct=True, trailing_days=30)
_WITH_CART: Final = count_rows(Relation.SESSIONS, Predicate("has_cart", value=True))


def _define_count(id_: str, label: str, measure: Aggregation, text: str, category: str = "traffic") -> Metric:
    own = _SESSION_DIMENSIONS if measure.relation is Relation.SESSIONS else _EVENT_DIMENSIONS
    dimensions = (*own, *_visit_dimensions_of_category(category))
    additivity = Additivity.DISTINCT if measure.distinct else Additivity.ADDITIVE
    return Metric(id_, label, MetricUnit.COUNT, category, additivity, measure, dimensions, text)


def _define_session_rate(
    id_: str, label: str, measure: Ratio, description: str, category: str = "engagement"
) -> Metric:
    return Metric(
        id_,
        label,
        MetricUnit.RATIO,
        category,
        Additivity.RATIO,
        measure,
        (*_SESSION_DIMENSIONS, *_visit_dimensions_of_category(category)),
        description,
        is_rate=True,
    )


def _define_session_mean(id_: str, label: str, unit: MetricUnit, column: str, text: str) -> Metric:
    measure = Ratio(sum_column(column, Relation.SESSIONS, _HAS_PAGEVIEW), _SESSIONS_WITH_PAGEVIEW)
    dimensions = (*_SESSION_DIMENSIONS, *VISIT_DIMENSIONS)
    return Metric(id_, label, unit, "engagement", Additivity.RATIO, measure, dimensions, text)


def _define_active_users_of_trailing_days(days: int) -> Metric:
    return _define_count(
        f"active_users_{days}d",
        f"Active users, {days} days" if days > 1 else "Active users, 1 day",
        Aggregation(Relation.EVENTS, Column("person"), distinct=True, trailing_days=days),
        f"Distinct persons with an event in the {days} local days that end on the last day of the range or bucket."
        if days > 1
        else "Distinct persons with an event on the last local day of the range or bucket.",
    )


TRAFFIC_METRICS: Final = (
    _define_count(
        "visitors",
        "Visitors",
        VISITORS,
        "Distinct visitors with an event; events of revenue providers, or of a server without a device, are no visit.",
    ),
    _define_count(
        "new_visitors",
        "New visitors",
        VISITORS.with_conditions(Predicate("visitor_is_new", value=True)),
        "Visitors whose first event ever lies in the range.",
    ),
    _define_count(
        "returning_visitors",
        "Returning visitors",
        VISITORS.with_conditions(Predicate("visitor_is_new", value=False)),
        "Visitors whose first event ever lies before the range.",
    ),
    _define_count(
        "sessions",
        "Sessions",
        count_distinct("session", Relation.EVENTS, IS_VISIT_EVENT),
        "Distinct sessions with an event; events of revenue providers, or of a server without a device, are no visit.",
    ),
    _define_count(
        "identified_users",
        "Identified users",
        count_distinct("person", Relation.EVENTS, Predicate("identified", value=True)),
        "Distinct persons with a user id and an event.",
    ),
    _define_active_users_of_trailing_days(1),
    _define_active_users_of_trailing_days(7),
    _define_active_users_of_trailing_days(30),
    _define_count(
        "session_starts",
        "Session starts",
        count_rows(Relation.SESSIONS),
        "Sessions whose first event lies in the range or bucket.",
    ),
    _define_count(
        "pageviews", "Page views", count_rows(Relation.EVENTS, _match_event_names(PAGE_VIEWS)), "Page views."
    ),
    _define_count("events", "Events", count_rows(Relation.EVENTS), "All events, page views included."),
    _define_count(
        "custom_events",
        "Custom events",
        count_rows(
            Relation.EVENTS, Predicate("event_name", FilterOperator.NOT_IN, tuple(sorted(PAGE_VIEWS)))
        ),
        "Events that are no page views.",
    ),
    _define_count(
        "signups",
        "Sign-ups",
        count_rows(Relation.EVENTS, _match_event_names(event_names.SIGNUP_EVENTS)),
        "Events with a name of a sign-up.",
    ),
    _define_count(
        "leads",
        "Leads",
        count_rows(Relation.EVENTS, _match_event_names(event_names.LEAD_EVENTS)),
        "Events named `lead`.",
    ),
)

ENGAGEMENT_METRICS: Final = (
    _define_session_rate(
        "bounce_rate",
        "Bounce rate",
        Ratio(sum_column("bounced", Relation.SESSIONS, _HAS_PAGEVIEW), _SESSIONS_WITH_PAGEVIEW),
        "Sessions with exactly one page view and no other interaction, divided by sessions with a page view.",
    ),
    _define_session_rate(
        "engagement_rate",
        "Engagement rate",
        Ratio(sum_column("engaged", Relation.SESSIONS, _HAS_PAGEVIEW), _SESSIONS_WITH_PAGEVIEW),
        "Sessions of 10 seconds, two page views or a conversion, divided by sessions with a page view.",
    ),
    Metric(
        "stickiness",
        "Stickiness",
        MetricUnit.RATIO,
        "engagement",
        Additivity.RATIO,
        Ratio(DailyMean(_DAILY), _MONTHLY),
        _EVENT_DIMENSIONS,
        "Mean daily active users over full days, divided by active users of 30 days.",
        is_rate=True,
    ),
    _define_session_mean(
        "avg_session_duration",
        "Average session duration",
        MetricUnit.SECONDS,
        "duration",
        "Mean time from first to last event, over sessions with a page view.",
    ),
    _define_session_mean(
        "pages_per_session",
        "Pages per session",
        MetricUnit.NUMBER,
        "pageviews",
        "Mean number of page views, over sessions with a page view.",
    ),
    _define_session_mean(
        "events_per_session",
        "Events per session",
        MetricUnit.NUMBER,
        "events",
        "Mean number of events, over sessions with a page view.",
    ),
    _define_count(
        "engaged_sessions",
        "Engaged sessions",
        count_rows(Relation.SESSIONS, _HAS_PAGEVIEW, Predicate("engaged", value=True)),
        "Sessions with a page view that last 10 seconds, or have two page views or a conversion; a repeat of an order is none.",
        "engagement",
    ),
)

CONVERSION_METRICS: Final = (
    _define_count(
        "conversions",
        "Conversions",
        CONVERSIONS,
        "Events of the conversion set, one per name and order within 7 days.",
        "conversion",
    ),
    _define_count(
        "purchases",
        "Purchases",
        replace(CONVERSIONS, use_builtin_conversions=True).with_conditions(
            _match_event_names(event_names.PURCHASE_EVENTS)
        ),
        "Events with a name of a purchase, one per order.",
        "conversion",
    ),
    _define_count(
        "add_to_carts",
        "Additions to cart",
        count_rows(Relation.EVENTS, _match_event_names(event_names.ADD_TO_CART_EVENTS)),
        "Events named `add_to_cart`.",
        "conversion",
    ),
    _define_count(
        "checkouts_started",
        "Checkouts started",
        count_rows(Relation.EVENTS, _match_event_names(event_names.CHECKOUT_EVENTS)),
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
        _EVENT_DIMENSIONS,
        "Conversions divided by visitors.",
        is_rate=True,
    ),
    _define_session_rate(
        "cart_abandonment_rate",
        "Cart abandonment rate",
        Ratio(_WITH_CART.with_conditions(Predicate("has_purchase", value=True)), _WITH_CART, complement=True),
        "1 minus sessions with a cart and a purchase divided by sessions with a cart.",
        "conversion",
    ),
)
