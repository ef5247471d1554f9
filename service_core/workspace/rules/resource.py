"""Conversion rules as a writable resource."""

from collections.abc import Sequence
from typing import Any, Final

from service_core.access.models import Caller
from service_core.analytics.connections.ports import Connections
from service_core.analytics.connections.providers import InstalledProviders
from service_core.analytics.ports import EventReader
from service_core.changes.optimistic_locking import sent_fields
from service_core.changes.resource import RecordReader, ResourceType, State
from service_core.changes.resource_definition import Listing, WriteContext, resource
from service_core.kernel.operations import Scope
from service_core.workspace.event_name_effects import describe_names_never_seen
from service_core.workspace.rules.models import ConversionRule
from service_core.workspace.rules.postback_platforms import CUSTOM_EVENT, PostbackPlatform, PostbackPlatforms
from service_core.workspace.rules.rule_targets import RuleTargets
from service_core.workspace.rules.schemas import ANY_SOURCE, NewRule, RulePatch
from service_core.workspace.rules.validate_rule import validate_all_but_target, validate_rule

_TARGET_FIELDS: Final = frozenset({"platform", "ad_account_id", "asset_id", "platform_event"})
_ASSET_FIELDS: Final = frozenset({"ad_account_id", "asset_id"})
_DEFAULTS: Final = {
    name: field.get_default(call_default_factory=True)
    for name, field in NewRule.model_fields.items()
    if not field.is_required()
}


async def load_rule_targets(
    _: NewRule | RulePatch,
    *,
    caller: Caller,
    platforms: PostbackPlatforms,
    connections: Connections,
    providers: InstalledProviders,
) -> RuleTargets:
    """Returns the accounts and assets that the workspace has connected."""
    return RuleTargets(
        platforms, await connections.list_connections_oldest_first(caller.workspace.id), providers
    )


async def create_rule(new: NewRule, write: WriteContext[RuleTargets]) -> ConversionRule:
    """Send an event to an ad platform as one of its conversions.

    The effect `postback_target` names the platform, the ad account and the pixel, in a dry run too.
    """
    fields = _fill_only_connected_destination(_fill_defaults_for_empty_values(dict(new)), write.prepared)
    rule = ConversionRule.model_validate({**fields, **write.new_fields()})
    return validate_rule(rule, write.prepared)


async def update_rule(
    rule: ConversionRule, patch: RulePatch, write: WriteContext[RuleTargets]
) -> ConversionRule:
    """Change the fields sent; the effect names where conversions go from then on."""
    # A target that stays is not looked up again: a rule can be paused while its platform is not connected.
    sent, now, targets = (
        _fill_defaults_for_empty_values(dict(sent_fields(patch))),
        write.caller.now,
        write.prepared,
    )
    if not any(name in sent and sent[name] != getattr(rule, name) for name in _TARGET_FIELDS):
        changed = {name: value for name, value in sent.items() if name not in _TARGET_FIELDS}
        return validate_all_but_target(rule.with_fields(now, **changed), targets)
    # Another platform or asset is a new target: what the request leaves out is chosen as for a new rule.
    if sent.get("platform", rule.platform) != rule.platform or sent.keys() & _ASSET_FIELDS:
        sent = dict.fromkeys(_ASSET_FIELDS) | sent
    fields = _fill_only_connected_destination({**dict(rule), **sent}, targets)
    return validate_rule(rule.with_fields(now, **fields), targets)


def _fill_defaults_for_empty_values(sent: dict[str, Any]) -> dict[str, Any]:
    """Returns the values as they are stored: null or an empty text gives an optional field its default."""
    fields = {
        name: _DEFAULTS[name] if value in (None, "") and name in _DEFAULTS else value
        for name, value in sent.items()
    }
    if fields.get("currency"):
        fields["currency"] = fields["currency"].upper()
    return {name: "" if value is None and name not in _DEFAULTS else value for name, value in fields.items()}


def _fill_only_connected_destination(fields: dict[str, Any], targets: RuleTargets) -> dict[str, Any]:
    """Returns the fields with account and asset filled in."""
    platform = targets.require_platform(fields["platform"])
    account_id, asset_id = targets.resolve_only_destination(
        platform, fields["ad_account_id"], fields["asset_id"]
    )
    return fields | {"ad_account_id": account_id, "asset_id": asset_id}


async def list_active_triggers(records: RecordReader) -> frozenset[str]:
    """Returns the events that trigger an active rule."""
    return frozenset(rule.trigger_event for rule in await records.list_all(ConversionRule) if rule.active)


async def describe_postback_target_effect(
    _: RecordReader, prior: State | None, new: State | None, *, platforms: PostbackPlatforms
) -> Sequence[State]:
    """Returns where conversions go after the change; nothing for a platform that is not installed."""
    state = new or prior or {}
    platform = platforms.by_id.get(state["platform"])
    return () if platform is None else (_postback_target(platform, state, is_deleted=new is None),)


async def warn_of_trigger_never_seen(
    caller: Caller, new: State | None, *, event_reader: EventReader, providers: InstalledProviders
) -> Sequence[State]:
    """Returns an effect when the trigger of an active rule was not seen in 90 days."""
    names = [new["trigger_event"]] if new is not None and new["active"] else []
    return await describe_names_never_seen(
        caller, names, field="trigger_event", event_reader=event_reader, providers=providers
    )


def _postback_target(platform: PostbackPlatform, state: State, *, is_deleted: bool) -> State:
    return {
        "type": "postback_target",
        "summary": _summarize_target(platform, state, is_deleted=is_deleted),
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
        "active": state["active"] and not is_deleted,
    }


def _summarize_target(platform: PostbackPlatform, state: State, *, is_deleted: bool) -> str:
    source = state["trigger_event_source"]
    event = f"{state['trigger_event']} from {'any source' if source == ANY_SOURCE else source}"
    asset = f"{platform.label} {platform.asset_label} {state['asset_id']}"
    name = state["custom_event_name"] if state["platform_event"] == CUSTOM_EVENT else state["platform_event"]
    if is_deleted:
        return f"{event} is no longer sent to {asset} as {name}"
    if not state["active"]:
        return f"{event} is not sent to {asset} as {name} while the rule is inactive"
    tests = " in tests only" if state["test_mode"] else ""
    return f"{event} is sent to {asset} as {name}{tests}"


RULES: Final = resource(
    ResourceType(
        ConversionRule,
        Scope.WRITE_RULES,
        effects=describe_postback_target_effect,
        outside_effects=frozenset({"postback_target"}),
        warnings=warn_of_trigger_never_seen,
        triggers=list_active_triggers,
    ),
    "/rules/{ruleId}",
    label="conversion rule",
    listing=Listing("Every conversion rule, newest first."),
    create=create_rule,
    update=update_rule,
    delete="Delete a rule: nothing is sent from then on; an undo brings it back, not what passed meanwhile.",
    prepare=load_rule_targets,
    errors=(503,),
    are_reads_aggregate=True,
)
