"""The decision of a person about a write that waits: it is applied as planned, or declined."""

import hmac
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from service_core.access.api_keys import DEFAULT_RATE_LIMIT
from service_core.access.members.models import Member
from service_core.access.members.ports import Accounts, Members
from service_core.access.models import ActingUser, Caller, Credential, CredentialKind, Workspace
from service_core.access.oauth.ports import OAuthGrants
from service_core.access.ports import CredentialStore
from service_core.access.roles import ROLE_OAUTH_SCOPES
from service_core.access.scopes import require_active_workspace
from service_core.access.write_policy import ProgramKind
from service_core.changes.actor import name_person
from service_core.changes.batched_writes import (
    BatchExecutor,
    WriteRequest,
    WriteRoutes,
    apply_writes_in_transaction,
    prepare_writes,
)
from service_core.changes.change_executor import BatchOutcome, ChangeExecutor
from service_core.changes.change_set_operations import ChangeSetResult
from service_core.changes.change_sets import ChangeSet, ChangeSetStatus, digest_plan, save_status
from service_core.changes.envelope import Envelope
from service_core.changes.idempotency import RECORD_LIFETIME
from service_core.changes.ports import Transaction
from service_core.changes.record_plans import get_or_404
from service_core.kernel.clock import Clock
from service_core.kernel.errors import BadRequest, Conflict, Forbidden, NotFound, Unprocessable
from service_core.kernel.schemas import ResponseModel
from service_core.workspace.approvals.approvers import can_approve
from service_core.workspace.approvals.models import ApprovalStatus, WriteApproval


class ApprovedWrites(ResponseModel):
    """The answers of the writes of an approval, with secrets that are shown once."""

    answers: list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class ApprovalDecisions:
    """Applies or declines writes that wait.

    Attributes:
        executor: applies them.
        routes: finds their operations.
        credentials, grants, members, accounts: who requested them, and what that program may do now.
        clock: returns the current time.
    """

    executor: ChangeExecutor
    routes: WriteRoutes
    credentials: CredentialStore
    grants: OAuthGrants
    members: Members
    accounts: Accounts
    clock: Clock

    async def approve(
        self, approver: Caller, member: Member, approval_id: UUID, nonce: str
    ) -> ApprovedWrites:
        """Applies writes in the name of their requester, exactly as they were planned, once.

        Args:
            approver: the person, in the web application.
            member: their membership.
            approval_id: of the approval.
            nonce: of the form on which the person saw the plan.

        Raises:
            NotFound: there is no such approval.
            Forbidden: ``role_required``; ``workspace_inactive``; the requester lacks a scope by now.
            Conflict: ``plan_outdated``; ``resource_changed``, it was decided before, or has expired, or the
                requester is gone.
        """
        async with self.executor.transactions.read(approver.workspace.id) as transaction:
            approval = await get_or_404(transaction.resources, WriteApproval, approval_id)
        require_active_workspace(approver)
        requester = await self._build_requester(approval, approver)
        requests = [WriteRequest.model_validate(request) for request in approval.requests]
        prepared = await prepare_writes(requester, self.executor, self.routes, requests)

        async def apply_all(transaction: Transaction) -> BatchOutcome[ApprovedWrites]:
            current = await self._require_decidable(transaction, approval_id, member, nonce)
            batch = BatchExecutor(self.executor, transaction, prepared)
            answers = await self._apply_as_planned(requester, batch, current)
            audit_ids = [
                write.envelope.audit_id for write in batch.writes if write.envelope.audit_id is not None
            ]
            await _save_decision(transaction, current, ApprovalStatus.APPROVED, approver, audit_ids)
            if current.change_set_id is not None:
                change_set = await get_or_404(transaction.resources, ChangeSet, current.change_set_id)
                await save_status(transaction, change_set, approver.now, ChangeSetStatus.APPLIED, audit_ids)
            await _save_answer_for_retries(transaction, current, approver.now, batch, answers)
            changes = [write.change for write in batch.writes]
            diffs = [write.envelope.diff for write in batch.writes]
            body = ApprovedWrites(
                answers=[answer.model_dump(mode="json", by_alias=True) for answer in answers]
            )
            return BatchOutcome(body, changes, diffs)

        response = await self.executor.preview_or_apply_batch(
            requester, ApprovedWrites, apply_all, dry_run=False, is_planned=True
        )
        return response.body

    async def decline(self, approver: Caller, member: Member, approval_id: UUID, nonce: str) -> None:
        """Declines writes; nothing is changed.

        Raises:
            NotFound, Forbidden, Conflict: as `approve`.
        """
        async with self.executor.transactions.write(approver.workspace.id) as transaction:
            current = await self._require_decidable(transaction, approval_id, member, nonce)
            await _save_decision(transaction, current, ApprovalStatus.DECLINED, approver, ())

    async def _require_decidable(
        self, transaction: Transaction, approval_id: UUID, member: Member, nonce: str
    ) -> WriteApproval:
        """Returns an approval that is still pending, within the transaction that decides it."""
        approval = await get_or_404(transaction.resources, WriteApproval, approval_id)
        if not can_approve(approval, member):
            raise Forbidden("Your role cannot decide this change", "role_required")
        is_own_form = hmac.compare_digest(approval.nonce.encode(), nonce.encode())
        if approval.status_at(self.clock()) is not ApprovalStatus.PENDING or not is_own_form:
            raise Conflict("This change was decided before, or has expired", "resource_changed")
        return approval

    async def _apply_as_planned(
        self, requester: Caller, batch: BatchExecutor, approval: WriteApproval
    ) -> list[Any]:
        requests = [WriteRequest.model_validate(request) for request in approval.requests]
        is_single = approval.change_set_id is None
        try:
            answers = await apply_writes_in_transaction(
                requester, batch, self.routes, requests, with_batches=is_single
            )
        except (BadRequest, Conflict, NotFound, Unprocessable) as refusal:
            raise _plan_outdated() from refusal
        if digest_plan(batch) != approval.plan_digest:
            raise _plan_outdated()
        return answers

    async def _build_requester(self, approval: WriteApproval, approver: Caller) -> Caller:
        """Returns the program as a caller, with the scopes that it has now.

        Raises:
            Conflict: ``resource_changed``, its key or grant has ended.
        """
        workspace = approver.workspace
        found = (
            await self._find_key(approval, workspace)
            if approval.requester_kind is ProgramKind.KEY
            else await self._find_grant(approval, workspace)
        )
        if found is None:
            raise Conflict("The program that asked for this has no access any more", "resource_changed")
        credential, acting_user = found
        return Caller(
            workspace,
            credential,
            approver.now,
            approval.interface,
            acting_user=acting_user,
            approved_by=approver.acting_user,
        )

    async def _find_key(
        self, approval: WriteApproval, workspace: Workspace
    ) -> tuple[Credential, ActingUser | None] | None:
        keys = await self.credentials.list_keys(workspace.id)
        return next(
            ((key, None) for key in keys if key.id == approval.requester_id and key.revoked_at is None),
            None,
        )

    async def _find_grant(
        self, approval: WriteApproval, workspace: Workspace
    ) -> tuple[Credential, ActingUser | None] | None:
        grants = await self.grants.list_active_grants(workspace.id)
        grant = next((grant for grant in grants if grant.id == approval.requester_id), None)
        member = None if grant is None else await self.members.get_member(workspace.id, grant.account_id)
        account = None if grant is None else await self.accounts.get_account(grant.account_id)
        if grant is None or member is None or account is None:
            return None
        credential = Credential(
            id=grant.id,
            workspace_id=workspace.id,
            kind=CredentialKind.OAUTH,
            name=grant.client_name,
            scopes=grant.scopes & ROLE_OAUTH_SCOPES[member.role],
            rate_limit=DEFAULT_RATE_LIMIT,
            hint="",
            created_at=grant.created_at,
        )
        return credential, ActingUser(grant, account.email, member.role)


async def _save_decision(
    transaction: Transaction,
    approval: WriteApproval,
    status: ApprovalStatus,
    approver: Caller,
    audit_ids: Sequence[UUID],
) -> None:
    """Saves a decision, without what the writes contain: the audit log has what was applied."""
    decided = approval.with_fields(
        approver.now,
        status=status,
        decided_at=approver.now,
        decided_by=name_person(approver.acting_user) if approver.acting_user else None,
        audit_ids=tuple(audit_ids),
        requests=(),
        planned_changes=(),
    )
    await transaction.resources.save(decided)


async def _save_answer_for_retries(
    transaction: Transaction,
    approval: WriteApproval,
    now: datetime,
    batch: BatchExecutor,
    answers: Sequence[Any],
) -> None:
    """Stores the answer that a retry with the ``Idempotency-Key`` of the request gets, without secrets shown once."""
    if approval.idempotency_digest is None:
        return
    envelopes = [write.envelope for write in batch.writes]
    answer = envelopes[0] if isinstance(answers[0], Envelope) else answers[0]
    if approval.change_set_id is not None:
        answer = ChangeSetResult(id=approval.change_set_id, dry_run=False, applied=True, changes=envelopes)
    content = answer.model_dump(mode="json", by_alias=True)
    await transaction.idempotency.save_answer_and_delete_expired(
        approval.idempotency_digest, content, now, now + RECORD_LIFETIME
    )


def _plan_outdated() -> Conflict:
    return Conflict(
        "What this change was planned against has changed, so it cannot be approved any more", "plan_outdated"
    )
