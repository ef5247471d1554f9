"""The standard dataset: two workspaces, ten days around a clock change, numbers checked by hand.

``SHOP`` lives in New York, where 2026-03-08 has 23 hours, and counts in US dollars; ``CAFE`` lives
in Kathmandu and counts in euros. They share ids, so that a leak between them is detected. ``WEEK`` holds
Shop's local days 2026-03-02 to 2026-03-08. Among the people of Shop:

- Ada sees an ad on Monday, tells her name, comes back on Thursday and buys for 100.00; the server
  reports the same order again, and next Tuesday 25.00 are refunded.
- Bob comes from a social network on his telephone and leaves at once, follows the newsletter on Friday and
  signs up, comes to a desktop in the night the clocks change, and orders for 50.00 euros later.
- Cy is seen once, late on Tuesday evening by his wall clock. Dan's Monday visit arrives a week late.
- A crawler, and an order that was a test.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final
from uuid import UUID
from zoneinfo import ZoneInfo

from service_core.analytics.ports import QueryScope
from service_core.ingestion.models import Event
from service_core.kernel.time_ranges import TimeRange, whole_days_range
from service_core.testing.event_builder import EventBuilder, campaign_columns, referral_columns, utc_instant

SHOP: Final = UUID("00000000-0000-7000-8000-000000000001")
CAFE: Final = UUID("00000000-0000-7000-8000-000000000002")
SHOP_ZONE: Final = "America/New_York"
CAFE_ZONE: Final = "Asia/Kathmandu"
NOW: Final = utc_instant("2026-03-12T12:00")
"""The time at which queries about the dataset are asked."""

WEEK: Final = whole_days_range(
    utc_instant("2026-03-02").date(), utc_instant("2026-03-08").date(), ZoneInfo(SHOP_ZONE)
)
"""Shop's week, Monday to Sunday, 167 hours."""

_AD: Final = campaign_columns("google", "cpc", "spring")
_NEWS: Final = campaign_columns("news", "email", "march", channel="email")
_FACEBOOK: Final = referral_columns("facebook", "social", "organic_social")
_PARTNER: Final = referral_columns("partner.example", "referral", "referral")
_DESK: Final[Mapping[str, Any]] = {
    "device_type": "desktop",
    "browser": "Chrome",
    "os": "macOS",
    "country": "US",
}
_PHONE: Final[Mapping[str, Any]] = {
    "device_type": "mobile",
    "browser": "Safari",
    "os": "iOS",
    "country": "DE",
}
_SERVER: Final[Mapping[str, Any]] = {"source": "api"}


def standard_events() -> list[Event]:
    """Returns the events of both workspaces, in order of arrival within each."""
    shop, cafe = EventBuilder(SHOP), EventBuilder(CAFE)
    _add_ad_click_order_and_refund_events(shop)
    _add_newsletter_signup_and_euro_order_events(shop)
    _add_single_visit_bot_test_and_late_events(shop)
    for minute in (0, 5):
        at = utc_instant("2026-03-03T04:00") + timedelta(minutes=minute)
        cafe.add_event("page_view", at=at, visitor="A1", page_path="/menu", source="browser", **_PARTNER)
    order: dict[str, Any] = {"revenue": 700, "currency": "EUR", "order_id": "O-1"}
    cafe.add_event("purchase", at="2026-03-03T04:10", visitor="A1", source="browser", **order)
    return [*shop.events, *cafe.events]


def shop_query_scope(span: TimeRange = WEEK) -> QueryScope:
    """Returns a scope of the shop in its own time zone and in US dollars."""
    return EventBuilder(SHOP).query_scope(span, zone=SHOP_ZONE)


def cafe_query_scope(span: TimeRange = WEEK) -> QueryScope:
    """Returns a scope of the café in its own time zone and in euros."""
    return EventBuilder(CAFE).query_scope(span, zone=CAFE_ZONE, currency="EUR")


def _add_ad_click_order_and_refund_events(shop: EventBuilder) -> None:
    """Adds Ada's ad click, identification, cart, order, its report by the server and a partial refund."""
    here: dict[str, Any] = {"visitor": "A1", "source": "browser", **_DESK}
    monday: dict[str, Any] = {**here, "session": "a1", "landing_page": "/sale"}
    shop.add_event("page_view", at="2026-03-02T15:00:00", page_path="/sale", **monday, **_AD)
    shop.add_event("page_view", at="2026-03-02T15:00:30", page_path="/pricing", **monday)
    traits: dict[str, Any] = {"traits": {"email": "ada@example.com", "name": "Ada"}}
    named: dict[str, Any] = {"strong_id": "U-ada", "event_data": traits}
    shop.add_event("$identify", at="2026-03-02T15:02:00", interactive=False, **monday, **named)
    thursday: dict[str, Any] = {**here, "session": "a2", "landing_page": "/pricing"}
    shop.add_event("page_view", at="2026-03-05T16:00:00", page_path="/pricing", **thursday)
    cart: dict[str, Any] = {"revenue": 10000, "event_data": {"plan": "pro"}}
    shop.add_event("add_to_cart", at="2026-03-05T16:01:00", **thursday, **cart)
    order: dict[str, Any] = {"revenue": 10000, "order_id": "O-1", "event_data": {"plan": "pro"}}
    shop.add_event("purchase", at="2026-03-05T16:05:00", **thursday, **order)
    server: dict[str, Any] = {"visitor": "U-ada", "strong_id": "U-ada", "order_id": "O-1", **_SERVER}
    shop.add_event("order_paid", at="2026-03-05T16:05:10", session="api1", revenue=10000, **server)
    shop.add_event("refund", at="2026-03-10T15:00:00", session="api2", revenue=-2500, **server)


def _add_newsletter_signup_and_euro_order_events(shop: EventBuilder) -> None:
    """Adds Bob's referral, newsletter visit with signup, session over the clock change and order in euros."""
    phone: dict[str, Any] = {"visitor": "B1", "source": "browser", **_PHONE}
    left: dict[str, Any] = {"session": "b1", "page_path": "/", "landing_page": "/"}
    shop.add_event("page_view", at="2026-03-03T12:00:00", **phone, **left, **_FACEBOOK)
    news: dict[str, Any] = {**phone, "session": "b2", "landing_page": "/news"}
    shop.add_event("page_view", at="2026-03-06T20:00:00", page_path="/news", **news, **_NEWS)
    shop.add_event("signup", at="2026-03-06T20:00:05", strong_id="U-bob", **news)
    desk: dict[str, Any] = {
        "visitor": "B2",
        "source": "browser",
        **_DESK,
        "country": "DE",
        "landing_page": "/",
    }
    for at in ("2026-03-08T06:30:00", "2026-03-08T07:30:00"):  # 01:30 EST and 03:30 EDT
        shop.add_event("page_view", at=at, session="b3", page_path="/", **desk)
    shop.add_event(
        "$identify", at="2026-03-08T07:31:00", session="b3", strong_id="U-bob", interactive=False, **desk
    )
    carried = _NEWS | {"campaign_in_url": False}
    shop.add_event("page_view", at="2026-03-09T12:59:00", session="b4", page_path="/", **desk, **carried)
    foreign: dict[str, Any] = {"revenue": 5000, "currency": "EUR", "order_id": "O-2"}
    shop.add_event("purchase", at="2026-03-09T13:00:00", session="b4", **desk, **foreign)


def _add_single_visit_bot_test_and_late_events(shop: EventBuilder) -> None:
    """Adds a single visit, a crawler, a test order and a visit received a week late."""
    cy: dict[str, Any] = {
        "visitor": "C1",
        "session": "c1",
        "source": "browser",
        "country": "GB",
        "landing_page": "/blog",
    }
    shop.add_event("page_view", at="2026-03-04T03:30:00", page_path="/blog", **cy, **_PARTNER)
    shop.add_event("scroll", at="2026-03-04T03:30:04", interactive=False, **cy)
    crawler: dict[str, Any] = {"is_bot": True, "bot_reasons": ("known_agent",), "source": "browser"}
    shop.add_event("page_view", at="2026-03-04T10:00:00", visitor="X1", page_path="/", **crawler)
    test: dict[str, Any] = {"visitor": "A1", "session": "a2", "is_test": True, "source": "browser"}
    shop.add_event("purchase", at="2026-03-05T16:10:00", revenue=99900, order_id="O-9", **test)
    late: dict[str, Any] = {
        "received_at": utc_instant("2026-03-09T09:00"),
        "page_path": "/",
        "landing_page": "/",
    }
    shop.add_event(
        "page_view", at="2026-03-02T09:00:00", visitor="D1", session="d1", source="browser", **late
    )
