"""Workspaces by id, remembered until the directory changes."""

import time
from collections.abc import Callable
from uuid import UUID

from service_core.access.lookup import LIFETIME
from service_core.access.model import Workspace
from service_core.access.ports import Directory


class Workspaces:
    """Finds workspaces without asking the directory again while nothing has changed in it.

    A directory that is away knows no generation. What was right less than 300 seconds ago then counts for
    a caller who takes it ``unsure``, and for nobody else, as with keys.

    Args:
        directory: where workspaces are kept.
        clock: seconds, from any point.
    """

    def __init__(self, directory: Directory, clock: Callable[[], float] = time.monotonic) -> None:
        self._directory = directory
        self._clock = clock
        self._generation: int | None = None
        self._right_until = float("-inf")
        self._known: dict[UUID, Workspace] = {}
        self._public: dict[str, Workspace] = {}

    async def find(self, workspace_id: UUID) -> Workspace | None:
        """The workspace; None when there is none with this id."""
        await self._refresh()
        return self._known.get(workspace_id)

    async def find_public(self, public_id: str, *, unsure: bool = False) -> Workspace | None:
        """The workspace with this id on the wire; None when there is none."""
        await self._refresh(unsure=unsure)
        return self._public.get(public_id)

    async def _refresh(self, *, unsure: bool = False) -> None:
        generation = self._directory.generation()
        if generation is None and unsure and self._clock() < self._right_until:
            return
        if generation is None or generation != self._generation:
            self._known = {workspace.id: workspace for workspace in await self._directory.workspaces()}
            self._public = {workspace.public_id: workspace for workspace in self._known.values()}
            self._generation = generation
        self._right_until = self._clock() + LIFETIME.total_seconds()
