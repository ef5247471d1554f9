"""Request and response models of the settings of a workspace."""

from typing import Any, Final

from pydantic import Field

from service_core.changes.optimistic_locking import VersionedBody
from service_core.changes.resource import MillisecondDatetime
from service_core.changes.schemas import DryRunBody
from service_core.kernel.schemas import ResponseModel
from service_core.workspace.settings.fields import (
    AnyRevenue,
    Channels,
    Conversions,
    Currency,
    DefaultModel,
    EventRetentionDays,
    Fees,
    PlanTokens,
    RevenueEvents,
    SettingFields,
    Site,
    TimeZone,
    WindowDays,
    WorkspaceName,
    WriteApprovals,
)

_NOT_SENT: Final[Any] = Field(default_factory=lambda: None)
"""Keeps null out of the schema: null is refused by most settings."""


class WorkspacePatch(VersionedBody):
    """Fields to change; those that are not sent stay as they are."""

    name: WorkspaceName = _NOT_SENT
    domain: Site = _NOT_SENT
    timezone: TimeZone = _NOT_SENT
    currency: Currency = _NOT_SENT
    conversions: Conversions = _NOT_SENT
    any_revenue: AnyRevenue = _NOT_SENT
    revenue_events: RevenueEvents = _NOT_SENT
    channels: Channels = _NOT_SENT
    model: DefaultModel = _NOT_SENT
    window_days: WindowDays = _NOT_SENT
    event_retention_days: EventRetentionDays = _NOT_SENT
    fees: Fees = _NOT_SENT
    write_approvals: WriteApprovals = _NOT_SENT
    plan_tokens: PlanTokens = _NOT_SENT


class WorkspacePatchBody(DryRunBody):
    """Body of `PATCH /workspace`."""

    workspace: WorkspacePatch


class WorkspaceSettingsAnswer(SettingFields, ResponseModel):
    """The settings of the workspace of the key."""

    updated_at: MillisecondDatetime = Field(description="When a setting was last changed.")
