"""The settings of a workspace as a writable resource, kept in the row of the workspace."""

from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, ClassVar, Final
from uuid import UUID

from service_core.access.analytics_settings import MILLION, AnalyticsSettings, CustomChannel, FeeRate
from service_core.access.models import RequestInterface, Workspace
from service_core.access.write_policy import ApprovalRule, WritePolicy
from service_core.changes.actor import Actor
from service_core.changes.audit_log import AuditFilter
from service_core.changes.ports import Transaction
from service_core.changes.resource import R, Resource
from service_core.kernel.money import to_major, to_minor
from service_core.workspace.settings.fields import ApprovalRequirement, ChannelRule, PaymentFee, SettingFields

_NO_LATEST_TIME: Final = datetime.max.replace(tzinfo=UTC)
_REPLAYED_ENTRIES: Final = 20
"""Changes within one millisecond still have different times, up to this number."""

_PERCENT: Final = MILLION // 100


class WorkspaceSettingsRecord(SettingFields, Resource):
    """The settings of a workspace. Its id is that of the workspace."""

    resource_type: ClassVar[str] = "workspace"

    name: str

    @classmethod
    def from_workspace(cls, workspace: Workspace, updated_at: datetime) -> "WorkspaceSettingsRecord":
        """Returns the settings in the row of a workspace."""
        return cls(
            id=workspace.id,
            workspace_id=workspace.id,
            created_at=workspace.created_at,
            updated_at=updated_at,
            created_via=RequestInterface.API,
            created_by=Actor(type="system", id=workspace.id, client_id=None),
            name=workspace.name,
            domain=workspace.domain,
            timezone=workspace.timezone,
            currency=workspace.currency,
            **fields_that_change_counting(workspace.rules),
            write_approvals=tuple(map(_to_approval_requirement, workspace.write_policy.approvals)),
            plan_tokens=tuple(sorted(workspace.write_policy.plan_tokens)),
        )

    def workspace_with_settings(self, workspace: Workspace) -> Workspace:
        """Returns the workspace with these settings."""
        return replace(
            workspace,
            name=self.name,
            domain=self.domain,
            timezone=self.timezone,
            currency=self.currency,
            rules=self.to_analytics_settings(),
            write_policy=self.to_write_policy(),
        )

    def to_write_policy(self) -> WritePolicy:
        """Returns what programs need before they write."""
        return WritePolicy(
            tuple(ApprovalRule(rule.credential, rule.scope, rule.changes) for rule in self.write_approvals),
            frozenset(self.plan_tokens),
        )

    def to_analytics_settings(self) -> AnalyticsSettings:
        """Returns the settings that change how events are counted."""
        return AnalyticsSettings(
            conversions=None if self.conversions is None else frozenset(self.conversions),
            any_revenue=self.any_revenue,
            revenue_events=frozenset(self.revenue_events),
            channels=tuple(CustomChannel(**channel.model_dump()) for channel in self.channels),
            model=self.model,
            window_days=self.window_days,
            event_retention_days=self.event_retention_days,
            fees=tuple(map(_to_fee_rate, self.fees)),
        )


class WorkspaceRowStorage:
    """Reads and saves the settings in the row of the workspace, which has no column for the time of its last change."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    async def get(self, model: type[R], resource_id: UUID) -> R | None:
        """Returns the settings of the workspace of the transaction; None for another one."""
        workspace = await self._load_workspace()
        if workspace is None or workspace.id != resource_id:
            return None
        updated_at = await self._last_change_time(workspace)
        record = WorkspaceSettingsRecord.from_workspace(workspace, updated_at)
        return record if isinstance(record, model) else None

    async def list_all(self, model: type[R]) -> list[R]:
        """Returns the settings, the only record of their type."""
        workspace = await self._load_workspace()
        record = None if workspace is None else await self.get(model, workspace.id)
        return [] if record is None else [record]

    async def save(self, record: Resource) -> None:
        """Saves the settings."""
        workspace = await self._load_workspace()
        if workspace is None or not isinstance(record, WorkspaceSettingsRecord):
            raise TypeError("settings are saved in the row of their workspace")
        await self._transaction.tables.save_row(record.workspace_with_settings(workspace))

    async def remove(self, record: Resource, now: datetime) -> None:  # noqa: ARG002 - as the port has it
        """Deletes nothing: settings go with their workspace.

        Raises:
            TypeError: always.
        """
        raise TypeError("settings are deleted with their workspace")

    async def _last_change_time(self, workspace: Workspace) -> datetime:
        """Returns `updated_at` as `Resource.next_updated_at` set it, from the newest audit entries."""
        newest_first = await self._transaction.audit.list_entries(
            AuditFilter(until=_NO_LATEST_TIME, resource_id=workspace.id), _REPLAYED_ENTRIES, 0
        )
        updated_at = workspace.created_at
        for entry in reversed(newest_first):
            updated_at = max(entry.created_at, updated_at + timedelta(milliseconds=1))
        return updated_at

    async def _load_workspace(self) -> Workspace | None:
        return next(iter(await self._transaction.tables.list_rows(Workspace)), None)


def fields_that_change_counting(rules: AnalyticsSettings) -> dict[str, Any]:
    """Returns the fields of the settings that change how events are counted."""
    return {
        "conversions": None if rules.conversions is None else tuple(sorted(rules.conversions)),
        "any_revenue": rules.any_revenue,
        "revenue_events": tuple(sorted(rules.revenue_events)),
        "channels": tuple(
            ChannelRule(id=channel.id, **channel.conditions_by_field) for channel in rules.channels
        ),
        "model": rules.model,
        "window_days": rules.window_days,
        "event_retention_days": rules.event_retention_days,
        "fees": tuple(map(_to_payment_fee, rules.fees)),
    }


def _to_approval_requirement(rule: ApprovalRule) -> ApprovalRequirement:
    return ApprovalRequirement.model_validate(asdict(rule))


def _to_payment_fee(rate: FeeRate) -> PaymentFee:
    fixed = float(to_major(rate.fixed, rate.currency)) if rate.currency else 0.0
    return PaymentFee(
        provider=rate.provider, percent=rate.millionths / _PERCENT, fixed=fixed, currency=rate.currency
    )


def _to_fee_rate(fee: PaymentFee) -> FeeRate:
    """Returns the rate. A fixed part without a currency becomes one minor unit or more, which validation refuses."""
    millionths = round(Decimal(str(fee.percent)) * _PERCENT)
    fixed = Decimal(str(fee.fixed))
    if fee.currency is None:
        return FeeRate(fee.provider, millionths, int(fixed > 0))
    return FeeRate(fee.provider, millionths, to_minor(fixed, fee.currency), fee.currency)
