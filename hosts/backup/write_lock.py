"""A lock that pauses writes to the event store, so that another process can copy its file.

Only writes wait; questions are answered and events are accepted as before: they wait in the queue.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, Final

from hosts.composition.adapter_wrappers import WrappedAdapter, awaitable_methods
from service_core.ingestion.ports import EventStore

_READ_METHODS: Final = frozenset({"session_states", "find_events_by_id"})
"""What a consumer reads before it writes."""

WRITE_METHODS: Final = tuple(name for name in awaitable_methods(EventStore) if name not in _READ_METHODS)
"""Methods that write to an event store."""

_OPTIONAL_WRITE_METHODS: Final = ("append_encoded",)
"""Further methods that write, which only stores have that take batches of another process."""


class WriteLock:
    """Runs writes one after the other; `paused` holds them back."""

    def __init__(self) -> None:
        self._writing = asyncio.Lock()

    def wrap_if_event_store(self, port: str, adapter: Any) -> Any:
        """Wraps the adapter of the event store; returns the others unchanged."""
        if port != "events":
            return adapter
        names = [*WRITE_METHODS, *(name for name in _OPTIONAL_WRITE_METHODS if hasattr(adapter, name))]
        return WrappedAdapter(
            adapter, {name: self._run_one_at_a_time_and_shield(getattr(adapter, name)) for name in names}
        )

    @asynccontextmanager
    async def paused(self) -> AsyncIterator[None]:
        """Holds back writes inside the block, after those under way have ended."""
        async with self._writing:
            yield

    def _run_one_at_a_time_and_shield(
        self, write: Callable[..., Awaitable[Any]]
    ) -> Callable[..., Awaitable[Any]]:
        async def write_under_lock(*args: Any, **kwargs: Any) -> Any:
            async with self._writing:
                return await write(*args, **kwargs)

        async def write_shielded_from_cancellation(*args: Any, **kwargs: Any) -> Any:
            # A write goes on in its thread when its caller goes away: until then nothing is still.
            return await asyncio.shield(write_under_lock(*args, **kwargs))

        return write_shielded_from_cancellation
