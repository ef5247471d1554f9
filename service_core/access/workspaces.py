"""Workspaces by id, remembered until the directory changes."""

from uuid import UUID

from service_core.access.model import Workspace
from service_core.access.ports import Directory


class Workspaces:
    """Finds workspaces without asking the directory again while nothing has changed in it.

    Args:
        directory: where workspaces are kept.
    """

    def __init__(self, directory: Directory) -> None:
        self._directory = directory
        self._generation: int | None = None
        self._known: dict[UUID, Workspace] = {}
        self._public: dict[str, Workspace] = {}

    async def find(self, workspace_id: UUID) -> Workspace | None:
        """The workspace; None when there is none with this id."""
        return (await self._all()).get(workspace_id)

    async def find_public(self, public_id: str) -> Workspace | None:
        """The workspace with this id on the wire; None when there is none."""
        await self._all()
        return self._public.get(public_id)

    async def _all(self) -> dict[UUID, Workspace]:
        generation = self._directory.generation()
        if generation is None or generation != self._generation:
            self._known = {workspace.id: workspace for workspace in await self._directory.workspaces()}
            self._public = {workspace.public_id: workspace for workspace in self._known.values()}
            self._generation = generation
        return self._known
