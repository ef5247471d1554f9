"""The visits of the example shop, as events that a site sends. Pure functions of the current time."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from random import Random
from typing import Any, Final
from urllib.parse import urlencode

from hosts.demo.shop.catalog import (
    ADS,
    CURRENCY,
    DAYS,
    DEVICES,
    FIRST_NAMES,
    LAST_NAMES,
    ORIGINS,
    PLACES,
    PRODUCTS,
    SITE,
    Ad,
    Device,
    Origin,
    Place,
    Product,
)
from service_core.ingestion.import_sources.models import ImportEntry
from service_core.ingestion.imported_rows import IMPORTED_COLUMNS_HEADER

SEED: Final = 20
PAID_SHARE: Final = 0.3
RETURNING_SHARE: Final = 0.32
REFUNDED_SHARE: Final = 0.06
LIVE_VISITS: Final = 7
"""Visits of the last minutes, for the live pages."""

_WEEKDAY_FACTORS: Final = (1.05, 1.0, 1.0, 1.05, 1.0, 0.8, 0.85)
_SERVER: Final = "example-shop-python/1.0"
"""User agent of the server of the shop."""
_FIRST_DAY_VISITS: Final = 13
_LAST_DAY_VISITS: Final = 24
_TITLES: Final = {
    "/": "Coffee, roasted to order",
    "/sale": "Autumn sale",
    "/cart": "Your cart",
    "/checkout": "Checkout",
    "/thank-you": "Thank you",
    "/club": "Coffee club",
    "/guides/pour-over": "How to brew pour-over coffee",
}


@dataclass(frozen=True, slots=True)
class Visitor:
    """A browser of a person; ``user_id`` and ``name`` are known once they sign up."""

    id: str
    place: Place
    device: Device
    user_id: str | None = None
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Landing:
    """How a visit begins.

    Attributes:
        values: campaign values, click id and link tag, as they stand in the first address.
        quality: factor on the probability of an order.
    """

    path: str
    values: Mapping[str, str]
    referrer: str
    quality: float


@dataclass(slots=True)
class _Counts:
    """Numbers of visitors, customers and orders so far; their ids follow from them."""

    visitors: int = 0
    customers: int = 0
    orders: int = 0


class VisitGenerator:
    """Generates the visits of the shop; the same arguments give the same events.

    Args:
        now: the current time; no event is later.
        tag_by_link: tag of each trackable link by its name.
    """

    def __init__(self, now: datetime, tag_by_link: Mapping[str, str]) -> None:
        self._now = now
        self._tag_by_link = tag_by_link
        self._random = Random(SEED)  # noqa: S311 - invented visits, no secret
        self._known: list[Visitor] = []
        self._counts = _Counts()

    def events(self) -> Iterator[ImportEntry]:
        """Yields the events of every day and those of the last minutes."""
        for day in range(DAYS):
            yield from self._events_of_day(day)
        for number in range(LIVE_VISITS):
            yield from self._visit(self._now - timedelta(minutes=2 + 4 * number), f"live-{number}")

    def _events_of_day(self, day: int) -> Iterator[ImportEntry]:
        midnight = self._now.replace(hour=0, minute=0, second=0, microsecond=0)
        start = midnight - timedelta(days=DAYS - 1 - day)
        growth = _FIRST_DAY_VISITS + (_LAST_DAY_VISITS - _FIRST_DAY_VISITS) * day / DAYS
        count = round(growth * _WEEKDAY_FACTORS[start.weekday()] * self._random.uniform(0.85, 1.15))
        for number in range(count):
            hour = self._random.triangular(6, 24, 15)
            yield from self._visit(start + timedelta(hours=min(hour, 23.5)), f"{day}-{number}")

    def _visit(self, begin: datetime, name: str) -> Iterator[ImportEntry]:
        visitor, landing = self._choose_visitor(), self._choose_landing()
        browsing = _Browsing(visitor, f"visit-{name}", begin, landing, self._now)
        yield from self._generate_visit(browsing, landing)
        self._known[self._known.index(visitor)] = browsing.visitor

    def _choose_visitor(self) -> Visitor:
        if self._known and self._random.random() < RETURNING_SHARE:
            return self._random.choice(self._known)
        self._counts.visitors += 1
        visitor = Visitor(
            f"visitor-{self._counts.visitors:04}",
            self._random.choices(PLACES, [place.weight for place in PLACES])[0],
            self._random.choices(DEVICES, [device.weight for device in DEVICES])[0],
        )
        self._known.append(visitor)
        return visitor

    def _choose_landing(self) -> Landing:
        click = f"{self._random.getrandbits(64):016x}"
        if self._random.random() < PAID_SHARE:
            return _landing_of_ad(self._random.choices(ADS, [ad.weight for ad in ADS])[0], click)
        origin = self._random.choices(ORIGINS, [origin.weight for origin in ORIGINS])[0]
        return _landing_of_origin(origin, self._random.choice(origin.landing_pages), self._tag_by_link)

    def _generate_visit(self, browsing: "_Browsing", landing: Landing) -> Iterator[ImportEntry]:
        """Yields one visit: pages, and with falling probability a product, a cart, a checkout and an order."""
        chance = self._random.random
        yield from browsing.page(landing.path, 0)
        if chance() < 0.35:  # noqa: PLR2004 - bounces
            return
        product = self._random.choices(PRODUCTS, [9, 6, 3, 4, 3, 5, 3])[0]
        yield from browsing.page(product.path, self._seconds())
        yield from browsing.track("product_viewed", 1, _product_properties(product))
        if product.category == "Equipment":
            yield from browsing.track("experiment_viewed", 0, _experiment_properties(browsing.visitor))
        if chance() < 0.05:  # noqa: PLR2004 - sign-ups without an order
            yield from self._sign_up(browsing)
        if chance() > 0.42 * landing.quality:
            return
        quantity = self._random.choice((1, 1, 1, 2))
        yield from browsing.track(
            "add_to_cart", self._seconds(), _product_properties(product) | {"quantity": quantity}
        )
        yield from browsing.page("/cart", 2)
        if chance() > 0.62:  # noqa: PLR2004
            return
        yield from browsing.page("/checkout", self._seconds())
        yield from browsing.track("checkout_started", 1, {"cart_value": product.price * quantity / 100})
        if chance() > 0.7:  # noqa: PLR2004
            return
        if browsing.visitor.user_id is None:
            yield from self._sign_up(browsing)
        yield from self._generate_order(browsing, product, quantity)

    def _sign_up(self, browsing: "_Browsing") -> Iterator[ImportEntry]:
        if browsing.visitor.user_id is not None:
            return
        number = self._counts.customers
        name = f"{FIRST_NAMES[number % len(FIRST_NAMES)]} {LAST_NAMES[number % len(LAST_NAMES)]}"
        self._counts.customers += 1
        browsing.visitor = replace(browsing.visitor, user_id=f"customer-{number + 1:04}", name=name)
        email = f"{name.lower().replace(' ', '.')}@example.com"
        yield from browsing.track("$identify", 3, {"traits": {"email": email, "name": name}})
        yield from browsing.track("signup", 1, {"method": "email"})

    def _generate_order(
        self, browsing: "_Browsing", product: Product, quantity: int
    ) -> Iterator[ImportEntry]:
        extra = self._random.choice((None, None, PRODUCTS[5]))
        lines = [(product, quantity), *([(extra, 1)] if extra and extra is not product else [])]
        self._counts.orders += 1
        order_id, total = f"order-{1000 + self._counts.orders}", sum(p.price * n for p, n in lines)
        items = [
            {"sku": p.sku, "name": p.name, "category": p.category, "quantity": n, "price": p.price / 100}
            for p, n in lines
        ]
        money = {"order_id": order_id, "value": total / 100, "currency": CURRENCY}
        yield from browsing.track("purchase", self._seconds(), money | {"items": items})
        yield from browsing.page("/thank-you", 1)
        if self._random.random() < REFUNDED_SHARE:
            yield from browsing.refund_by_server(timedelta(days=3), money)

    def _seconds(self) -> int:
        return self._random.randint(8, 95)


class _Browsing:
    """One visit in progress; its methods yield nothing that would be later than now.

    Attributes:
        visitor: the visitor as they are known by now.
    """

    def __init__(
        self, visitor: Visitor, session_id: str, begin: datetime, landing: Landing, now: datetime
    ) -> None:
        self.visitor = visitor
        self._session_id = session_id
        self._at = begin
        self._now = now
        self._landing: Landing | None = landing
        self._url = f"{SITE}{landing.path}"
        self._number = 0

    def page(self, path: str, seconds_later: int) -> Iterator[ImportEntry]:
        """Yields the view of a page; the first one has the campaign values and the referrer of the visit."""
        landing, self._landing, before = self._landing, None, self._url
        values = landing.values if landing else {}
        self._url = f"{SITE}{path}" + (f"?{urlencode(values)}" if values else "")
        referrer = landing.referrer if landing else before
        title = _TITLES.get(path) or next((p.name for p in PRODUCTS if p.path == path), path)
        yield from self.track("page_view", seconds_later, {"title": title, "referrer": referrer, **values})

    def track(
        self, event_name: str, seconds_later: int, properties: Mapping[str, Any]
    ) -> Iterator[ImportEntry]:
        """Yields an event on the current page."""
        self._at += timedelta(seconds=seconds_later)
        self._number += 1
        if self._at > self._now:
            return
        place, device = self.visitor.place, self.visitor.device
        body: dict[str, Any] = {
            "event": event_name,
            "event_id": f"{self._session_id}-{self._number}",
            "timestamp": self._at.isoformat(),
            "anonymous_id": self.visitor.id,
            "properties": {"url": self._url, **properties},
            "context": {
                "session_id": self._session_id,
                "locale": place.language,
                "userAgent": device.user_agent,
                "screen": {"width": device.screen[0], "height": device.screen[1]},
            },
        }
        if self.visitor.user_id is not None:
            body["user_id"] = self.visitor.user_id
        located = {name: getattr(place, name) for name in ("country", "region", "city", "timezone")}
        yield ImportEntry(body, headers={IMPORTED_COLUMNS_HEADER: json.dumps(located)})

    def refund_by_server(self, later: timedelta, money: Mapping[str, Any]) -> Iterator[ImportEntry]:
        """Yields a refund that the server of the shop reports after the visit."""
        at = self._at + later
        if at <= self._now:
            body = {
                "event": "refund",
                "event_id": f"{self._session_id}-refund",
                "timestamp": at.isoformat(),
                "user_id": self.visitor.user_id,
                "properties": dict(money),
            }
            yield ImportEntry(body, user_agent=_SERVER)


def _landing_of_ad(ad: Ad, click: str) -> Landing:
    values = {
        "utm_source": ad.source,
        "utm_medium": ad.medium,
        "utm_campaign": ad.campaign[1],
        "utm_term": ad.ad[1],
        "utm_content": ad.group[1],
        "utm_id": ad.ad[0],
        ad.click_id: click,
    }
    referrer = "https://www.google.com/" if ad.platform == "google" else f"https://www.{ad.source}.com/"
    return Landing(ad.landing_page, values, referrer, ad.quality)


def _landing_of_origin(origin: Origin, path: str, tag_by_link: Mapping[str, str]) -> Landing:
    values = dict(zip(("utm_source", "utm_medium", "utm_campaign"), origin.campaign, strict=False))
    if tag := tag_by_link.get(origin.link):
        values["lyr"] = tag
    return Landing(path, values, origin.referrer, origin.quality)


def _experiment_properties(visitor: Visitor) -> dict[str, Any]:
    """The variant of a visitor: each second one sees larger photos."""
    is_new = int(visitor.id.rpartition("-")[2]) % 2 == 0
    return {"experiment_id": "larger-photos", "variant": "larger" if is_new else "control"}


def _product_properties(product: Product) -> dict[str, Any]:
    return {
        "sku": product.sku,
        "name": product.name,
        "category": product.category,
        "price": product.price / 100,
    }
