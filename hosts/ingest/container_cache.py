"""A short-lived cache of containers: every page view asks for one, and they seldom change."""

import time
from collections.abc import Callable, Collection, Mapping
from typing import Any, Final
from uuid import UUID

from service_core.changes.ports import Transactions
from service_core.ingestion.lru_cache import LruCache
from service_core.workspace.scripts.build_container import build_container

MAX_AGE_SECONDS: Final = 1.0
_MAX_ENTRIES: Final = 500


class ContainerCache:
    """Caches the container of each workspace for a second.

    Args:
        transactions: where approved scripts are read.
        pixel_platforms: ids of ad platforms whose pixel the browser script can load.
        clock: seconds, from any point.
    """

    def __init__(
        self,
        transactions: Transactions,
        pixel_platforms: Collection[str],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._transactions = transactions
        self._pixel_platforms = pixel_platforms
        self._clock = clock
        self._kept: LruCache[UUID, tuple[float, Mapping[str, Any]]] = LruCache(_MAX_ENTRIES)

    async def get_at_most_one_second_old(self, workspace_id: UUID) -> Mapping[str, Any]:
        """Returns the container of a workspace, at most a second old."""
        known = self._kept.get(workspace_id)
        if known is None or self._clock() > known[0]:
            known = (
                self._clock() + MAX_AGE_SECONDS,
                await build_container(self._transactions, workspace_id, self._pixel_platforms),
            )
            self._kept.put(workspace_id, known)
        return known[1]
