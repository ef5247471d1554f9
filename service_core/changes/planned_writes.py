"""Plans writes: applies them in a transaction that is rolled back, and returns what they would do."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from service_core.access.models import Caller
from service_core.changes.batched_writes import (
    AppliedWrite,
    BatchExecutor,
    WriteRequest,
    WriteRoutes,
    apply_writes_in_transaction,
    prepare_writes,
)
from service_core.changes.change_executor import BatchOutcome, ChangeExecutor
from service_core.changes.change_sets import digest_plan
from service_core.changes.models import Diff
from service_core.changes.outside_effects import classify_reversibility
from service_core.changes.ports import Transaction
from service_core.changes.resource import Resource
from service_core.kernel.operations import Reversibility
from service_core.kernel.schemas import ResponseModel


class PlannedChange(ResponseModel):
    """What one write would do."""

    diff: Diff
    reversibility: Reversibility


class _NoAnswer(ResponseModel):
    """The answer of a plan while it is made."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What writes would do.

    Attributes:
        changes: in their order, with the warnings of each.
        digest: of the changes and the versions that were read.
        records: that would be changed, as they are before and after.
    """

    changes: Sequence[PlannedChange]
    digest: str
    records: Sequence[Resource]

    @property
    def effects(self) -> list[dict[str, Any]]:
        """The effects of all changes."""
        return [effect for change in self.changes for effect in change.diff.effects]


async def plan_writes(
    caller: Caller,
    executor: ChangeExecutor,
    routes: WriteRoutes,
    requests: Sequence[WriteRequest],
    *,
    with_batches: bool = False,
) -> Plan:
    """Returns what writes would do; nothing is changed.

    Args:
        caller: who would make them.
        executor: of the deployment.
        routes: finds their operations.
        requests: the writes.
        with_batches: whether operations that make several changes are accepted.

    Raises:
        ApiError: of the first write that is refused; ``change_index`` tells which.
    """
    writes: list[AppliedWrite] = []
    digests: list[str] = []

    prepared = await prepare_writes(caller, executor, routes, requests)

    async def plan_all(transaction: Transaction) -> BatchOutcome[_NoAnswer]:
        batch = BatchExecutor(executor, transaction, prepared)
        await apply_writes_in_transaction(caller, batch, routes, requests, with_batches=with_batches)
        writes[:], digests[:] = batch.writes, [digest_plan(batch)]
        return BatchOutcome(_NoAnswer(), (), ())

    await executor.preview_or_apply_batch(caller, _NoAnswer, plan_all, dry_run=True)
    changes = [
        PlannedChange(
            diff=write.preview.with_effects(
                await executor.list_warnings(caller, write.change, dry_run=True)
            ).diff,
            reversibility=classify_reversibility(
                write.preview.diff, executor.resource_types[write.change.resource.resource_type]
            ),
        )
        for write in writes
    ]
    records = [record for write in writes for record in (write.change.prior, write.change.new) if record]
    return Plan(changes, digests[0], records)
