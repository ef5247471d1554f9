"""Ports of erasure and access requests."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol
from uuid import UUID

from service_core.privacy.models import Erasure, PersonSubject


class Erasures(Protocol):
    """Requests to erase a person, kept as certificates and tombstones."""

    async def save_erasure(self, erasure: Erasure) -> None:
        """Adds or replaces an erasure.

        A completed one changes `CredentialStore.change_version`, so that every process drops cached answers at once.
        """

    async def list_erasures(self, workspace_id: UUID) -> list[Erasure]:
        """Returns the erasures of a workspace, newest first."""

    async def list_requested_erasures(self) -> list[Erasure]:
        """Returns the erasures of all workspaces that are not completed, oldest first."""


class PersonalRecords(Protocol):
    """Records about persons in the workspace store."""

    async def find_personal_records(
        self, workspace_id: UUID, subject: PersonSubject
    ) -> Mapping[str, Sequence[Mapping[str, Any]]]:
        """Returns the records about a person as JSON values, by kind."""

    async def erase_personal_records(self, workspace_id: UUID, subject: PersonSubject) -> Mapping[str, int]:
        """Deletes the records about a person, and redacts the person's ids in audit entries; idempotent.

        Returns:
            How many records were deleted or redacted, by kind.
        """
