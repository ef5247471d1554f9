"""Opens a store for one block, as a process does."""

from contextlib import asynccontextmanager


@asynccontextmanager
async def open_started(new_store):
    """Yields a new store between its start and its end."""
    store = new_store()
    await store.start()
    try:
        yield store
    finally:
        await store.aclose()
