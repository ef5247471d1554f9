"""What the browser script of a workspace loads: the scripts people approved, and how it behaves (contract 11.3)."""

from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID

from service_core.changes.ports import Units
from service_core.workspace.scripts.model import Proposal, Standing

EMPTY: Final[Mapping[str, Any]] = {"scripts": [], "pixels": {}, "config": {}}
"""The answer for a workspace nobody knows."""

_CONFIG: Final[Mapping[str, Any]] = {
    "auto_identify": False,
    "respect_gpc": True,
    "respect_dnt": False,
    "privacy_mode": "standard",
}
_TOLD: Final = {"id", "name", "type", "content", "trigger", "frequency", "conditions", "settings"}


async def container(units: Units, workspace_id: UUID) -> Mapping[str, Any]:
    """The container of a workspace: of every name the script that was approved last."""
    async with units.look(workspace_id) as unit:
        found = await unit.resources.every(Proposal, matching={"status": Standing.APPROVED.value})
    approved = [each for each in found if each.reviewed_at]
    latest = {each.name: each for each in sorted(approved, key=lambda each: (each.reviewed_at, each.id))}
    return {"scripts": [_shown(each) for each in latest.values()], "pixels": {}, "config": dict(_CONFIG)}


def _shown(proposal: Proposal) -> dict[str, Any]:
    state = proposal.model_dump(mode="json", by_alias=True, include=_TOLD)
    return {**state, "enabled": True}
