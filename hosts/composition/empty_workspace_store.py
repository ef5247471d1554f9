"""Refuses to work on a workspace store without tables, which the start of its adapter would create."""

from service_core.extensions.workspace_store import WorkspaceStore
from service_core.kernel.errors import StartupError


class EmptyWorkspaceStoreCheck:
    """Is started before the workspace store in commands, which never fill an empty database.

    Args:
        store: the workspace store, not started; one that cannot tell whether it has tables is not checked.
        location: where it is and which setting names it, for the message.
    """

    def __init__(self, store: WorkspaceStore, location: str) -> None:
        self._store = store
        self._location = location

    async def start(self) -> None:
        """Returns if the store has its tables.

        Raises:
            StartupError: it has none.
        """
        has_tables = getattr(self._store, "has_tables", None)
        if not callable(has_tables) or await has_tables():
            return
        raise StartupError(
            f"The workspace store is empty: {self._location}. A command never fills an empty store. If the service takes "
            "its settings from its unit or container, run this command with the same environment; otherwise make a "
            "deployment with `touchpoint init DIR`, or start it with `touchpoint serve`."
        )
