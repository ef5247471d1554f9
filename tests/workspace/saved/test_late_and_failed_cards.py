"""Cards of a dashboard that take too long or fail: cancelled, marked, and no matter of the other cards."""

import asyncio

import pytest

from service_core.analytics.ports import QueryTimeout, StoreUnavailable
from service_core.workspace.time_budget import BUDGET_SECONDS, MAX_CONCURRENCY
from tests.workspace.saved.conftest import SavedReportsApi
from tests.workspace.saved.test_runs import GERMANY, unavailable_reasons


class BlockedRead:
    """A store whose answers about one metric wait until they are cancelled."""

    def __init__(self, store):
        self.ask, self.begun, self.cancelled, self.most = store.aggregate, 0, 0, 0
        self.running, self.full = 0, asyncio.Event()

    async def __call__(self, plan):
        if not plan.dimensions:
            return await self.ask(plan)
        self.begun, self.running = self.begun + 1, self.running + 1
        if self.running == MAX_CONCURRENCY:
            self.full.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.running -= 1
            self.cancelled += 1


async def test_late_cards_are_cancelled_and_marked(api_client):
    chart = await api_client.chart()
    late = [
        await api_client.chart(f"P{number}", chart=None, dimension="country")
        for number in range(MAX_CONCURRENCY + 1)
    ]
    path = f"/dashboards/{(await api_client.board(chart, *late, filters=[GERMANY]))['id']}"
    held = api_client.service.ports.events.aggregate = BlockedRead(api_client.service.ports.events)
    run = asyncio.create_task(api_client.run(path))
    await held.full.wait()
    api_client.bell.rung.set()
    ran = await run
    assert api_client.bell.seconds == [BUDGET_SECONDS] == [22]
    assert [card["status"] for card in ran["cards"]] == ["ok", *["timeout"] * (MAX_CONCURRENCY + 1)]
    assert (held.begun, held.running) == (MAX_CONCURRENCY, 0)
    assert ran["partial"] is True
    assert [ran["cards"][1][name] for name in ("result", "error")] == [None, None]
    assert unavailable_reasons(ran["cards"][1]) == [("country", "catalog_report")]


async def test_cancelled_caller_cancels_the_cards(api_client):
    cards = [
        await api_client.chart(f"P{number}", chart=None, dimension="country")
        for number in range(MAX_CONCURRENCY)
    ]
    path = f"/dashboards/{(await api_client.board(*cards))['id']}"
    held = api_client.service.ports.events.aggregate = BlockedRead(api_client.service.ports.events)
    run = asyncio.create_task(api_client.run(path))
    await held.full.wait()
    run.cancel()
    await asyncio.wait([run])
    assert (run.cancelled(), held.running) == (True, 0)


async def test_late_card_is_cancelled_in_the_engine(tmp_path):
    api_client = SavedReportsApi(tmp_path, storage={"events": "duckdb:///events.db?timeout_seconds=300"})
    async with api_client.service:
        await api_client.open()
        path = f"/dashboards/{(await api_client.board(await api_client.chart()))['id']}"
        store, begun = api_client.service.ports.events, asyncio.Event()
        ask, loop, ended = store.aggregate, asyncio.get_running_loop(), []

        def endless(reader):
            loop.call_soon_threadsafe(begun.set)
            try:
                return reader.text("SELECT count(*) FROM range(1000000000000) a, range(1000000000000) b")
            finally:
                ended.append(True)

        store.aggregate = lambda plan: store._engine.run_read_within_time_budget(endless)
        run = asyncio.create_task(api_client.run(path))
        await begun.wait()
        api_client.bell.rung.set()
        assert [card["status"] for card in (await run)["cards"]] == ["timeout"]
        assert ended == [True]
        store.aggregate = ask
        api_client.bell.rung.clear()
        assert [card["status"] for card in (await api_client.run(path))["cards"]] == ["ok"]


@pytest.mark.parametrize(
    ("fault", "status", "error"),
    [(StoreUnavailable, "error", "data_unverified"), (QueryTimeout, "timeout", None)],
)
async def test_failed_card_does_not_affect_others(api_client, fault, status, error):
    path = f"/dashboards/{(await api_client.board(await api_client.chart(), await api_client.plan()))['id']}"
    store = api_client.service.ports.events
    ask = store.aggregate

    async def failing(question):
        if question.dimensions:
            raise fault
        return await ask(question)

    store.aggregate = failing
    ran = await api_client.run(path)
    assert [card["status"] for card in ran["cards"]] == ["ok", status]
    assert (ran["partial"], (ran["cards"][1]["error"] or {}).get("code")) == (True, error)


async def test_unexpected_error_in_a_card_fails_the_run(api_client):
    path = f"/dashboards/{(await api_client.board(await api_client.chart(), await api_client.plan()))['id']}"

    async def broken(question):
        raise RuntimeError

    api_client.service.ports.events.aggregate = broken
    answer = await api_client.ask("POST", f"{path}/run")
    assert (answer.status, answer.json["code"]) == (500, "internal_error")
