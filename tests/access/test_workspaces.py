"""Workspaces by id, remembered until the directory changes."""

import pytest

from service_core.access.workspaces import Workspaces
from service_core.testing.intake import workspace


class Book:
    """A directory that counts how often it is read, and can be away."""

    def __init__(self):
        self.read, self.changes, self.away = 0, 1, False
        self.kept = [workspace()]

    def generation(self):
        return None if self.away else self.changes

    async def workspaces(self):
        if self.away:
            raise OSError("away")
        self.read += 1
        return self.kept


async def test_a_directory_is_read_again_when_it_has_changed():
    book, known = Book(), workspace()
    workspaces = Workspaces(book)
    assert await workspaces.find(known.id) == await workspaces.find_public(known.public_id) == known
    assert await workspaces.find_public("nobody") is None
    assert book.read == 1
    book.kept, book.changes = [], 2
    assert await workspaces.find_public(known.public_id) is None
    assert book.read == 2


async def test_while_the_directory_is_away_what_was_right_counts_for_whoever_takes_it():
    book, known, now = Book(), workspace(), [0.0]
    workspaces = Workspaces(book, lambda: now[0])
    book.away = True
    with pytest.raises(OSError, match="away"):
        await workspaces.find_public(known.public_id, unsure=True)
    book.away = False
    await workspaces.find(known.id)
    now[0] = 200.0
    await workspaces.find(known.id)
    book.away, now[0] = True, 499.0
    assert await workspaces.find_public(known.public_id, unsure=True) == known
    with pytest.raises(OSError, match="away"):
        await workspaces.find_public(known.public_id)
    now[0] = 501.0
    with pytest.raises(OSError, match="away"):
        await workspaces.find_public(known.public_id, unsure=True)
    book.away = False
    assert await workspaces.find_public(known.public_id) == known
