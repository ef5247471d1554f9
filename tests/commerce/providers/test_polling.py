"""Providers are asked for what their webhooks did not bring, and nothing is there twice."""

import asyncio
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from itertools import count

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from service_core.analytics.connections.models import ConnectionStatus
from service_core.analytics.ports import StoreUnavailable
from service_core.commerce.providers.poll import ProviderSync
from service_core.testing.ad_platform import RETRY_SECONDS, ServerFailure
from service_core.testing.fake_platform import FakeResponse
from service_core.testing.fake_platform import serve_api as listening
from tests.analytics.deployment import NOW
from tests.commerce.providers.fake_providers import FAKE_PROVIDERS, FakeShopify, FakeStripe, connect_provider
from tests.commerce.providers.webhook_client import open_webhook_client
from tests.fixtures.waiting import GUARD_SECONDS

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
FIRST = NOW - timedelta(days=6)
"""When the first thing happens."""


class PolledProvider:
    """A workspace whose provider can be asked."""

    def __init__(self, webhook_client, client, provider_api):
        self.webhook_client, self.client, self.provider_api = webhook_client, client, provider_api
        whole = webhook_client.served.service.component(ProviderSync)
        self.reading = replace(whole, providers={provider_api.id: provider_api.provider()}, _backoffs={})

    @property
    def own(self):
        return self.client.workspace.id

    def sell(self, number):
        self.provider_api.sell(number, FIRST + number * HOUR)

    async def send(self, place):
        body, headers = self.provider_api.webhook(place)
        answer = await self.webhook_client.post(
            f"/webhooks/{self.provider_api.id}/{self.client.workspace.public_id}", body, headers
        )
        assert answer.status == 200
        return answer.json["duplicate"]

    async def sync(self):
        (outcome,) = await self.reading.sync_workspace_unless_leased(self.own, ignore_schedule=True)
        return outcome

    def advance_clock(self, time):
        self.webhook_client.served.now += time

    async def facts(self):
        """Everything there is, without what names the moment of its receipt."""
        await self.webhook_client.drain()
        listed = await self.client.get("/events", start_date="2026-07-01", end_date="2026-07-08", limit=200)
        names = ("event_id", "event_name", "timestamp", "revenue", "order_id", "visitor_id")
        rows = sorted(tuple(event[name] for name in names) for event in listed["events"])
        states = [
            (one.subscription_id, one.at) for one in await self.webhook_client.subscriptions(self.client)
        ]
        return rows, sorted(states)


@asynccontextmanager
async def run_polled_provider(folder, kind=FakeStripe, *, key=True, **fields):
    async with (
        open_webhook_client(folder) as webhook_client,
        listening(kind(lambda: webhook_client.served.now)) as provider_api,
    ):
        client = await webhook_client.served.workspace(timezone="UTC", **fields)
        await connect_provider(webhook_client, client, provider_api, key=key)
        yield PolledProvider(webhook_client, client, provider_api)


@pytest.fixture
async def polled_provider(tmp_path):
    async with run_polled_provider(tmp_path) as polled_provider:
        yield polled_provider


@pytest.mark.parametrize("kind", FAKE_PROVIDERS)
async def test_first_sync_imports_messages_before_the_connection(tmp_path, kind):
    async with run_polled_provider(tmp_path, kind) as shop:
        for number in range(7):
            shop.sell(number)
        assert (await shop.sync()).counts["new"] == 7
        request, _ = await shop.facts()
        assert len(request) == 7
        connection = await shop.webhook_client.connection(shop.client)
        assert (connection.status, connection.last_synced_at) == (ConnectionStatus.CONNECTED, NOW)
    (tmp_path / "sent").mkdir()
    async with run_polled_provider(tmp_path / "sent", kind) as other:
        for number in range(7):
            other.sell(number)
            await other.send(number)
        assert (await other.facts())[0] == request


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("sell"), st.none()),
        st.tuples(st.just("send"), st.integers(0, 8)),
        st.tuples(st.just("ask"), st.none()),
        st.tuples(st.just("wait"), st.sampled_from([HOUR, 3 * DAY, 8 * DAY])),
    ),
    min_size=4,
    max_size=14,
)


@pytest.mark.parametrize("kind", FAKE_PROVIDERS)
@settings(
    max_examples=6,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(steps=STEPS)
def test_webhooks_and_syncs_in_any_order_give_the_same_events(tmp_path_factory, kind, steps):
    asyncio.run(check_events_after_steps(tmp_path_factory.mktemp("provider_api"), kind, steps))


async def check_events_after_steps(folder, kind, steps):
    async with run_polled_provider(folder, kind) as shop:
        sold = count()
        for what, how in steps:
            if what == "sell":
                shop.sell(next(sold))
            elif what == "send" and shop.provider_api.happened:
                await shop.send(how % len(shop.provider_api.happened))
            elif what == "ask":
                await shop.sync()
            elif what == "wait":
                shop.advance_clock(how)
        happened = range(len(shop.provider_api.happened))
        for place in happened:
            await shop.send(place)
        rows, states = await shop.facts()
        assert len({row[0] for row in rows}) == len(rows) == len(happened)
        again = [await shop.send(place) for place in happened]
        assert all(again)
        await shop.sync()
        assert await shop.facts() == (rows, states)
        revenue = sum(row[3] or 0 for row in rows)
        assert revenue == pytest.approx(sum(map(payment_amount, shop.provider_api.happened)))


def payment_amount(message):
    """What a message of a provider says was earned, without reading it as the plugins do."""
    if isinstance(message, tuple):
        return {"orders/paid": 20.0, "refunds/create": -5.0}.get(message[0], 0)
    about = message["data"]["object"]
    return about.get("amount_received", -about.get("amount_refunded", 0)) / 100


@pytest.mark.parametrize("kind", FAKE_PROVIDERS)
async def test_repeated_message_is_a_duplicate_after_months(tmp_path, kind):
    async with run_polled_provider(tmp_path, kind, key=False) as shop:
        shop.sell(0)
        assert not await shop.send(0)
        before = await shop.facts()
        shop.advance_clock(20 * DAY)
        assert await shop.send(0)
        assert await shop.facts() == before
        async with asyncio.timeout(GUARD_SECONDS):  # a repeat that is known is counted within a second
            while not await count_duplicates(shop.client):
                await asyncio.sleep(0.02)


async def count_duplicates(client):
    answer = await client.get("/ledger", start_date="2026-07-28", end_date="2026-07-28")
    assert answer["balanced"]
    return [row["duplicate"] for row in answer["rows"] if row["channel"] == "webhook"]


async def test_sync_overlaps_the_previous_one_by_an_hour(polled_provider):
    polled_provider.sell(0)
    await polled_provider.sync()
    assert "created[gte]" not in polled_provider.provider_api.asked[0].query
    polled_provider.provider_api.asked.clear()
    polled_provider.advance_clock(5 * HOUR)
    polled_provider.provider_api.sell(3, NOW - timedelta(minutes=30))  # listed late
    assert (await polled_provider.sync()).counts == {"messages": 1, "new": 1}
    events, fees = polled_provider.provider_api.asked
    assert (events.path, fees.path) == ("/v1/events", "/v1/balance_transactions")
    assert {one.query["created[gte]"] for one in (events, fees)} == {str(int((NOW - HOUR).timestamp()))}


async def test_sync_is_due_hourly_regardless_of_webhooks(polled_provider):
    assert await polled_provider.reading.list_due_workspaces() == [polled_provider.own]
    polled_provider.sell(0)
    await polled_provider.sync()
    assert await polled_provider.reading.list_due_workspaces() == []
    polled_provider.advance_clock(59 * timedelta(minutes=1))
    await polled_provider.send(0)
    assert await polled_provider.reading.list_due_workspaces() == []
    polled_provider.advance_clock(timedelta(minutes=1))
    assert await polled_provider.reading.list_due_workspaces() == [polled_provider.own]


async def test_connection_without_api_credential_receives_webhooks_only(tmp_path):
    async with run_polled_provider(tmp_path, key=False) as shop:
        shop.sell(0)
        await shop.send(0)
        assert await shop.reading.sync_workspace_unless_leased(shop.own, ignore_schedule=True) == []
        assert shop.provider_api.asked == []
        assert await shop.reading.list_due_workspaces() == []


async def test_rejected_credentials_set_an_error_and_webhooks_are_accepted(polled_provider):
    polled_provider.sell(0)
    polled_provider.provider_api.fail_with(ServerFailure.REFUSED)
    outcome = await polled_provider.sync()
    assert outcome.problem == "Stripe says: Invalid API Key provided: ***"
    connection = await polled_provider.webhook_client.connection(polled_provider.client)
    assert (connection.status, connection.error) == (ConnectionStatus.ERROR, outcome.problem)
    assert not await polled_provider.send(0)
    assert (
        await polled_provider.webhook_client.connection(polled_provider.client)
    ).status is ConnectionStatus.ERROR
    assert await polled_provider.reading.list_due_workspaces() == []
    polled_provider.provider_api.fail_with(None)
    polled_provider.advance_clock(HOUR)
    assert await polled_provider.reading.list_due_workspaces() == [polled_provider.own]
    assert (await polled_provider.sync()).problem is None
    assert (await polled_provider.webhook_client.connection(polled_provider.client)).error is None


@pytest.mark.parametrize("kind", FAKE_PROVIDERS)
async def test_retry_after_of_a_provider_is_respected_despite_webhooks(tmp_path, kind):
    async with run_polled_provider(tmp_path, kind) as shop:
        shop.sell(0)
        await shop.sync()
        shop.advance_clock(HOUR)
        shop.provider_api.fail_with(ServerFailure.BUSY)
        assert (await shop.sync()).problem
        shop.advance_clock(timedelta(seconds=RETRY_SECONDS - 1))
        await shop.send(0)
        assert await shop.reading.list_due_workspaces() == []
        shop.advance_clock(timedelta(seconds=1))
        assert await shop.reading.list_due_workspaces() == [shop.own]
        assert (await shop.webhook_client.connection(shop.client)).status is ConnectionStatus.CONNECTED


@pytest.mark.parametrize("kind", FAKE_PROVIDERS)
@pytest.mark.parametrize("trouble", [ServerFailure.GARBAGE, ServerFailure.BROKEN, ServerFailure.CUT])
async def test_failed_sync_is_reported_and_keeps_imported_messages(tmp_path, kind, trouble):
    async with run_polled_provider(tmp_path, kind) as shop:
        shop.provider_api.fail_with(trouble)
        assert (await shop.sync()).problem
        assert (await shop.webhook_client.connection(shop.client)).error is not None
        assert (await shop.reading.poll_states.states_by_provider(shop.own)).get(shop.provider_api.id) is None


async def test_interrupted_sync_restarts_without_duplicates(polled_provider, monkeypatch):
    for number in range(5):
        polled_provider.sell(number)
    keep = polled_provider.reading.message_store.processed_messages.mark_processed
    lots = count()

    async def failing_once(*given):
        if next(lots) == 1:
            raise StoreUnavailable
        await keep(*given)

    monkeypatch.setattr(
        polled_provider.webhook_client.ports.workspace.processed_messages, "mark_processed", failing_once
    )
    with pytest.raises(StoreUnavailable):
        await polled_provider.sync()
    assert (await polled_provider.sync()).problem is None
    assert len((await polled_provider.facts())[0]) == 5


async def test_sync_waits_for_a_short_retry_after(tmp_path):
    async with run_polled_provider(tmp_path, FakeShopify) as shop:
        shop.sell(0)
        answers, busy = (
            shop.provider_api.answers,
            [FakeResponse({"errors": "slow"}, 429, {"Retry-After": "0.001"})] * 3,
        )
        shop.provider_api.answers = lambda request: busy.pop() if busy else answers(request)
        assert (await shop.sync()).counts == {"messages": 1, "new": 1}


async def test_deleted_order_keeps_its_payment_event(tmp_path):
    async with run_polled_provider(tmp_path, FakeShopify) as shop:
        shop.sell(0)
        answers = shop.provider_api.answers
        shop.provider_api.answers = lambda request: (
            FakeResponse({"errors": "Not Found"}, 404) if "transactions" in request.path else answers(request)
        )
        assert (await shop.sync()).counts == {"messages": 1, "new": 1}
        assert (await shop.facts())[0][0][2] == "2026-07-02T15:00:00.000Z"


async def test_shopify_is_requested_only_at_the_shop_domain(tmp_path):
    """The token goes nowhere else, whatever is noted as the account."""
    async with run_polled_provider(tmp_path, FakeShopify) as shop:
        shop.provider_api.account = "elsewhere.example/?.myshopify.com"
        await connect_provider(shop.webhook_client, shop.client, shop.provider_api)
        assert "Note the shop" in (await shop.sync()).problem
        assert shop.provider_api.asked == []


async def test_excluded_event_types_are_not_requested(polled_provider):
    await polled_provider.sync()
    whole = polled_provider.provider_api.asked[0].query["types[]"]
    polled_provider.provider_api.asked.clear()
    polled_provider.reading = replace(
        polled_provider.reading,
        excluded_kinds={"stripe": ("payment_intent.succeeded", "balance_transaction")},
    )
    await polled_provider.sync()
    (events,) = polled_provider.provider_api.asked
    assert (whole, events.query["types[]"]) == ("payment_intent.succeeded", "invoice.payment_succeeded")


async def test_shop_without_fees_is_not_asked_for_its_payouts(tmp_path):
    async with run_polled_provider(tmp_path, FakeShopify) as shop:
        shop.sell(0)
        shop.reading = replace(
            shop.reading, excluded_kinds={"shopify": ("shopify_payments/balance_transaction",)}
        )
        await shop.sync()
        assert [one.path for one in shop.provider_api.asked if "payments" in one.path] == []
        shop.reading = replace(shop.reading, excluded_kinds={"shopify": ("orders/paid",)})
        shop.sell(3)
        assert (await shop.sync()).counts["new"] == 0
        assert [one.path for one in shop.provider_api.asked if "payments" in one.path] != []


async def test_inactive_workspace_is_not_synced(polled_provider):
    await polled_provider.client.changes(active=False)
    assert (
        await polled_provider.reading.sync_workspace_unless_leased(polled_provider.own, ignore_schedule=True)
        == []
    )
    assert polled_provider.provider_api.asked == []


async def metric_completeness(polled_provider, metric="active_subscriptions"):
    """Whether an answer is complete, and up to when."""
    parameters = {"metrics": [metric], "date_range": {"from": "2026-07-01", "to": "2026-07-08"}}
    meta = (await polled_provider.client.post("/query", parameters))["meta"]
    return meta["complete"], meta["data_through"]


async def test_polled_provider_is_complete_up_to_its_last_sync(polled_provider):
    polled_provider.sell(1)
    await polled_provider.sync()
    polled_provider.advance_clock(2 * HOUR - timedelta(seconds=1))
    assert (await metric_completeness(polled_provider))[0] is True
    polled_provider.advance_clock(timedelta(seconds=1))
    await polled_provider.send(0)  # a webhook tells nothing of those that did not come
    await polled_provider.webhook_client.drain()
    assert await metric_completeness(polled_provider) == (False, "2026-07-08T15:00:00.000Z")
    assert await metric_completeness(polled_provider, "revenue") == (False, "2026-07-08T15:00:00.000Z")
    assert (await metric_completeness(polled_provider, "visitors"))[0] is True


async def test_webhook_only_provider_is_complete_up_to_now(polled_provider):
    polled_provider.sell(1)
    await polled_provider.sync()
    polled_provider.advance_clock(5 * HOUR)
    assert (await metric_completeness(polled_provider))[0] is False
    await polled_provider.webhook_client.ports.connection_secrets.replace_or_delete_secrets(
        polled_provider.own, "stripe", {"webhook_secret": "other"}
    )
    assert (
        await polled_provider.reading.sync_workspace_unless_leased(polled_provider.own, ignore_schedule=True)
        == []
    )
    assert (await metric_completeness(polled_provider))[0] is True
