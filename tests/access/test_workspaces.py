"""Workspaces by id, cached until the directory changes."""

import pytest

from service_core.access.workspace_cache import WorkspaceCache
from service_core.testing.ingestion_stubs import make_workspace
from tests.fixtures.port_stubs import CountingDirectory


async def test_workspaces_are_read_again_when_the_directory_has_changed():
    known = make_workspace()
    directory = CountingDirectory(known)
    workspaces = WorkspaceCache(directory)
    assert (
        await workspaces.find_by_id(known.id) == await workspaces.find_by_public_id(known.public_id) == known
    )
    assert await workspaces.find_by_public_id("nobody") is None
    assert directory.workspace_reads == 1
    directory.owners.clear()
    directory.changes += 1
    assert await workspaces.find_by_public_id(known.public_id) is None
    assert directory.workspace_reads == 2


async def test_cached_workspaces_are_returned_while_the_directory_is_unavailable():
    known, now = make_workspace(), [0.0]
    directory = CountingDirectory(known)
    workspaces = WorkspaceCache(directory, lambda: now[0])
    directory.down = True
    with pytest.raises(OSError, match="away"):
        await workspaces.find_by_public_id(known.public_id, serve_stale_during_outage=True)
    directory.down = False
    await workspaces.find_by_id(known.id)
    now[0] = 200.0
    await workspaces.find_by_id(known.id)
    directory.down, now[0] = True, 499.0
    assert await workspaces.find_by_public_id(known.public_id, serve_stale_during_outage=True) == known
    with pytest.raises(OSError, match="away"):
        await workspaces.find_by_public_id(known.public_id)
    now[0] = 501.0
    with pytest.raises(OSError, match="away"):
        await workspaces.find_by_public_id(known.public_id, serve_stale_during_outage=True)
    directory.down = False
    assert await workspaces.find_by_public_id(known.public_id) == known
