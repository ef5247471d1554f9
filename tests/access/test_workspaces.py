"""Workspaces by id, remembered until the directory changes."""

import pytest

from service_core.access.workspace_cache import WorkspaceCache
from service_core.testing.ingestion_stubs import make_workspace


class Book:
    """A directory that counts how often it is read, and can be away."""

    def __init__(self):
        self.read, self.changes, self.away = 0, 1, False
        self.kept = [make_workspace()]

    def change_version(self):
        return None if self.away else self.changes

    async def list_workspaces(self):
        if self.away:
            raise OSError("away")
        self.read += 1
        return self.kept


async def test_workspaces_are_read_again_when_the_directory_has_changed():
    book, known = Book(), make_workspace()
    workspaces = WorkspaceCache(book)
    assert (
        await workspaces.find_by_id(known.id) == await workspaces.find_by_public_id(known.public_id) == known
    )
    assert await workspaces.find_by_public_id("nobody") is None
    assert book.read == 1
    book.kept, book.changes = [], 2
    assert await workspaces.find_by_public_id(known.public_id) is None
    assert book.read == 2


async def test_cached_workspaces_are_returned_while_the_directory_is_unavailable():
    book, known, now = Book(), make_workspace(), [0.0]
    workspaces = WorkspaceCache(book, lambda: now[0])
    book.away = True
    with pytest.raises(OSError, match="away"):
        await workspaces.find_by_public_id(known.public_id, serve_stale_during_outage=True)
    book.away = False
    await workspaces.find_by_id(known.id)
    now[0] = 200.0
    await workspaces.find_by_id(known.id)
    book.away, now[0] = True, 499.0
    assert await workspaces.find_by_public_id(known.public_id, serve_stale_during_outage=True) == known
    with pytest.raises(OSError, match="away"):
        await workspaces.find_by_public_id(known.public_id)
    now[0] = 501.0
    with pytest.raises(OSError, match="away"):
        await workspaces.find_by_public_id(known.public_id, serve_stale_during_outage=True)
    book.away = False
    assert await workspaces.find_by_public_id(known.public_id) == known
