"""A bounded cache of credentials by digest, cleared when the credential store changes."""

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
    """The cache has no entry for a digest. None means that the digest is known to match nothing."""

    DIGEST = "digest"


class CredentialCache:
    """Caches for 300 seconds which credential a digest belongs to, also for digests that match nothing.

    Each look-up first asks for the change version of the store. A key that is created or revoked in any process clears
    the cache, so a revoked key fails with the next request. Only digests are kept; the least recently used entry is
    dropped when the cache is full.

    A store that is unavailable knows no change version. Cached entries are then served only if ``allow_stale`` is set.

    Args:
        credential_store: the store of credentials.
        clock: current time.
        capacity: most cached digests.
    """

    def __init__(
        self, credential_store: CredentialStore, clock: Clock, capacity: int = CACHE_CAPACITY
    ) -> None:
        self._credential_store = credential_store
        self._clock = clock
        self._capacity = capacity
        self._version: int | None = None
        self._entries: OrderedDict[str, tuple[datetime, AuthContext | None]] = OrderedDict()
        self._loads: dict[str, asyncio.Task[AuthContext | None]] = {}

    def _cached_if_version_unchanged(
        self, digest: str, *, serve_stale_during_outage: bool = False
    ) -> AuthContext | _NotCached | None:
        """Returns the cached entry of a digest if it is younger than 300 seconds; never waits.

        A new change version of the store clears the cache first.
        """
        version = self._credential_store.change_version()
        if version is None:
            if not serve_stale_during_outage:
                self._loads.clear()  # their results may be stale, too
                return _NotCached.DIGEST
        elif version != self._version:
            self._clear_for_version(version)
        entry = self._entries.get(digest)
        if entry is None:
            return _NotCached.DIGEST
        age = self._clock() - entry[0]
        if not timedelta() <= age < CACHE_LIFETIME:
            del self._entries[digest]
            return _NotCached.DIGEST
        self._entries.move_to_end(digest)
        return entry[1]

    async def find_cached_or_load_once(
        self, digest: str, *, serve_stale_during_outage: bool = False
    ) -> AuthContext | None:
        """Returns the credential of a digest. Concurrent look-ups of the same digest share one store request."""
        cached = self._cached_if_version_unchanged(
            digest, serve_stale_during_outage=serve_stale_during_outage
        )
        if not isinstance(cached, _NotCached):
            return cached
        task = self._loads.get(digest)
        if task is None:
            task = self._loads[digest] = asyncio.create_task(self._load_and_cache_if_unchanged(digest))
        return await asyncio.shield(task)

    def _clear_for_version(self, version: int) -> None:
        # Running look-ups may have read the old state: later callers must not share them.
        self._version = version
        self._entries.clear()
        self._loads.clear()

    async def _load_and_cache_if_unchanged(self, digest: str) -> AuthContext | None:
        """Reads a digest from the store. Caches the result unless the store changed meanwhile."""
        version_at_start = self._version
        try:
            auth_context = await self._credential_store.find_auth_context(digest)
        finally:
            if self._loads.get(digest) is asyncio.current_task():
                del self._loads[digest]
        if (
            version_at_start is not None
            and self._credential_store.change_version() == version_at_start == self._version
        ):
            self._entries[digest] = self._clock(), auth_context
            if len(self._entries) > self._capacity:
                self._entries.popitem(last=False)
        return auth_context
