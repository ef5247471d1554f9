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
from tests.analytics.deployment import NOW
from tests.commerce.providers.fake_providers import FAKE_PROVIDERS, FakeShopify, FakeStripe, connect_provider
from tests.commerce.providers.webhook_client import open_webhook_client
from tests.fixtures.stub_platform_api import StubResponse
from tests.fixtures.stub_platform_api import serve_api as listening

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
FIRST = NOW - timedelta(days=6)
"""When the first thing happens."""


class Shop:
    """A workspace whose provider can be asked."""

    def __init__(self, door, client, till):
        self.door, self.client, self.till = door, client, till
        whole = door.served.service.component(ProviderSync)
        self.reading = replace(whole, providers={till.id: till.provider()}, _backoffs={})

    @property
    def own(self):
        return self.client.workspace.id

    def sell(self, number):
        self.till.sell(number, FIRST + number * HOUR)

    async def send(self, place):
        body, headers = self.till.webhook(place)
        answer = await self.door.post(
            f"/webhooks/{self.till.id}/{self.client.workspace.public_id}", body, headers
        )
        assert answer.status == 200
        return answer.json["duplicate"]

    async def ask(self):
        (outcome,) = await self.reading.sync_workspace(self.own, ignore_schedule=True)
        return outcome

    def pass_(self, time):
        self.door.served.now += time

    async def facts(self):
        """Everything there is, without what names the moment of its receipt."""
        await self.door.drain()
        listed = await self.client.get("/events", start_date="2026-07-01", end_date="2026-07-08", limit=200)
        names = ("event_id", "event_name", "timestamp", "revenue", "order_id", "visitor_id")
        rows = sorted(tuple(event[name] for name in names) for event in listed["events"])
        states = [(one.subscription_id, one.at) for one in await self.door.subscriptions(self.client)]
        return rows, sorted(states)


@asynccontextmanager
async def selling(folder, kind=FakeStripe, *, key=True):
    async with open_webhook_client(folder) as door, listening(kind(lambda: door.served.now)) as till:
        client = await door.served.workspace(timezone="UTC")
        await connect_provider(door, client, till, key=key)
        yield Shop(door, client, till)


@pytest.fixture
async def polled_provider(tmp_path):
    async with selling(tmp_path) as polled_provider:
        yield polled_provider


@pytest.mark.parametrize("kind", FAKE_PROVIDERS)
async def test_what_happened_before_the_connection_is_there_after_the_first_reading(tmp_path, kind):
    async with selling(tmp_path, kind) as shop:
        for number in range(7):
            shop.sell(number)
        assert (await shop.ask()).counts["new"] == 7
        asked, _ = await shop.facts()
        assert len(asked) == 7
        connection = await shop.door.connection(shop.client)
        assert (connection.status, connection.last_synced_at) == (ConnectionStatus.CONNECTED, NOW)
    (tmp_path / "sent").mkdir()
    async with selling(tmp_path / "sent", kind) as other:
        for number in range(7):
            other.sell(number)
            await other.send(number)
        assert (await other.facts())[0] == asked


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
def test_webhooks_and_readings_in_any_order_and_overlap_give_one_set_of_facts(tmp_path_factory, kind, steps):
    asyncio.run(_play(tmp_path_factory.mktemp("till"), kind, steps))


async def _play(folder, kind, steps):
    async with selling(folder, kind) as shop:
        sold = count()
        for what, how in steps:
            if what == "sell":
                shop.sell(next(sold))
            elif what == "send" and shop.till.happened:
                await shop.send(how % len(shop.till.happened))
            elif what == "ask":
                await shop.ask()
            elif what == "wait":
                shop.pass_(how)
        happened = range(len(shop.till.happened))
        for place in happened:
            await shop.send(place)
        rows, states = await shop.facts()
        assert len({row[0] for row in rows}) == len(rows) == len(happened)
        again = [await shop.send(place) for place in happened]
        assert all(again)
        await shop.ask()
        assert await shop.facts() == (rows, states)
        revenue = sum(row[3] or 0 for row in rows)
        assert revenue == pytest.approx(sum(map(_worth, shop.till.happened)))


def _worth(message):
    """What a message of a till says was earned, without reading it as the plugins do."""
    if isinstance(message, tuple):
        return {"orders/paid": 20.0, "refunds/create": -5.0}.get(message[0], 0)
    about = message["data"]["object"]
    return about.get("amount_received", -about.get("amount_refunded", 0)) / 100


@pytest.mark.parametrize("kind", FAKE_PROVIDERS)
async def test_a_message_that_comes_again_after_months_is_still_the_same(tmp_path, kind):
    async with selling(tmp_path, kind, key=False) as shop:
        shop.sell(0)
        assert not await shop.send(0)
        before = await shop.facts()
        shop.pass_(20 * DAY)
        assert await shop.send(0)
        assert await shop.facts() == before
        async with asyncio.timeout(20):  # a repeat that is known is counted within a second
            while not await _duplicates(shop.client):
                await asyncio.sleep(0.02)


async def _duplicates(client):
    answer = await client.get("/ledger", start_date="2026-07-28", end_date="2026-07-28")
    assert answer["balanced"]
    return [row["duplicate"] for row in answer["rows"] if row["channel"] == "webhook"]


async def test_a_reading_goes_back_behind_the_one_before_by_an_hour(polled_provider):
    polled_provider.sell(0)
    await polled_provider.ask()
    assert "created[gte]" not in polled_provider.till.asked[0].query
    polled_provider.till.asked.clear()
    polled_provider.pass_(5 * HOUR)
    polled_provider.till.sell(3, NOW - timedelta(minutes=30))  # listed late
    assert (await polled_provider.ask()).counts == {"messages": 1, "new": 1}
    (question,) = polled_provider.till.asked
    assert question.query["created[gte]"] == str(int((NOW - HOUR).timestamp()))


async def test_it_is_due_each_hour_whatever_webhooks_come(polled_provider):
    assert await polled_provider.reading.due_workspaces() == [polled_provider.own]
    polled_provider.sell(0)
    await polled_provider.ask()
    assert await polled_provider.reading.due_workspaces() == []
    polled_provider.pass_(59 * timedelta(minutes=1))
    await polled_provider.send(0)
    assert await polled_provider.reading.due_workspaces() == []
    polled_provider.pass_(timedelta(minutes=1))
    assert await polled_provider.reading.due_workspaces() == [polled_provider.own]


async def test_a_connection_without_a_credential_to_ask_takes_webhooks_and_is_left_alone(tmp_path):
    async with selling(tmp_path, key=False) as shop:
        shop.sell(0)
        await shop.send(0)
        assert await shop.reading.sync_workspace(shop.own, ignore_schedule=True) == []
        assert shop.till.asked == []
        assert await shop.reading.due_workspaces() == []


async def test_refused_credentials_put_the_connection_in_error_and_webhooks_are_still_taken(polled_provider):
    polled_provider.sell(0)
    polled_provider.till.fail_with(ServerFailure.REFUSED)
    outcome = await polled_provider.ask()
    assert outcome.problem == "Stripe says: Invalid API Key provided: ***"
    connection = await polled_provider.door.connection(polled_provider.client)
    assert (connection.status, connection.error) == (ConnectionStatus.ERROR, outcome.problem)
    assert not await polled_provider.send(0)
    assert (await polled_provider.door.connection(polled_provider.client)).status is ConnectionStatus.ERROR
    assert await polled_provider.reading.due_workspaces() == []
    polled_provider.till.fail_with(None)
    polled_provider.pass_(HOUR)
    assert await polled_provider.reading.due_workspaces() == [polled_provider.own]
    assert (await polled_provider.ask()).problem is None
    assert (await polled_provider.door.connection(polled_provider.client)).error is None


@pytest.mark.parametrize("kind", FAKE_PROVIDERS)
async def test_a_provider_that_asks_to_be_left_alone_is_even_when_webhooks_come(tmp_path, kind):
    async with selling(tmp_path, kind) as shop:
        shop.sell(0)
        await shop.ask()
        shop.pass_(HOUR)
        shop.till.fail_with(ServerFailure.BUSY)
        assert (await shop.ask()).problem
        shop.pass_(timedelta(seconds=RETRY_SECONDS - 1))
        await shop.send(0)
        assert await shop.reading.due_workspaces() == []
        shop.pass_(timedelta(seconds=1))
        assert await shop.reading.due_workspaces() == [shop.own]
        assert (await shop.door.connection(shop.client)).status is ConnectionStatus.CONNECTED


@pytest.mark.parametrize("kind", FAKE_PROVIDERS)
@pytest.mark.parametrize("trouble", [ServerFailure.GARBAGE, ServerFailure.BROKEN, ServerFailure.CUT])
async def test_what_cannot_be_read_is_told_and_keeps_what_was_read(tmp_path, kind, trouble):
    async with selling(tmp_path, kind) as shop:
        shop.till.fail_with(trouble)
        assert (await shop.ask()).problem
        assert (await shop.door.connection(shop.client)).error is not None
        assert (await shop.reading.poll_states.poll_states(shop.own)).get(shop.till.id) is None


async def test_a_reading_that_was_cut_short_begins_anew_and_doubles_nothing(polled_provider, monkeypatch):
    for number in range(5):
        polled_provider.sell(number)
    keep = polled_provider.reading.message_store.processed_messages.mark_processed
    lots = count()

    async def failing_once(*given):
        if next(lots) == 1:
            raise StoreUnavailable
        await keep(*given)

    monkeypatch.setattr(
        polled_provider.door.ports.workspace.processed_messages, "mark_processed", failing_once
    )
    with pytest.raises(StoreUnavailable):
        await polled_provider.ask()
    assert (await polled_provider.ask()).problem is None
    assert len((await polled_provider.facts())[0]) == 5


async def test_a_shop_that_asks_for_a_moment_gets_it(tmp_path):
    async with selling(tmp_path, FakeShopify) as shop:
        shop.sell(0)
        answers, busy = (
            shop.till.answers,
            [StubResponse({"errors": "slow"}, 429, {"Retry-After": "0.001"})] * 3,
        )
        shop.till.answers = lambda asked: busy.pop() if busy else answers(asked)
        assert (await shop.ask()).counts == {"messages": 1, "new": 1}


async def test_an_order_that_is_gone_by_now_was_paid_when_it_was_placed(tmp_path):
    async with selling(tmp_path, FakeShopify) as shop:
        shop.sell(0)
        answers = shop.till.answers
        shop.till.answers = lambda asked: (
            StubResponse({"errors": "Not Found"}, 404) if "transactions" in asked.path else answers(asked)
        )
        assert (await shop.ask()).counts == {"messages": 1, "new": 1}
        assert (await shop.facts())[0][0][2] == "2026-07-02T15:00:00.000Z"


async def test_a_shop_is_asked_at_its_own_address_alone(tmp_path):
    """The token goes nowhere else, whatever is noted as the account."""
    async with selling(tmp_path, FakeShopify) as shop:
        shop.till.account = "elsewhere.example/?.myshopify.com"
        await connect_provider(shop.door, shop.client, shop.till)
        assert "Note the shop" in (await shop.ask()).problem
        assert shop.till.asked == []


async def test_kinds_that_are_left_out_are_not_asked_for(polled_provider):
    await polled_provider.ask()
    whole = polled_provider.till.asked[-1].query["types[]"]
    polled_provider.reading = replace(
        polled_provider.reading, excluded_kinds={"stripe": ("payment_intent.succeeded",)}
    )
    await polled_provider.ask()
    assert (whole, polled_provider.till.asked[-1].query["types[]"]) == (
        "payment_intent.succeeded", "invoice.payment_succeeded",
    )  # fmt: skip


async def test_nothing_is_asked_for_a_workspace_that_is_not_active(polled_provider):
    await polled_provider.client.changes(active=False)
    assert await polled_provider.reading.sync_workspace(polled_provider.own, ignore_schedule=True) == []
    assert polled_provider.till.asked == []


async def _known(polled_provider, metric="active_subscriptions"):
    """Whether an answer is complete, and up to when."""
    asked = {"metrics": [metric], "date_range": {"from": "2026-07-01", "to": "2026-07-08"}}
    meta = (await polled_provider.client.post("/query", asked))["meta"]
    return meta["complete"], meta["data_through"]


async def test_what_one_is_asked_for_reaches_to_the_last_reading_once_it_is_two_hours_old(polled_provider):
    polled_provider.sell(1)
    await polled_provider.ask()
    polled_provider.pass_(2 * HOUR - timedelta(seconds=1))
    assert (await _known(polled_provider))[0] is True
    polled_provider.pass_(timedelta(seconds=1))
    await polled_provider.send(0)  # a webhook tells nothing of those that did not come
    await polled_provider.door.drain()
    assert await _known(polled_provider) == (False, "2026-07-08T15:00:00.000Z")
    assert await _known(polled_provider, "revenue") == (False, "2026-07-08T15:00:00.000Z")
    assert (await _known(polled_provider, "visitors"))[0] is True


async def test_one_that_only_sends_is_believed_present_and_again_when_its_key_is_taken_away(polled_provider):
    polled_provider.sell(1)
    await polled_provider.ask()
    polled_provider.pass_(5 * HOUR)
    assert (await _known(polled_provider))[0] is False
    await polled_provider.door.ports.connection_secrets.save_secrets(
        polled_provider.own, "stripe", {"webhook_secret": "other"}
    )
    assert await polled_provider.reading.sync_workspace(polled_provider.own, ignore_schedule=True) == []
    assert (await _known(polled_provider))[0] is True
