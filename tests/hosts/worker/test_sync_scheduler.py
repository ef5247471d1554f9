"""What is connected is read beside everything else: none waits for another, and nothing outlives the process's stop."""

import asyncio
from uuid import uuid4

import pytest

from hosts.worker import sync_scheduler

SLOW, BROKEN, WELL = uuid4(), uuid4(), uuid4()


class Reading:
    """Workspaces that are always due: one is never done, one fails, one is read in no time."""

    kind = "ads"

    def __init__(self):
        self.begun, self.ended, self.looks = [], [], 0

    async def list_due_workspaces(self):
        self.looks += 1
        if self.looks == 2:
            raise OSError("the store is away")
        return [SLOW, BROKEN, WELL]

    async def sync_workspace_unless_leased(self, workspace_id):
        self.begun.append(workspace_id)
        try:
            if workspace_id == BROKEN:
                raise KeyError("a fault of ours")
            if workspace_id == SLOW:
                await asyncio.Event().wait()
        finally:
            self.ended.append(workspace_id)


@pytest.fixture
def sync_job(monkeypatch):
    monkeypatch.setattr(sync_scheduler, "POLL_SECONDS", 0.001)
    return Reading()


async def test_slow_workspace_does_not_delay_other_workspaces(sync_job):
    stop = asyncio.Event()
    work = asyncio.create_task(sync_scheduler.sync_due_workspaces_until_stopped(sync_job, stop))
    async with asyncio.timeout(60):
        while min(sync_job.begun.count(BROKEN), sync_job.begun.count(WELL)) < 3:
            await asyncio.sleep(0.001)
        assert sync_job.begun.count(SLOW) == 1
        assert SLOW not in sync_job.ended
        stop.set()
        await work
    assert SLOW in sync_job.ended


async def test_slow_workspaces_leave_slots_for_others(sync_job, monkeypatch):
    monkeypatch.setattr(sync_scheduler, "MAX_CONCURRENT", 2)
    stop = asyncio.Event()
    work = asyncio.create_task(sync_scheduler.sync_due_workspaces_until_stopped(sync_job, stop))
    async with asyncio.timeout(60):
        while sync_job.begun.count(WELL) < 2:
            await asyncio.sleep(0.001)
        assert (sync_job.begun.count(SLOW), SLOW in sync_job.ended) == (1, False)
        stop.set()
        await work
