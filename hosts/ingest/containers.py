"""Containers of the moment: every page that opens asks for one, and few change in a day."""

import time
from collections.abc import Callable, Mapping
from typing import Any, Final
from uuid import UUID

from service_core.changes.ports import Units
from service_core.intake.recent import Recent
from service_core.workspace.scripts.container import container

KEPT_SECONDS: Final = 1.0
_KEPT_AT_MOST: Final = 500


class Containers:
    """Remembers the container of each workspace for a second.

    Args:
        units: where approved scripts are read.
        clock: seconds, from any point.
    """

    def __init__(self, units: Units, clock: Callable[[], float] = time.monotonic) -> None:
        self._units = units
        self._clock = clock
        self._kept: Recent[UUID, tuple[float, Mapping[str, Any]]] = Recent(_KEPT_AT_MOST)

    async def of(self, workspace_id: UUID) -> Mapping[str, Any]:
        """The container of a workspace, as it was a second ago at the earliest."""
        known = self._kept.get(workspace_id)
        if known is None or self._clock() > known[0]:
            known = self._clock() + KEPT_SECONDS, await container(self._units, workspace_id)
            self._kept.put(workspace_id, known)
        return known[1]
