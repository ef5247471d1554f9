"""Reads at an earlier instant share the restored stores."""

import asyncio
from datetime import UTC, datetime
from types import SimpleNamespace
from uuid import UUID

from hosts.composition.past_operations import PastOperations, _Restored
from tests.fixtures.waiting import GUARD_SECONDS

WORKSPACE_ID = UUID(int=1)
NOON = datetime(2026, 7, 1, 12, tzinfo=UTC)


async def test_restored_instant_is_read_while_another_one_is_restored():
    past = PastOperations(None, None)
    past._restored[WORKSPACE_ID, NOON, None] = restored = _Restored(None, None, None)
    async with past._restoring:
        reading = past._restore_once_and_add_user(
            SimpleNamespace(id=WORKSPACE_ID), NOON, SimpleNamespace(deleted_at=None)
        )
        assert await asyncio.wait_for(reading, GUARD_SECONDS) is restored
    assert restored.users == 1
