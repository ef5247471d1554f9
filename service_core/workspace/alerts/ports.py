"""Port to the states of alerts."""

from collections.abc import Collection, Mapping
from typing import Protocol
from uuid import UUID

from service_core.workspace.alerts.models import AlertState


class AlertStates(Protocol):
    """Stores what the latest check of each alert found."""

    async def get_states(self, alert_ids: Collection[UUID]) -> Mapping[UUID, AlertState]:
        """Returns the states by id of the alert; alerts that were never checked are left out."""

    async def save_state(self, state: AlertState) -> None:
        """Adds or replaces the state of an alert."""
