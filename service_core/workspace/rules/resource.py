"""Conversion rules as a kind of resource: what a change sends where."""

from typing import Any

from service_core.changes.resource import RecordReader, ResourceType, State
from service_core.kernel.operations import Scope
from service_core.workspace.rules.models import ConversionRule
from service_core.workspace.rules.postback_platforms import CUSTOM_EVENT, PostbackPlatform, PostbackPlatforms
from service_core.workspace.rules.schemas import ANY_SOURCE


def rule_kind(*, platforms: PostbackPlatforms) -> ResourceType:
    """How rules are written.

    Args:
        platforms: what rules can send to.
    """

    def effects(prior: State | None, new: State | None) -> tuple[State, ...]:
        state = new or prior or {}
        platform = platforms.by_id.get(state["platform"])
        return () if platform is None else (_target(platform, state, kept=new is not None),)

    return ResourceType(ConversionRule, Scope.WRITE_RULES, effects, triggers=_triggers)


async def _triggers(records: RecordReader) -> frozenset[str]:
    """Events of the rules that are active."""
    return frozenset(rule.trigger_event for rule in await records.list_all(ConversionRule) if rule.active)


def _target(platform: PostbackPlatform, state: State, *, kept: bool) -> State:
    """Where conversions go by the rule as it then stands; nowhere any more once it is deleted."""
    active = kept and state["active"]
    effect: dict[str, Any] = {
        "type": "postback_target",
        "summary": _summary(platform, state, kept=kept),
        "platform": platform.id,
        "ad_account_id": state["ad_account_id"],
        "asset_id": state["asset_id"],
        "asset_field": platform.asset_field,
        "endpoint_url_masked": platform.masked_endpoint.format(
            account=state["ad_account_id"], asset=state["asset_id"]
        ),
        "trigger_event": state["trigger_event"],
        "trigger_event_source": state["trigger_event_source"],
        "platform_event": state["platform_event"],
        "active": active,
    }
    return effect


def _summary(platform: PostbackPlatform, state: State, *, kept: bool) -> str:
    source = state["trigger_event_source"]
    what = f"{state['trigger_event']} from {'any source' if source == ANY_SOURCE else source}"
    where = f"{platform.label} {platform.asset_label} {state['asset_id']}"
    name = state["custom_event_name"] if state["platform_event"] == CUSTOM_EVENT else state["platform_event"]
    if not kept:
        return f"{what} is no longer sent to {where} as {name}"
    if not state["active"]:
        return f"{what} is not sent to {where} as {name} while the rule is inactive"
    tests = " in tests only" if state["test_mode"] else ""
    return f"{what} is sent to {where} as {name}{tests}"
