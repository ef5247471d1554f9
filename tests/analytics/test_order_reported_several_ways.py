"""One order of one person, reported by a page, a server, a payment provider and a storefront, is one in every read.

The reports pass the ingest pipeline, and every event store gives the same answers through the API.
"""

from datetime import timedelta
from itertools import pairwise

import pytest

from tests.analytics.deployment import NOW, run_deployment
from tests.fixtures.every_event_store import EVERY_EVENT_STORE, registry_and_url_of_event_store
from tests.fixtures.pipeline_workspace import PipelineWorkspace

DAYS = {"start_date": "2026-07-06", "end_date": "2026-07-07"}
BOUGHT_AT = NOW - timedelta(days=2)
SHOP_PAGE = "https://shop.example.com"
LANDING = f"{SHOP_PAGE}/?utm_source=google&utm_medium=cpc&utm_campaign=spring"
CAMPAIGN = {"utm_source": "google", "utm_medium": "cpc", "utm_campaign": "spring"}
PURCHASE = {"order_id": "1001", "payment_id": "pi_9", "revenue": "55.00", "currency": "USD"}
PAYMENT = {
    "id": "pi_9", "object": "payment_intent", "amount_received": 5500, "currency": "usd", "customer": "cus_1",
    "metadata": {"order_id": "1001", "visitor_id": "A1"},
}  # fmt: skip
ORDER = {
    "id": 1001, "name": "#1", "currency": "USD", "financial_status": "paid", "fulfillment_status": None,
    "subtotal_price": "50.00", "total_line_items_price": "50.00", "total_discounts": "0.00", "total_tax": "3.00",
    "total_price": "55.00", "taxes_included": False, "test": False, "shipping_lines": [{"price": "2.00"}],
    "note_attributes": [{"name": "_touchpoint_visitor_id", "value": "A1"}],
}  # fmt: skip


class Shop(PipelineWorkspace):
    """A workspace in which one order is reported in several ways."""

    async def page_reports(self, session="s1"):
        await self.tracks(
            "purchase",
            anonymous_id="A1",
            session=session,
            properties={"url": f"{SHOP_PAGE}/thanks", **PURCHASE},
        )

    async def server_reports(self):
        await self.tracks("purchase", agent="touchpoint-python/2", user_id="U1", properties=PURCHASE)

    async def stripe_reports(self):
        about = {"object": PAYMENT}
        created = int(self.served.now.timestamp())
        kind = {"id": "evt_1", "created": created, "livemode": True, "type": "payment_intent.succeeded"}
        await self.provider_tells("stripe", {**kind, "data": about}, {})

    async def shopify_reports(self):
        message = {**ORDER, "updated_at": self.served.now.isoformat()}
        await self.provider_tells("shopify", message, {"x-shopify-topic": "orders/paid"})


@pytest.fixture(params=EVERY_EVENT_STORE)
async def shop(request, tmp_path):
    with registry_and_url_of_event_store(request.param, request, tmp_path) as (registry, url):
        async with run_deployment(url, tmp_path, registry) as served:
            served.now = BOUGHT_AT
            yield Shop(served, await served.workspace(timezone="UTC"))


async def order_reported_in_sequence(shop, *reports):
    """The person comes by an ad, and the order is reported, two seconds apart; the next day the page is opened again."""
    visit = {"anonymous_id": "A1", "user_id": "U1", "session": "s1"}
    await shop.tracks("page_view", properties={"url": LANDING, **CAMPAIGN}, **visit)
    shop.later(seconds=5)
    await shop.tracks("add_to_cart", properties={"url": f"{SHOP_PAGE}/cart"}, **visit)
    for report in reports:
        shop.later(seconds=2)
        await getattr(shop, f"{report}_reports")()
    shop.later(minutes=1)


async def metric_values(client):
    ids = list(METRICS)
    answer = await client.post(
        "/metrics", {"metrics": ids, "date_range": {"from": "2026-07-06", "to": "2026-07-07"}}
    )
    return {value["id"]: value["value"] for value in answer["metrics"]}


METRICS = {
    "visitors": 1, "sessions": 2, "new_visitors": 1, "pageviews": 1, "conversions": 1, "conversion_rate": 1,
    "purchases": 1, "orders": 1, "revenue": 50, "gross_revenue": 50, "net_revenue": 50, "aov": 50, "customers": 1,
    "new_customers": 1, "taxes": 3, "shipping": 2, "revenue_per_visitor": 50, "repeat_purchase_rate": 0,
    "cart_abandonment_rate": 0, "engaged_sessions": 1, "attributed_conversions": 1, "attributed_orders": 1,
    "attributed_new_customers": 1, "attributed_revenue": 50, "attributed_aov": 50, "identified_users": 1,
}  # fmt: skip


async def daily_sums(client):
    body = {
        "metrics": ["conversions", "purchases", "orders", "revenue", "attributed_revenue"],
        "date_range": {"from": "2026-07-06", "to": "2026-07-07"}, "interval": "day",
    }  # fmt: skip
    rows = (await client.post("/query", body))["rows"]
    return [sum(row[metric] or 0 for row in rows) for metric in body["metrics"]]


async def funnel_counts(client, *steps, **parameters):
    answer = await client.get("/funnel", steps=",".join(steps), **DAYS, **parameters)
    return [step["count"] for step in answer["steps"]]


async def retention_cells(client):
    answer = await client.get("/retention", event_name="purchase", granularity="day", **DAYS)
    return [
        (row["period"], row["cohort_size"], row["active_persons"], row["revenue"]) for row in answer["rows"]
    ]


async def cumulative_revenue(client, **parameters):
    answer = await client.get("/ltv", granularity="day", **DAYS, **parameters)
    return [(row["period"], row["cumulative_revenue"]) for row in answer["rows"]]


async def people(client):
    answer = await client.get("/users", **DAYS)
    return [
        (user["user_id"], user["sessions"], user["conversions"], user["revenue"]) for user in answer["users"]
    ]


async def person(client):
    answer = await client.get("/users/U1", **DAYS)
    user, sessions = answer["user"], answer["sessions"]
    lifetime = {name: user["lifetime"][name] for name in ("revenue", "orders", "conversions", "sessions")}
    return (user["conversions"], user["revenue"], lifetime, len(sessions), len(answer["conversions"]))


async def attributed_totals(client, **parameters):
    answer = await client.get("/attribution", **DAYS, **parameters)
    names = ("conversions", "revenue", "visitors", "sessions")
    return [answer["totals"][name] for name in names], answer["unattributed"]["conversions"]


async def combined_revenue(client):
    answer = await client.get("/revenue", **DAYS)
    paid = {row["platform"]: row["revenue"] for row in answer["platforms"] if row["orders"]}
    return answer["combined"]["orders"], answer["combined"]["revenue"], paid


async def commerce(client):
    answer = await client.get(
        "/commerce-metrics", start_date="2026-07-06T00:00:00Z", end_date="2026-07-08T00:00:00Z"
    )
    return [answer[name] for name in ("orders", "revenue", "gross_revenue", "aov", "new_customers", "taxes")]


async def traffic_and_devices(client):
    read = [
        await client.get("/traffic", type="referrer", **DAYS),
        await client.get("/devices", type="browser", **DAYS),
        await client.get("/locations", type="country", **DAYS),
    ]
    return [answer["total"] for answer in read]


async def overview(client):
    answer = await client.get("/overview", **DAYS)
    return [answer[name] for name in ("visitors_total", "sessions_total", "pageviews_total")]


EVERY_ORDER = {"revenue": 50.0, "orders": 1, "conversions": 1, "sessions": 2}
READS = (
    (metric_values, {}, METRICS),
    (daily_sums, {}, [1, 1, 1, 50, 50]),
    (funnel_counts, {"steps": ("page_view", "purchase", "purchase")}, [1, 1, 0]),
    (funnel_counts, {"steps": ("purchase", "order_paid")}, [1, 0]),
    (funnel_counts, {"steps": ("add_to_cart", "purchase", "purchase"), "order": "strict"}, [1, 1, 0]),
    (funnel_counts, {"steps": ("purchase", "purchase", "page_view"), "order": "any"}, [1, 1, 0]),
    (funnel_counts, {"steps": ("page_view", "purchase", "purchase"), "unit": "session"}, [1, 1, 0]),
    (retention_cells, {}, [(0, 1, 1, 50.0), (1, 1, 0, 0.0)]),
    (cumulative_revenue, {}, [(0, 50.0), (1, 50.0)]),
    (cumulative_revenue, {"cohort_by": "first_conversion"}, [(0, 50.0), (1, 50.0)]),
    (people, {}, [("U1", 2, 1, 50.0)]),
    (person, {}, (1, 50.0, EVERY_ORDER, 2, 1)),
    (attributed_totals, {}, ([1, 50.0, 1, 2], 0)),
    (attributed_totals, {"model": "first_touch"}, ([1, 50.0, 1, 2], 0)),
    (attributed_totals, {"model": "linear", "basis": "touch"}, ([1, 50.0, 1, 2], 0)),
    (combined_revenue, {}, (1, 50.0, {"shopify": 50.0})),
    (commerce, {}, [1, 50.0, 50.0, 50.0, 1, 3.0]),
    (traffic_and_devices, {}, [1, 1, 1]),
    (overview, {}, [1, 2, 1]),
)
"""Read of the API, its parameters, and what it answers about the order."""

REPORTS = ("server", "page", "stripe", "shopify")


@pytest.mark.parametrize("reports", [REPORTS, REPORTS[::-1]], ids=["server first", "storefront first"])
async def test_order_counts_once_in_every_read(shop, reports):
    await order_reported_in_sequence(shop, *reports)
    realtime = await shop.client.get("/realtime")
    assert (realtime["active_visitors"], realtime["pageviews"], realtime["revenue"]) == (1, 1, 50.0)
    shop.later(hours=20)
    await shop.page_reports("s2")
    shop.served.now = NOW
    wrong = {}
    for read, parameters, expected in READS:
        arguments = dict(parameters)
        answer = await read(shop.client, *arguments.pop("steps", ()), **arguments)
        if answer != expected:
            wrong[read.__name__, str(parameters)] = (answer, expected)
    assert wrong == {}
    times = [event["timestamp"] for event in (await shop.client.get("/events", **DAYS))["events"]]
    assert len(times) == len(REPORTS) + 3
    assert all(later >= earlier for later, earlier in pairwise(times))
