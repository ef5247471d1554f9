"""`/rules` (contract 5.1)."""

from uuid import UUID

from pydantic import BaseModel

from service_core.access.model import Caller
from service_core.changes.envelope import Envelope
from service_core.changes.operations import DryRunBody, DryRunQuery, dry_run_of
from service_core.changes.plan import deletion
from service_core.changes.write import Writes
from service_core.insight.connections.ports import Connections
from service_core.kernel.operations import Budget, Reply, Scope, operation
from service_core.kernel.params import Answer
from service_core.workspace.rules.bodies import CreateRule, UpdateRule
from service_core.workspace.rules.model import Rule
from service_core.workspace.rules.plan import create, update
from service_core.workspace.rules.platforms import Platforms
from service_core.workspace.rules.targets import Targets


class RuleList(Answer):
    """Every rule, newest first."""

    rules: list[Rule]


class RulePath(BaseModel):
    """Which rule."""

    ruleId: UUID  # noqa: N815 - as in the path


@operation("GET /rules", tag="rules")
async def list_rules(*, who: Caller, writes: Writes) -> RuleList:
    """Every conversion rule, newest first."""
    async with writes.units.look(who.workspace.id) as unit:
        return RuleList(rules=await unit.resources.every(Rule))


@operation(
    "POST /rules",
    scope=Scope.WRITE_RULES,
    budget=Budget.MUTATION,
    tag="rules",
    errors=(409, 422, 503),
    replays=True,
)
async def create_rule(
    body: CreateRule, *, who: Caller, writes: Writes, platforms: Platforms, connections: Connections
) -> Reply[Envelope]:
    """Send an event to an ad platform as one of its conversions.

    The effect `postback_target` names the platform, the ad account and the pixel, in a dry run too.
    """
    targets = Targets(platforms, await connections.connections(who.workspace.id))
    return await writes.run(who, create(who, body.rule, targets), dry_run=body.dry_run)


@operation(
    "PATCH /rules/{ruleId}",
    scope=Scope.WRITE_RULES,
    budget=Budget.MUTATION,
    tag="rules",
    errors=(409, 422, 503),
)
async def update_rule(
    path: RulePath,
    body: UpdateRule,
    *,
    who: Caller,
    writes: Writes,
    platforms: Platforms,
    connections: Connections,
) -> Reply[Envelope]:
    """Change the fields sent; the effect names where conversions go from then on."""
    targets = Targets(platforms, await connections.connections(who.workspace.id))
    return await writes.run(who, update(who, path.ruleId, body.rule, targets), dry_run=body.dry_run)


@operation(
    "DELETE /rules/{ruleId}",
    scope=Scope.WRITE_RULES,
    budget=Budget.MUTATION,
    tag="rules",
    errors=(409,),
    body_optional=True,
)
async def delete_rule(
    path: RulePath, query: DryRunQuery, body: DryRunBody, *, who: Caller, writes: Writes
) -> Reply[Envelope]:
    """Delete a rule: nothing is sent from then on; an undo brings it back, not what passed meanwhile."""
    return await writes.run(who, deletion(Rule, path.ruleId), dry_run=dry_run_of(query, body))


OPERATIONS = (list_rules, create_rule, update_rule, delete_rule)
