"""The stored conversion rule."""

import json
from typing import Any, ClassVar, Literal

from pydantic import Field

from service_core.analytics.measures import FilterOperator
from service_core.changes.resource import Resource
from service_core.kernel.errors import ApiError, Conflict
from service_core.kernel.ids import sha256_hex
from service_core.kernel.schemas import BodyModel
from service_core.workspace.rules.postback_platforms import CUSTOM_EVENT

ValueType = Literal["none", "dynamic", "static"]


class RuleCondition(BodyModel):
    """A condition on the event; a rule applies when all its conditions hold."""

    property: str = Field(description="A column of the event, or a dot path into `event_data`.")
    op: FilterOperator = FilterOperator.EQ
    value: Any = Field(None, description="As the op needs it.")


class ConversionRule(Resource):
    """A conversion rule: its trigger, its target, the platform event and the value."""

    resource_type: ClassVar[str] = "conversion_rule"

    trigger_event: str
    trigger_event_source: str
    platform: str
    ad_account_id: str
    asset_id: str
    platform_event: str
    custom_event_name: str | None
    value_type: ValueType
    value_path: str | None
    static_value: float | None = Field(
        description="Major units of `currency`, with no more decimals than it has."
    )
    currency_path: str | None
    currency: str | None
    conditions: tuple[RuleCondition, ...]
    dedup_window_hours: int
    test_mode: bool
    test_event_code: str | None
    active: bool

    def unique_keys(self) -> tuple[str, ...]:
        """Returns one key of trigger, source and target; the name of a custom event is part of the target."""
        custom = self.custom_event_name if self.platform_event == CUSTOM_EVENT else None
        parts = (
            self.trigger_event, self.trigger_event_source, self.platform, self.asset_id, self.platform_event, custom,
        )  # fmt: skip
        return (f"rule:{self.workspace_id.hex}/{sha256_hex(json.dumps(parts))}",)

    def unique_key_error(self, key: str) -> ApiError:  # noqa: ARG002 - there is one key
        """Returns the conflict with a rule that sends the same event to the same target."""
        return Conflict("Another rule sends this event there already", "duplicate_rule", field="rule")
