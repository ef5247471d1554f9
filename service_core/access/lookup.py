"""A bounded memory of who a digest belongs to, dropped whole when the directory changes."""

import asyncio
from collections import OrderedDict
from datetime import datetime, timedelta
from enum import Enum
from typing import Final

from service_core.access.model import Identity
from service_core.access.ports import Directory
from service_core.kernel.clock import Clock

LIFETIME: Final = timedelta(seconds=300)
CAPACITY: Final = 10_000


class _Unknown(Enum):
    """The memory says nothing about a digest; None would mean: known to match nothing."""

    DIGEST = "digest"


class Lookup:
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

    def __init__(self, directory: Directory, clock: Clock, capacity: int = CAPACITY) -> None:
        self._directory = directory
        self._clock = clock
        self._capacity = capacity
        self._generation: int | None = None
        self._known: OrderedDict[str, tuple[datetime, Identity | None]] = OrderedDict()
        self._running: dict[str, asyncio.Task[Identity | None]] = {}

    def _recall(self, digest: str, *, unsure: bool = False) -> Identity | _Unknown | None:
        """What is remembered of a digest; never waits."""
        generation = self._directory.generation()
        if generation is None:
            if not unsure:
                self._running.clear()  # their answers may be old, too
                return _Unknown.DIGEST
        elif generation != self._generation:
            self._forget(generation)
        kept = self._known.get(digest)
        if kept is None:
            return _Unknown.DIGEST
        age = self._clock() - kept[0]
        if not timedelta() <= age < LIFETIME:
            del self._known[digest]
            return _Unknown.DIGEST
        self._known.move_to_end(digest)
        return kept[1]

    async def find(self, digest: str, *, unsure: bool = False) -> Identity | None:
        """The identity of a digest; callers that miss at the same time share one question."""
        remembered = self._recall(digest, unsure=unsure)
        if not isinstance(remembered, _Unknown):
            return remembered
        task = self._running.get(digest)
        if task is None:
            task = self._running[digest] = asyncio.create_task(self._ask(digest))
        return await asyncio.shield(task)

    def _forget(self, generation: int) -> None:
        # Questions under way may have read the old state: later callers must ask anew.
        self._generation = generation
        self._known.clear()
        self._running.clear()

    async def _ask(self, digest: str) -> Identity | None:
        asked = self._generation
        try:
            identity = await self._directory.identify(digest)
        finally:
            if self._running.get(digest) is asyncio.current_task():
                del self._running[digest]
        if asked is not None and self._directory.generation() == asked == self._generation:
            self._known[digest] = self._clock(), identity
            if len(self._known) > self._capacity:
                self._known.popitem(last=False)
        return identity
