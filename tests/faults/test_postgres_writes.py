"""Writes while PostgreSQL is killed under them: what was answered is there, and everything is there once."""

import asyncio
import random
from contextlib import suppress

import pytest
from sqlalchemy.exc import SQLAlchemyError

from service_core.insight.ports import StoreUnavailable
from tests.changes.conftest import desk_over, opened

pytestmark = pytest.mark.faults
WRITERS = 4
PAUSE_SECONDS = 0.05


class Writer:
    """Creates notes one after the other, each until it is answered, as a client that retries."""

    def __init__(self, desk, name):
        self.desk, self.name = desk, name
        self.answered = {}

    async def work(self, stop):
        while not stop.is_set():
            name = f"{self.name} {len(self.answered)}"
            await self._until_answered(self.desk.once(name, {"note": {"name": name}}), name)

    async def _until_answered(self, sender, name):
        while name not in self.answered:
            with suppress(StoreUnavailable, SQLAlchemyError, OSError):
                self.answered[name] = (await sender.create(name)).audit_id
                return
            await asyncio.sleep(PAUSE_SECONDS)


async def test_no_answered_write_is_lost_or_doubled_when_the_database_is_killed(
    postgres_server, tmp_path, full
):
    stop = asyncio.Event()
    async with opened(postgres_server.url, tmp_path) as one, opened(postgres_server.url, tmp_path) as other:
        desk = await desk_over(one, one)
        writers = [
            Writer(desk.at(store), f"note {n}") for n, store in enumerate([one, other] * (WRITERS // 2))
        ]
        async with asyncio.TaskGroup() as at_work:
            for writer in writers:
                at_work.create_task(writer.work(stop))
            for _ in range(20 if full else 2):
                await asyncio.sleep(random.uniform(0.1, 0.5))
                await asyncio.to_thread(postgres_server.kill)
                await asyncio.to_thread(postgres_server.start)
            stop.set()
        answered = {name: audit for writer in writers for name, audit in writer.answered.items()}
        kept = [note["name"] for note in await desk.notes()]
    assert sorted(kept) == sorted(answered)
    assert len(set(answered.values())) == len(answered) > 0
