"""A cache of workspaces, reloaded when the credential store changes."""

import time
from collections.abc import Callable
from uuid import UUID

from service_core.access.credential_cache import CACHE_LIFETIME
from service_core.access.models import Workspace
from service_core.access.ports import CredentialStore


class WorkspaceCache:
    """Finds workspaces without a store request while nothing has changed.

    A store that is unavailable knows no change version. Entries less than 300 seconds old are then served only if
    ``allow_stale`` is set, as in `CredentialCache`.

    Args:
        credential_store: the store of workspaces.
        clock: monotonic seconds.
    """

    def __init__(
        self, credential_store: CredentialStore, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._credential_store = credential_store
        self._clock = clock
        self._version: int | None = None
        self._valid_until = float("-inf")
        self._by_id: dict[UUID, Workspace] = {}
        self._by_public_id: dict[str, Workspace] = {}

    async def find_by_id(self, workspace_id: UUID) -> Workspace | None:
        """Returns the workspace, or None."""
        await self._reload_if_changed()
        return self._by_id.get(workspace_id)

    async def find_by_public_id(
        self, public_id: str, *, serve_stale_during_outage: bool = False
    ) -> Workspace | None:
        """Returns the workspace with this public id, or None."""
        await self._reload_if_changed(serve_stale_during_outage=serve_stale_during_outage)
        return self._by_public_id.get(public_id)

    async def _reload_if_changed(self, *, serve_stale_during_outage: bool = False) -> None:
        version = self._credential_store.change_version()
        if version is None and serve_stale_during_outage and self._clock() < self._valid_until:
            return
        if version is None or version != self._version:
            self._by_id = {
                workspace.id: workspace for workspace in await self._credential_store.list_workspaces()
            }
            self._by_public_id = {workspace.public_id: workspace for workspace in self._by_id.values()}
            self._version = version
        self._valid_until = self._clock() + CACHE_LIFETIME.total_seconds()
