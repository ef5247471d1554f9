"""Request models of conversion rules."""

from typing import Annotated

from pydantic import Field

from service_core.kernel.schemas import BodyModel, Clamp
from service_core.workspace.rules.models import RuleCondition, ValueType

ANY_SOURCE = "any"
DEFAULT_DEDUP_HOURS = 48
DedupHours = Annotated[int, Clamp(1, 168)]


class NewRule(BodyModel):
    """A rule to create. Account and asset are optional where only one is connected."""

    name: str
    trigger_event: str = Field(description="Exact name of the event.")
    trigger_event_source: str = Field(
        ANY_SOURCE, description="`any`, `web`, `browser`, `mobile_app`, `api`, or the id of a provider."
    )
    platform: str = Field(description="Id of an ad platform that conversions can be sent to.")
    ad_account_id: str | None = None
    asset_id: str | None = Field(None, description="The pixel, or the conversion action.")
    platform_event: str = Field(description="An event of the platform, or `custom`.")
    custom_event_name: str | None = Field(None, description="Required for `custom`.")
    value_type: ValueType = "dynamic"
    value_path: str | None = Field(
        None, description="Dot path into `event_data`; without it the event's `revenue`."
    )
    static_value: float | None = Field(None, description="Major units of `currency`; required for `static`.")
    currency_path: str | None = Field(
        None, description="Dot path into `event_data`; without it the event's `currency`."
    )
    currency: str | None = Field(None, description="ISO code; required for `static`.")
    conditions: list[RuleCondition] = Field(default_factory=list, description="At most 10; all must hold.")
    dedup_window_hours: DedupHours = Field(
        DEFAULT_DEDUP_HOURS, description="Repeats of one order within this time are not sent."
    )
    test_mode: bool = Field(default=False, description="Send tests only.")
    test_event_code: str | None = None
    active: bool = True


class RulePatch(BodyModel):
    """Fields to change; null or an empty text gives an optional one its default."""

    name: str | None = None
    trigger_event: str | None = None
    trigger_event_source: str | None = None
    platform: str | None = None
    ad_account_id: str | None = None
    asset_id: str | None = None
    platform_event: str | None = None
    custom_event_name: str | None = None
    value_type: ValueType | None = None
    value_path: str | None = None
    static_value: float | None = None
    currency_path: str | None = None
    currency: str | None = None
    conditions: list[RuleCondition] | None = None
    dedup_window_hours: DedupHours | None = None
    test_mode: bool | None = None
    test_event_code: str | None = None
    active: bool | None = None
