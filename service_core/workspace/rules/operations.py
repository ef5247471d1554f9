"""`/rules` (contract 5.1)."""

from uuid import UUID

from pydantic import BaseModel

from service_core.access.models import Caller
from service_core.analytics.connections.ports import Connections
from service_core.changes.change_executor import ChangeExecutor
from service_core.changes.envelope import Envelope
from service_core.changes.operations import DryRunBody, DryRunQuery, requested_dry_run
from service_core.changes.record_plans import plan_delete
from service_core.kernel.operations import HandlerResponse, RateLimitClass, Scope, operation
from service_core.kernel.schemas import ResponseModel
from service_core.workspace.rules.models import ConversionRule
from service_core.workspace.rules.plan import create, update
from service_core.workspace.rules.postback_platforms import PostbackPlatforms
from service_core.workspace.rules.rule_targets import RuleTargets
from service_core.workspace.rules.schemas import CreateRule, UpdateRule


class RuleList(ResponseModel):
    """Every rule, newest first."""

    rules: list[ConversionRule]


class RulePath(BaseModel):
    """Which rule."""

    ruleId: UUID  # noqa: N815 - as in the path


@operation("GET /rules", tag="rules")
async def list_rules(*, caller: Caller, writes: ChangeExecutor) -> RuleList:
    """Every conversion rule, newest first."""
    async with writes.transactions.read(caller.workspace.id) as unit:
        return RuleList(rules=await unit.resources.list_all(ConversionRule))


@operation(
    "POST /rules",
    scope=Scope.WRITE_RULES,
    rate_limit=RateLimitClass.MUTATION,
    tag="rules",
    errors=(409, 422, 503),
    idempotent=True,
)
async def create_rule(
    body: CreateRule,
    *,
    caller: Caller,
    writes: ChangeExecutor,
    platforms: PostbackPlatforms,
    connections: Connections,
) -> HandlerResponse[Envelope]:
    """Send an event to an ad platform as one of its conversions.

    The effect `postback_target` names the platform, the ad account and the pixel, in a dry run too.
    """
    targets = RuleTargets(platforms, await connections.list_connections(caller.workspace.id))
    return await writes.execute(caller, create(caller, body.rule, targets), dry_run=body.dry_run)


@operation(
    "PATCH /rules/{ruleId}",
    scope=Scope.WRITE_RULES,
    rate_limit=RateLimitClass.MUTATION,
    tag="rules",
    errors=(409, 422, 503),
)
async def update_rule(
    path: RulePath,
    body: UpdateRule,
    *,
    caller: Caller,
    writes: ChangeExecutor,
    platforms: PostbackPlatforms,
    connections: Connections,
) -> HandlerResponse[Envelope]:
    """Change the fields sent; the effect names where conversions go from then on."""
    targets = RuleTargets(platforms, await connections.list_connections(caller.workspace.id))
    return await writes.execute(caller, update(caller, path.ruleId, body.rule, targets), dry_run=body.dry_run)


@operation(
    "DELETE /rules/{ruleId}",
    scope=Scope.WRITE_RULES,
    rate_limit=RateLimitClass.MUTATION,
    tag="rules",
    errors=(409,),
    body_optional=True,
)
async def delete_rule(
    path: RulePath, query: DryRunQuery, body: DryRunBody, *, caller: Caller, writes: ChangeExecutor
) -> HandlerResponse[Envelope]:
    """Delete a rule: nothing is sent from then on; an undo brings it back, not what passed meanwhile."""
    return await writes.execute(
        caller, plan_delete(ConversionRule, path.ruleId), dry_run=requested_dry_run(query, body)
    )


OPERATIONS = (list_rules, create_rule, update_rule, delete_rule)
