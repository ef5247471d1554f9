"""A bounded memory of who a digest belongs to, dropped whole when the directory changes."""

import asyncio
from collections import OrderedDict
from datetime import datetime, timedelta
from enum import Enum
from typing import Final

from service_core.access.models import AuthContext
from service_core.access.ports import CredentialStore
from service_core.kernel.clock import Clock

CACHE_LIFETIME: Final = timedelta(seconds=300)
CACHE_CAPACITY: Final = 10_000


class _NotCached(Enum):
    """The memory says nothing about a digest; None would mean: known to match nothing."""

    DIGEST = "digest"


class CredentialCache:
    """Digest -> identity through a memory of 300 seconds, for keys that exist and keys that do not.

    Every look-up first asks for the generation of the directory: a key minted or revoked in any
    process empties the memory, so a revoked key fails from the next request on. Only digests are
    kept, and the least recently used one goes when the memory is full.

    A directory that is away knows no generation. What is remembered then counts for a caller who
    takes it ``unsure``, and for nobody else.

    Args:
        directory: where credentials are kept.
        clock: gives the present.
        capacity: digests remembered at most.
    """

    def __init__(self, directory: CredentialStore, clock: Clock, capacity: int = CACHE_CAPACITY) -> None:
        self._directory = directory
        self._clock = clock
        self._capacity = capacity
        self._generation: int | None = None
        self._entries: OrderedDict[str, tuple[datetime, AuthContext | None]] = OrderedDict()
        self._loads: dict[str, asyncio.Task[AuthContext | None]] = {}

    def _get_cached(self, digest: str, *, allow_stale: bool = False) -> AuthContext | _NotCached | None:
        """What is remembered of a digest; never waits."""
        generation = self._directory.change_version()
        if generation is None:
            if not allow_stale:
                self._loads.clear()  # their answers may be old, too
                return _NotCached.DIGEST
        elif generation != self._generation:
            self._clear(generation)
        kept = self._entries.get(digest)
        if kept is None:
            return _NotCached.DIGEST
        age = self._clock() - kept[0]
        if not timedelta() <= age < CACHE_LIFETIME:
            del self._entries[digest]
            return _NotCached.DIGEST
        self._entries.move_to_end(digest)
        return kept[1]

    async def find_by_digest(self, digest: str, *, allow_stale: bool = False) -> AuthContext | None:
        """The identity of a digest; callers that miss at the same time share one question."""
        remembered = self._get_cached(digest, allow_stale=allow_stale)
        if not isinstance(remembered, _NotCached):
            return remembered
        task = self._loads.get(digest)
        if task is None:
            task = self._loads[digest] = asyncio.create_task(self._load(digest))
        return await asyncio.shield(task)

    def _clear(self, generation: int) -> None:
        # Questions under way may have read the old state: later callers must ask anew.
        self._generation = generation
        self._entries.clear()
        self._loads.clear()

    async def _load(self, digest: str) -> AuthContext | None:
        asked = self._generation
        try:
            identity = await self._directory.find_auth_context(digest)
        finally:
            if self._loads.get(digest) is asyncio.current_task():
                del self._loads[digest]
        if asked is not None and self._directory.change_version() == asked == self._generation:
            self._entries[digest] = self._clock(), identity
            if len(self._entries) > self._capacity:
                self._entries.popitem(last=False)
        return identity
