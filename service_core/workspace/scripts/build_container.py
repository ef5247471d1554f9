"""Builds the container that the browser script of a workspace loads: approved scripts, pixels and configuration."""

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final
from uuid import UUID

from service_core.changes.ports import Transactions
from service_core.changes.resource import RecordReader
from service_core.workspace.rules.models import ConversionRule
from service_core.workspace.rules.postback_platforms import CUSTOM_EVENT
from service_core.workspace.scripts.models import ProposalStatus, ScriptProposal

EMPTY_CONTAINER: Final[Mapping[str, Any]] = {"scripts": [], "pixels": {}, "config": {}}
"""The container of an unknown workspace."""

_CONFIG: Final[Mapping[str, Any]] = {
    "auto_identify": False,
    "respect_gpc": True,
    "respect_dnt": False,
    "privacy_mode": "standard",
}
_PUBLIC_FIELDS: Final = {"id", "name", "type", "content", "trigger", "frequency", "conditions", "settings"}
_PIXEL: Final = re.compile(r"([a-z0-9_]+):([A-Za-z0-9_]+)")
"""Content of a script of the type ``pixel``: platform id and pixel id."""
_BROWSER_SOURCES: Final = frozenset({"any", "web"})


async def build_container(
    transactions: Transactions, workspace_id: UUID, pixel_platforms: Collection[str]
) -> Mapping[str, Any]:
    """Returns the container of a workspace, with the last approved script of each name.

    Args:
        transactions: transactions of the workspace store.
        workspace_id: the workspace.
        pixel_platforms: ids of the platforms whose pixel the browser script can load.
    """
    async with transactions.read(workspace_id) as transaction:
        proposals = await transaction.resources.list_all(
            ScriptProposal, field_filters={"status": ProposalStatus.APPROVED.value}
        )
        reviewed = [proposal for proposal in proposals if proposal.reviewed_at]
        by_time = sorted(reviewed, key=lambda proposal: (proposal.reviewed_at, proposal.id))
        latest = {proposal.name: proposal for proposal in by_time}.values()
        pixels_by_id = {
            proposal.id: pixel for proposal in latest if (pixel := _parse_pixel(proposal, pixel_platforms))
        }
        pixels = await _build_pixels_with_event_mappings(transaction.resources, pixels_by_id.values())
    scripts = [_serialize_script(proposal) for proposal in latest if proposal.id not in pixels_by_id]
    return {"scripts": scripts, "pixels": pixels, "config": dict(_CONFIG)}


async def _build_pixels_with_event_mappings(
    records: RecordReader, pixel_ids: Iterable[tuple[str, str]]
) -> dict[str, Any]:
    """Returns the last approved pixel of each platform, with the events that conversion rules send to it."""
    pixels: dict[str, Any] = {}
    for platform, pixel_id in pixel_ids:
        rules = await records.list_all(
            ConversionRule, field_filters={"platform": platform, "asset_id": pixel_id}
        )
        events = {rule.trigger_event: rule.platform_event for rule in rules if _fires_in_browser(rule)}
        pixels[platform] = {"enabled": True, "pixel_id": pixel_id, "event_mappings": events}
    return pixels


def _parse_pixel(proposal: ScriptProposal, pixel_platforms: Collection[str]) -> tuple[str, str] | None:
    match = _PIXEL.fullmatch(proposal.content.strip()) if proposal.type == "pixel" else None
    return (match[1], match[2]) if match and match[1] in pixel_platforms else None


def _fires_in_browser(rule: ConversionRule) -> bool:
    """Returns whether a page can tell when the rule fires, which it cannot for conditions, tests and custom events."""
    plain = not rule.conditions and not rule.test_mode and rule.platform_event != CUSTOM_EVENT
    return rule.active and plain and rule.trigger_event_source in _BROWSER_SOURCES


def _serialize_script(proposal: ScriptProposal) -> dict[str, Any]:
    state = proposal.model_dump(mode="json", by_alias=True, include=_PUBLIC_FIELDS)
    return {**state, "enabled": True}
