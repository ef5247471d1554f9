"""Random datasets: small histories of events in which edge cases are frequent.

Shared devices, aliases, external ids of several visitors, bots and tests, events that arrive late
or at one instant, repeated orders, refunds, foreign money, direct revisits that carry old campaign
values, and clock changes. A dataset is drawn from a `random.Random`, so a seed reproduces it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random
from typing import Any, Final

from hypothesis import strategies as st

from service_core.kernel.time_ranges import TimeRange
from service_core.testing.event_builder import (
    EventBuilder,
    campaign_columns,
    referral_columns,
    reported_touch_columns,
    utc_instant,
)

DAYS: Final = 9
"""Days of a dataset."""

TIMEZONES_AND_STARTS: Final = (
    ("America/New_York", "2026-03-05"),
    ("America/New_York", "2026-10-29"),
    ("Australia/Lord_Howe", "2026-04-02"),
    ("Africa/Cairo", "2026-04-21"),
    ("Asia/Kathmandu", "2026-01-28"),
    ("UTC", "2026-02-26"),
)
"""Time zones and first days of datasets; all but the last two include a clock change."""

VISITORS: Final = ("A1", "A2", "A3", "A4", "U1")
USERS: Final = ("U1", "U2", "U3")
ORDERS: Final = ("O1", "O2", "O3", None)

_SPRING: Final = campaign_columns("google", "cpc", "spring") | {
    "gclid": "g1",
    "click_id": "g1",
    "click_id_type": "gclid",
}
_PARTNER: Final = referral_columns("partner.example", "referral", "referral")
_VISIT_COLUMNS: Final[Sequence[Mapping[str, Any]]] = (
    {},
    {},
    _SPRING,
    _SPRING | {"campaign_in_url": False},
    _SPRING | {"campaign_in_url": False} | {k: v for k, v in _PARTNER.items() if k.startswith("referral")},
    campaign_columns("google", "cpc", "autumn"),
    campaign_columns("news", "email", "Éclair", channel="email") | {"lyr": "x1"},
    _PARTNER,
)
_VISIT_EVENT_NAMES: Final = ("page_view", "page_view", "page_view", "pageview", "$pageview", "session_start")
_INTERACTION_EVENT_NAMES: Final = ("click", "click", "scroll", "webinar", "$group")
_ORDER_EVENT_NAMES: Final = (
    "purchase",
    "purchase",
    "order_paid",
    "signup",
    "lead",
    "add_to_cart",
    "refund",
    "webinar",
)
_AMOUNTS: Final = (None, 0, 1, 999, 1000, 33333, -500)
_EVENT_PROPERTIES: Final[Sequence[Mapping[str, Any]]] = (
    {},
    {"plan": "pro", "price": 5},
    {"plan": "Free", "price": "7", "n": {"of": 1.5}},
    {"plan": None, "tags": ["a", "b"], "ok": True},
    {"traits": {"email": "ada@example.com"}, "name": "Ada"},
)
_COUNTRIES: Final = (None, "DE", "US", "fr")
_ADDRESSES: Final = (
    None,
    "https://shop.example/",
    "https://www.shop.example:8443/sale?from=https://ads.example",
    "HTTPS://ann:secret@Blog.Example#top",
    "/relative",
    "app-1://www.screen/home",
    "https://[::1]/",
    "mailto:ann@shop.example",
    "https://",
)
_SCREEN_WIDTHS: Final = (None, 0, -1, 1, 575, 576, 991, 992, 1439, 1440, 3840)
_PATHS: Final = (None, "/", "/Zebra", "/apple", "/éclair", "/日本")


@dataclass(frozen=True, slots=True)
class RandomDataset:
    """Random events of one workspace, with its time zone and first instant."""

    builder: EventBuilder
    timezone: str
    start: datetime

    @property
    def span(self) -> TimeRange:
        """The range of days in which most events happen."""
        return TimeRange(self.start, self.start + timedelta(days=DAYS))


def random_dataset(random: Random, size: int = 60) -> RandomDataset:
    """Returns a dataset of ``size`` random events in a new workspace."""
    zone, first_day = random.choice(TIMEZONES_AND_STARTS)
    dataset = RandomDataset(EventBuilder(), zone, utc_instant(first_day))
    add_random_events(dataset, random, size)
    return dataset


def add_random_events(dataset: RandomDataset, random: Random, size: int) -> None:
    """Appends ``size`` random events to a dataset."""
    for _ in range(size):
        _add_random_event(random, dataset)


def random_datasets(size: int = 60) -> st.SearchStrategy[tuple[RandomDataset, Random]]:
    """Returns a strategy of datasets, each with a `Random` from which to draw queries.

    It draws a seed and a size: a smaller size leaves out the latest events and keeps the others.
    """

    def build_dataset(seed: int, event_count: int) -> tuple[RandomDataset, Random]:
        query_random = Random(~seed)  # noqa: S311 - a seed reproduces a dataset
        return random_dataset(Random(seed), event_count), query_random  # noqa: S311 - likewise

    return st.builds(build_dataset, st.integers(0, 2**32 - 1), st.integers(0, size))


def _add_random_event(random: Random, dataset: RandomDataset) -> None:
    """Adds one event at or seconds after a quarter of an hour, so that instants coincide; 10 % are days earlier."""
    quarters = random.randrange(-96, DAYS * 96)
    at = dataset.start + timedelta(minutes=15 * quarters, seconds=random.choice((0, 0, 0, 7, 11)))
    if random.random() < 0.1:
        at -= timedelta(days=random.choice((7, 16, 40)))
    columns = {
        "visitor": random.choice(VISITORS),
        "session": random.choice(("s1", "s2", "s3")),
        "received_at": at + timedelta(minutes=random.choice((0, 0, 5, 60 * 24 * 3))),
        "country": random.choice(_COUNTRIES),
        "device_type": random.choice(("desktop", "mobile", None)),
        "page_path": random.choice(_PATHS),
        "page_url": random.choice(_ADDRESSES),
        "screen_width": random.choice(_SCREEN_WIDTHS),
        "event_data": random.choice(_EVENT_PROPERTIES),
        "is_bot": random.random() < 0.1,
        "is_test": random.random() < 0.05,
        "source": random.choice(("browser", "web", "api", "till", "shop", "wallet")),
        "reported_touches": _random_reported_touches_or_none(random, at),
        **_random_identity_columns(random),
        **_random_event_name_and_columns(random),
    }
    name = columns.pop("name")
    dataset.builder.add_event(name, at=at, **columns)


def _random_identity_columns(random: Random) -> dict[str, Any]:
    """Returns identity columns: each of user, visitor, distinct and external id is None more often than not."""
    return {
        "strong_id": random.choice(USERS) if random.random() < 0.15 else None,
        "sent_visitor_id": random.choice(VISITORS) if random.random() < 0.15 else None,
        "distinct_id": random.choice((*VISITORS, "D1")) if random.random() < 0.15 else None,
        "external_ids": {"crm": random.choice("xy")} if random.random() < 0.05 else None,
    }


def _random_reported_touches_or_none(random: Random, event_time: datetime) -> dict[str, str] | None:
    """Returns one or two touches that a client reports, or in 85 % of the calls None."""
    if random.random() > 0.15:
        return None
    first, last = (event_time - timedelta(hours=random.choice((0, 1, 30, 100))) for _ in range(2))
    direct = reported_touch_columns("last", last, "(direct)", "(none)", "direct")
    return random.choice(
        (
            reported_touch_columns("first", first, "bing", "cpc", "paid_search"),
            reported_touch_columns("last", last, "news", "email", "email"),
            reported_touch_columns("first", first, "bing", "cpc", "paid_search") | direct,
        )
    )


def _random_payment_columns(random: Random) -> Mapping[str, Any]:
    """Returns components and ids of a payment, or in 60 % of the calls none; ids may equal those of orders."""
    components = random.choice(({}, {}, {"tax": 7}, {"discount": 100, "tax": 0, "shipping": 495, "fee": 31}))
    ids = {name: random.choice((None, None, "P1", "O1")) for name in ("payment_id", "message_id")}
    return {**components, **ids} if random.random() < 0.4 else {}


def _random_campaign_columns(random: Random) -> Mapping[str, Any]:
    """Returns campaign columns of a purchase, which make it a touch, or in 85 % of the calls none."""
    return _SPRING if random.random() < 0.15 else {}


def _random_event_name_and_columns(random: Random) -> dict[str, Any]:
    """Returns ``name`` and columns of a visit, an interaction, an order, an identification or an alias."""
    draw = random.random()
    if draw < 0.5:
        return {"name": random.choice(_VISIT_EVENT_NAMES), **random.choice(_VISIT_COLUMNS)}
    if draw < 0.65:
        name = random.choice(_INTERACTION_EVENT_NAMES)
        return {"name": name, "interactive": name != "scroll"}
    if draw < 0.9:
        money = {"revenue": random.choice(_AMOUNTS), "order_id": random.choice(ORDERS)}
        currency = {"currency": "EUR"} if random.random() < 0.2 else {}
        return {
            "name": random.choice(_ORDER_EVENT_NAMES),
            **money,
            **currency,
            **_random_campaign_columns(random),
            **_random_payment_columns(random),
        }
    if draw < 0.97:
        return {"name": "$identify", "strong_id": random.choice(USERS)}
    previous, new = random.sample(USERS, 2)
    return {"name": "$alias", "strong_id": new, "event_data": {"previous_id": previous}}
