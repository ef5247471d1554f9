"""Golden numbers and rules of the semantics, through the ingest pipeline and the API, on every event store.

Numbers that do not depend on the event store have tests of their own: ranges (`tests/kernel/test_ranges.py`), event
times, channels, hashes and MRR. Golden funnels are part of the conformance kit, which all stores pass.
"""

from datetime import UTC, datetime, timedelta

import pytest

from tests.analytics.deployment import run_deployment
from tests.commerce.fx.exchange_rate_data import save_rates
from tests.fixtures.every_event_store import EVERY_EVENT_STORE, registry_and_url_of_event_store
from tests.fixtures.pipeline_workspace import PipelineWorkspace

NOON = datetime(2026, 7, 1, 12, tzinfo=UTC)
DAYS = {"start_date": "2026-07-01", "end_date": "2026-07-20"}
RANGE = {"from": "2026-07-01", "to": "2026-07-20"}
NOW = datetime(2026, 7, 21, 12, tzinfo=UTC)
SERVER = "touchpoint-python/2"
RATES = {"2026-07-03": {"USD": "1.20"}, "2026-07-02": {"USD": "1.10"}}
"""Day -> dollars of a euro."""


def day(number, **passed):
    """Noon of a day after the first of July, or a time after it."""
    return NOON + timedelta(days=number, **passed)


async def persons(shop):
    users = (await shop.client.get("/users", **DAYS))["users"]
    return sorted((user["user_id"] or user["visitor_id"], user["events"]) for user in users)


async def values(shop, *metrics):
    answer = await shop.client.post("/metrics", {"metrics": list(metrics), "date_range": RANGE})
    return [value["value"] for value in answer["metrics"]]


async def credit_by_source(shop, model):
    """Returns credited conversions and revenue by source."""
    answer = await shop.client.get("/attribution", model=model, **DAYS)
    credited = (row for row in answer["campaigns"] if row["conversions"])
    return {row["utm_source"]: (row["conversions"], row["revenue"]) for row in credited}


async def visits(shop, visitor, source, at, **ids):
    """A visit from a source with a campaign in its address; None is a direct one."""
    campaign = {"utm_source": source, "utm_medium": "test"} if source else {}
    query = "&".join(f"{name}={value}" for name, value in campaign.items())
    await shop.tracks(
        "page_view", at=at, anonymous_id=visitor, session=f"{visitor}-{at:%d%H%M}",
        properties={"url": f"https://shop.example.com/?{query}", **campaign}, **ids,
    )  # fmt: skip


async def buys(shop, visitor, amount, at):
    await shop.tracks(
        "purchase", at=at, anonymous_id=visitor, session=f"{visitor}-buys",
        properties={"revenue": amount, "currency": "USD", "order_id": f"{visitor}-{at:%d%H%M}"},
    )  # fmt: skip


async def identity_a_views_before_identification(shop):
    await shop.tracks("page_view", at=day(1), anonymous_id="A1")
    await shop.tracks("$identify", at=day(2), anonymous_id="A1", user_id="U1")
    return await persons(shop), [("U1", 2)]


async def identity_b_second_user_of_a_device(shop):
    await shop.tracks("$identify", at=day(1), anonymous_id="A1", user_id="U1")
    await shop.tracks("$identify", at=day(2), anonymous_id="A1", user_id="U2")
    await shop.tracks("page_view", at=day(3), anonymous_id="A1")
    return await persons(shop), [("U1", 1), ("U2", 2)]


async def identity_c_two_devices_of_a_user(shop):
    await shop.tracks("$identify", at=day(1), anonymous_id="A1", user_id="U1")
    await shop.tracks("$identify", at=day(2), anonymous_id="A2", user_id="U1")
    return [await persons(shop), *await values(shop, "visitors")], [[("U1", 2)], 2]


async def identity_d_alias(shop):
    await shop.tracks("page_view", at=day(1), user_id="U1")
    await shop.tracks("$alias", at=day(2), previous_id="U1", user_id="U2")
    return await persons(shop), [("U2", 2)]


async def identity_e_placeholders(shop):
    for visitor in ("A1", "A2"):
        await shop.tracks("page_view", at=day(1), anonymous_id=visitor, user_id="guest")
    return await persons(shop), [("A1", 1), ("A2", 1)]


async def _lone_strong_id(shop, browser_ids, server_ids, *, server_first):
    async def browser():
        await visits(shop, "A", "google", day(1), **browser_ids)

    async def server():
        paid = {"revenue": 50, "currency": "USD"}
        await shop.tracks("purchase", at=day(2), agent=SERVER, properties=paid, **server_ids)

    for arrive in (browser, server)[:: -1 if server_first else 1]:
        await arrive()
    numbers = await values(shop, "visitors", "sessions", "pageviews", "conversions")
    return (
        ([user for user, _ in await persons(shop)], await credit_by_source(shop, "last_touch"), numbers),
        (["D"], {"google": (1.0, 50.0)}, [1, 1, 1, 1]),
    )


async def lone_distinct_id_after_the_browser(shop):
    return await _lone_strong_id(shop, {"distinct_id": "D"}, {"distinct_id": "D"}, server_first=False)


async def lone_distinct_id_before_the_browser(shop):
    return await _lone_strong_id(shop, {"distinct_id": "D"}, {"distinct_id": "D"}, server_first=True)


async def lone_distinct_id_that_is_a_user_id(shop):
    return await _lone_strong_id(shop, {"user_id": "D"}, {"distinct_id": "D"}, server_first=True)


async def sessions_roll_each_utc_hour(shop):
    for at in (NOON - timedelta(seconds=1), NOON):
        await shop.tracks("page_view", at=at, anonymous_id="A1")
    return await values(shop, "sessions", "session_starts"), [2, 2]


async def values_of_standard_events_are_no_money(shop):
    await shop.tracks("view_item", at=day(1), anonymous_id="A1", properties={"value": 500})
    await shop.tracks("lead", at=day(1, minutes=1), anonymous_id="A1", properties={"value": 30})
    return await values(shop, "revenue", "orders", "conversions"), [0, 0, 1]


async def shapley_gives_each_path_its_own_money(shop):
    for visitor, source, amount in (("P", "a", 1000), ("Q", "b", 1), ("R", "a", 0)):
        await visits(shop, visitor, source, day(1))
        if amount:
            await buys(shop, visitor, amount, day(2))
    return await credit_by_source(shop, "shapley"), {"a": (1.0, 1000.0), "b": (1.0, 1.0)}


async def data_driven_models_of_four_paths(shop):
    for number, (path, converts) in enumerate((("a", 1), ("a", 1), ("a", 0), ("b", 1), ("ab", 1))):
        for position, source in enumerate(path):
            await visits(shop, f"P{number}", source, day(1 + position))
        if converts:
            await buys(shop, f"P{number}", 10, day(5))
    models = [await credit_by_source(shop, model) for model in ("markov", "shapley")]
    conversions = [{source: credit for source, (credit, _) in model.items()} for model in models]
    return conversions, [{"a": 2.4, "b": 1.6}, {"a": 2.5, "b": 1.5}]


async def rule_based_models_of_four_touches(shop):
    for number, source in enumerate(("google", None, "facebook", None)):
        await visits(shop, "P", source, day(1 + number))
    await buys(shop, "P", 10, day(5))
    models = [await credit_by_source(shop, model) for model in ("last_non_direct", "last_touch", "linear")]
    expected = [
        {"facebook": (1.0, 10.0)},
        {"(direct)": (1.0, 10.0)},
        {"facebook": (0.5, 5.0), "google": (0.5, 5.0)},
    ]
    return models, expected


async def time_decay_of_touches_14_7_1_and_0_days_before(shop):
    for source, days in (("a", 14), ("b", 7), ("c", 1), ("d", 0)):
        await visits(shop, "P", source, day(16 - days))
    await buys(shop, "P", 100, day(16))
    money = {source: amount for source, (_, amount) in (await credit_by_source(shop, "time_decay")).items()}
    return money, {"a": 9.41, "b": 18.83, "c": 34.11, "d": 37.65}


async def session_that_begins_with_a_system_event(shop):
    await shop.tracks("$identify", at=day(1), anonymous_id="A1", user_id="U1", session="s1")
    sale = "https://shop.example.com/sale?utm_source=google&utm_medium=cpc"
    properties = {"url": sale, "utm_source": "google", "utm_medium": "cpc"}
    await shop.tracks(
        "page_view", at=day(1, minutes=29), anonymous_id="A1", session="s1", properties=properties
    )
    rows = (
        await shop.client.post(
            "/query",
            {
                "metrics": ["sessions"],
                "dimensions": ["attribution_source", "landing_page", "channel"],
                "date_range": RANGE,
            },
        )
    )["rows"]
    return rows, [
        {"attribution_source": "google", "landing_page": "/sale", "channel": "paid_search", "sessions": 1}
    ]


async def carried_values_are_one_touch(shop):
    await visits(shop, "A1", "news", day(1))
    stored = {"utm_source": "news", "utm_medium": "test", "url": "https://shop.example.com/again"}
    await shop.tracks("page_view", at=day(2), anonymous_id="A1", session="s2", properties=stored)
    events = (await shop.client.get("/events", **DAYS))["events"]
    rows = (
        await shop.client.post(
            "/query", {"metrics": ["sessions"], "dimensions": ["attribution_source"], "date_range": RANGE}
        )
    )["rows"]
    await buys(shop, "A1", 10, day(3))
    return (
        [
            (event["attribution_carried"], event["utm_source"], event["attribution_source"])
            for event in events
        ],
        {row["attribution_source"]: row["sessions"] for row in rows},
        await credit_by_source(shop, "first_touch"),
        await credit_by_source(shop, "last_non_direct"),
    ), (
        [(True, "news", "(direct)"), (False, "news", "news")],
        {"news": 1, "(direct)": 1},
        {"news": (1.0, 10.0)},
        {"news": (1.0, 10.0)},
    )


async def usage_counts_by_receipt(shop):
    for at in (NOW - timedelta(days=300), NOW - timedelta(days=400), NOW):
        await shop.tracks("click", at=at, anonymous_id="A1")
    await shop.tracks("session_start", at=NOW, anonymous_id="A1")
    await shop.tracks("click", at=NOW, anonymous_id="A1", properties={"test": True})
    return (await shop.client.get("/usage"))["events_used"], 3


async def refund_dated_before_its_charge_nets_to_zero(shop):
    await save_rates(shop.client, RATES)
    order = {"order_id": "o1", "currency": "EUR"}
    await shop.tracks("refund", at=day(1), anonymous_id="A1", properties={"revenue": 100, **order})
    await shop.tracks("purchase", at=day(2), anonymous_id="A1", properties={"revenue": 100, **order})
    return await values(shop, "revenue", "refunds", "net_revenue"), [120, 120, 0]


async def unknown_currency_makes_no_sum_unavailable(shop):
    for amount, currency in ((10, "XQQ"), (50, "USD")):
        paid = {"revenue": amount, "currency": currency}
        await shop.tracks("purchase", at=day(1), anonymous_id=f"A-{currency}", properties=paid)
    return await values(shop, "revenue", "net_revenue", "purchases"), [50, 50, 2]


async def referrers_of_apps_are_external(shop):
    for number, package in enumerate(
        ("com.google.android.googlequicksearchbox", "com.google.android.gm", "org.example.reader")
    ):
        referrer = {"referrer": f"android-app://{package}/", "url": "https://shop.example.com/"}
        await shop.tracks("page_view", at=day(1), anonymous_id=f"A{number}", session="s", properties=referrer)
    rows = (
        await shop.client.post(
            "/query", {"metrics": ["visitors"], "dimensions": ["channel"], "date_range": RANGE}
        )
    )["rows"]
    return {row["channel"]: row["visitors"] for row in rows}, {"organic_search": 1, "email": 1, "referral": 1}


async def provider_events_are_no_visitors(shop):
    about = {
        "id": "pi_1", "object": "payment_intent", "amount_received": 5000, "currency": "usd", "customer": "cus_1",
        "metadata": {},
    }  # fmt: skip
    message = {
        "id": "evt_1",
        "created": int(day(1).timestamp()),
        "livemode": True,
        "type": "payment_intent.succeeded",
    }
    await shop.provider_tells("stripe", {**message, "data": {"object": about}}, {})
    traffic = (await shop.client.get("/traffic", type="referrer", **DAYS))["total"]
    names = (
        "visitors",
        "sessions",
        "pageviews",
        "events",
        "conversions",
        "orders",
        "revenue",
        "conversion_rate",
    )
    return [traffic, *await values(shop, *names)], [0, 0, 0, 0, 1, 1, 1, 50, None]


CASES = {
    "identity": (
        identity_a_views_before_identification,
        identity_b_second_user_of_a_device,
        identity_c_two_devices_of_a_user,
        identity_d_alias,
        identity_e_placeholders,
    ),
    "lone strong ids": (
        lone_distinct_id_after_the_browser,
        lone_distinct_id_before_the_browser,
        lone_distinct_id_that_is_a_user_id,
    ),
    "models": (
        shapley_gives_each_path_its_own_money,
        data_driven_models_of_four_paths,
        rule_based_models_of_four_touches,
        time_decay_of_touches_14_7_1_and_0_days_before,
    ),
    "visits": (
        sessions_roll_each_utc_hour,
        session_that_begins_with_a_system_event,
        carried_values_are_one_touch,
        referrers_of_apps_are_external,
        provider_events_are_no_visitors,
    ),
    "money and usage": (
        values_of_standard_events_are_no_money,
        refund_dated_before_its_charge_nets_to_zero,
        unknown_currency_makes_no_sum_unavailable,
        usage_counts_by_receipt,
    ),
}
"""Each case sends events to a workspace of its own and returns what the API answers, and what the semantics says."""


@pytest.mark.parametrize("subject", CASES)
@pytest.mark.parametrize("store", EVERY_EVENT_STORE)
async def test_golden_numbers_hold_on_every_event_store(store, subject, request, tmp_path):
    wrong = {}
    with registry_and_url_of_event_store(store, request, tmp_path) as (registry, url):
        async with run_deployment(url, tmp_path, registry, rates="rates:///rates.csv") as served:
            served.now = NOW
            for case in CASES[subject]:
                shop = PipelineWorkspace(served, await served.workspace(timezone="UTC"))
                answer, expected = await case(shop)
                if answer != expected:
                    wrong[case.__name__] = (answer, expected)
    assert wrong == {}
