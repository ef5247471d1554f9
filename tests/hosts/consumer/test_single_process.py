"""Which process consumes."""

import asyncio
from types import SimpleNamespace

import pytest

from hosts import single_process
from hosts.composition.compose import load_installed_registry_once
from hosts.single_process import _consume_until_stopped


@pytest.fixture
def consume(monkeypatch, tmp_path):
    """Consumes for a service with some event store; returns where."""

    async def consume(url, *, in_this_process=False):
        places = []

        async def consume_here(_ports, _settings, _stop):
            places.append("this process")

        async def consume_in_child(_file, _store, _stop):
            places.append("a process of its own")

        monkeypatch.setattr(single_process, "consume_task", consume_here)
        monkeypatch.setattr(single_process, "run_consumer_process_until_stopped", consume_in_child)
        service = SimpleNamespace(
            settings=SimpleNamespace(storage=SimpleNamespace(events=url)),
            ports=SimpleNamespace(registry=load_installed_registry_once(), events=object()),
        )
        await _consume_until_stopped(
            service, tmp_path / "touchpoint.toml", asyncio.Event(), in_this_process=in_this_process
        )
        return places

    return consume


@pytest.mark.parametrize("url", ["duckdb:///events.db", "postgresql://localhost/touchpoint"])
async def test_consumer_is_a_process_of_its_own_unless_asked_otherwise(consume, url):
    assert await consume(url) == ["a process of its own"]
    assert await consume(url, in_this_process=True) == ["this process"]


@pytest.mark.parametrize("url", ["memory://", "clickhouse://localhost/touchpoint"])
async def test_stores_that_take_no_encoded_batches_are_appended_to_by_their_own_process(consume, url):
    assert await consume(url) == ["this process"]
