"""The endpoint that takes back everything an actor changed."""

from uuid import UUID

from pydantic import Field, model_validator

from service_core.access.models import Caller
from service_core.changes.actor import NamedActor
from service_core.changes.audit_log import AuditFilter
from service_core.changes.batched_writes import BatchExecutor
from service_core.changes.change_executor import BatchOutcome, ChangeExecutor, is_dry_run
from service_core.changes.models import Diff
from service_core.changes.operations import parse_span_in_workspace_zone
from service_core.changes.outside_effects import OutsideEffect
from service_core.changes.ports import Transaction
from service_core.changes.rollback import ActorPredicate, LeftAlone, Rollback
from service_core.changes.schemas import DryRunBody
from service_core.kernel.errors import BadRequest
from service_core.kernel.operations import (
    ANY_SCOPE,
    HandlerResponse,
    RateLimitClass,
    Reversibility,
    operation,
)
from service_core.kernel.schemas import BodyModel, ResponseModel


class RollbackActor(BodyModel):
    """Whose changes are taken back: one of the three, or what one person did with one program."""

    key_id: UUID | None = Field(None, description="A key.")
    client_id: str | None = Field(None, description="A program that persons authorized over OAuth.")
    user_id: UUID | None = Field(None, description="A person, whatever program was used.")

    @model_validator(mode="after")
    def _require_key_or_program_or_person(self) -> "RollbackActor":
        if (self.key_id is None) is (self.client_id is None and self.user_id is None):
            raise ValueError("key_id, or client_id, or user_id, or the last two are needed")
        return self


class RollbackBody(DryRunBody):
    """Body of `POST /audit/rollback`."""

    actor: RollbackActor
    since: str = Field(description="A date or timestamp; earlier changes stay.")
    until: str | None = Field(None, description="A date or timestamp; later changes stay.")


class RolledBackChange(ResponseModel):
    """A change that a rollback made, or would make."""

    diff: Diff
    audit_id: UUID | None


class RollbackAnswer(ResponseModel):
    """What a rollback changed, left alone, and cannot take back."""

    dry_run: bool
    applied: bool
    changes: list[RolledBackChange]
    left_alone: list[LeftAlone]
    outside_effects: list[OutsideEffect]


@operation(
    "POST /audit/rollback",
    scope=ANY_SCOPE,
    rate_limit=RateLimitClass.MUTATION,
    tag="audit",
    errors=(409, 422),
    idempotent=True,
    tool="rollback",
    reversibility=Reversibility.REVERSIBLE_WITH_EFFECTS,
)
async def roll_back_actor(
    body: RollbackBody, *, caller: Caller, executor: ChangeExecutor
) -> HandlerResponse[RollbackAnswer]:
    """Take back everything that one key, program or person changed, newest first.

    Creations are undone by deletion, with what the same actor built on them. What others changed since, or use, is
    left alone and named. `outside_effects` lists what cannot be taken back: postbacks, e-mails, pages already read.
    All or nothing; needs the scope of each write it takes back.
    """
    audit_filter = _build_audit_filter(body, caller)
    dry_run = is_dry_run(caller, body.dry_run)

    async def run_rollback(transaction: Transaction) -> BatchOutcome[RollbackAnswer]:
        batch = BatchExecutor(executor, transaction)
        rollback = Rollback(batch, caller, _actor_predicate(body.actor), transaction)
        result = await rollback.take_back_newest_first(audit_filter)
        answer = RollbackAnswer(
            dry_run=dry_run,
            applied=not dry_run and bool(result.changes),
            changes=[
                RolledBackChange(diff=envelope.diff, audit_id=None if dry_run else envelope.audit_id)
                for envelope in result.envelopes
            ],
            left_alone=result.left_alone,
            outside_effects=result.outside_effects,
        )
        diffs = [envelope.diff for envelope in result.envelopes]
        return BatchOutcome(answer, result.changes, diffs)

    return await executor.preview_or_apply_batch(caller, RollbackAnswer, run_rollback, dry_run=dry_run)


def _build_audit_filter(body: RollbackBody, caller: Caller) -> AuditFilter:
    since = parse_span_in_workspace_zone("since", body.since, caller)
    until = parse_span_in_workspace_zone("until", body.until, caller)
    if since is None:
        raise BadRequest("since must be a date or a timestamp (ISO 8601)", "invalid_parameter", field="since")
    actor = body.actor
    return AuditFilter(
        until=until.end if until else caller.now,
        since=since.start,
        actor_id=actor.key_id or actor.user_id,
        actor_type="key" if actor.key_id else "user" if actor.user_id else None,
        client_id=actor.client_id,
    )


def _actor_predicate(requested: RollbackActor) -> ActorPredicate:
    def is_actor(actor: NamedActor) -> bool:
        if requested.key_id is not None:
            return actor.type == "key" and actor.id == requested.key_id
        is_program = requested.client_id in (None, actor.client_id)
        is_person = requested.user_id is None or (actor.type == "user" and actor.id == requested.user_id)
        return is_program and is_person

    return is_actor


OPERATIONS = (roll_back_actor,)
