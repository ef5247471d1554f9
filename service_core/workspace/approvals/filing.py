"""Stores a write that a person has to approve, and tells the people who can."""

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from service_core.access.members.ports import Accounts, Members
from service_core.access.models import Caller, Workspace
from service_core.access.public_urls import PublicUrls
from service_core.changes.batched_writes import WriteRequest, WriteRoutes
from service_core.changes.change_executor import ChangeExecutor
from service_core.changes.change_sets import (
    PLAN_LIFETIME,
    ChangeSet,
    ChangeSetStatus,
    require_unused_plan_token,
)
from service_core.changes.planned_writes import PlannedChange, plan_writes
from service_core.changes.ports import Transaction
from service_core.changes.record_plans import get_or_404
from service_core.changes.write_requirements import ApprovalRequired, program_kind
from service_core.kernel.errors import Conflict
from service_core.kernel.ids import sha256_hex
from service_core.workspace.approvals.approvers import can_approve
from service_core.workspace.approvals.models import (
    APPROVAL_LIFETIME,
    APPROVAL_RETENTION,
    ApprovalStatus,
    WriteApproval,
    new_write_approval,
)
from service_core.workspace.approvals.schemas import ApprovalAnswer
from service_core.workspace.notifications.models import Channel, Notification
from service_core.workspace.notifications.ports import NotificationOutbox

MAX_PENDING_OF_PROGRAM: Final = 20
"""Most writes of one key or grant that wait at a time, so that no program keeps the others out."""

MAX_PENDING: Final = 500
"""Most writes of a workspace that wait at a time."""

_HINT: Final = "Nothing was changed. Ask the person to open approval_url; GET /approvals/{approvalId} tells the decision."


@dataclass(frozen=True, slots=True)
class ApprovalFiling:
    """Stores writes that a person has to approve.

    Attributes:
        executor: plans them.
        routes: finds their operations.
        urls: of the web application.
        members, accounts: who can approve them.
        outbox: takes the e-mails to these people.
    """

    executor: ChangeExecutor
    routes: WriteRoutes
    urls: PublicUrls
    members: Members
    accounts: Accounts
    outbox: NotificationOutbox

    async def store_write_for_approval(self, caller: Caller, needed: ApprovalRequired) -> ApprovalAnswer:
        """Stores the write of a request, or finds it if the request is a retry.

        Raises:
            ApiError: the write is refused.
            Conflict: ``too_many_approvals``.
        """
        kind, sent = program_kind(caller), caller.request
        assert kind is not None, "only programs need an approval"
        assert sent is not None, "a program sends requests"
        digest = _digest_request(caller)
        async with self.executor.transactions.read(caller.workspace.id) as transaction:
            retried = await _find_retried(transaction, caller, digest)
        if retried is not None:
            return self.build_answer(retried, caller.now)
        own_body = {name: value for name, value in sent.body.items() if name != "dry_run"}
        requests = (
            [WriteRequest(method=sent.method, path=sent.path, body=own_body)]
            if needed.requests is None
            else [WriteRequest.model_validate(request) for request in needed.requests]
        )
        plan = await plan_writes(
            caller, self.executor, self.routes, requests, with_batches=needed.requests is None
        )
        scopes = {
            self.executor.resource_types[change.diff.resource.type].scope.value for change in plan.changes
        }
        approval = new_write_approval(
            caller, kind, needed, requests, plan=plan, scopes=sorted(scopes), request_digest=digest
        )
        async with self.executor.transactions.write(caller.workspace.id) as transaction:
            retried = await _find_retried(transaction, caller, digest)  # of a request at the same time
            if retried is None:
                await _save_and_delete_old(transaction, approval, caller.now)
                await _mark_waiting_if_change_set(transaction, approval, caller.now)
        if retried is not None:
            return self.build_answer(retried, caller.now)
        await self._notify_approvers(approval, caller.workspace)
        return self.build_answer(approval, caller.now)

    def build_answer(self, approval: WriteApproval, now: datetime) -> ApprovalAnswer:
        """Returns the answer about an approval."""
        status = approval.status_at(now)
        return ApprovalAnswer(
            id=approval.id,
            status=status,
            applied=status is ApprovalStatus.APPROVED,
            approval_url=f"{self.urls.web_url}/changes/{approval.id}",
            poll_url=self.urls.poll_url("approvals", approval.id),
            expires_at=approval.expires_at,
            decided_at=approval.decided_at,
            audit_ids=list(approval.audit_ids),
            changes=[PlannedChange.model_validate(change) for change in approval.planned_changes],
            hint=_HINT if status is ApprovalStatus.PENDING else None,
        )

    async def _notify_approvers(self, approval: WriteApproval, workspace: Workspace) -> None:
        """Puts an e-mail to each person who can approve the write into the outbox."""
        subject, text = _subject_and_text_of_email(
            approval, workspace, f"{self.urls.web_url}/changes/{approval.id}"
        )
        notifications = []
        for member in await self.members.list_members(workspace.id):
            account = (
                await self.accounts.get_account(member.account_id) if can_approve(approval, member) else None
            )
            if account is not None:
                notifications.append(
                    Notification(
                        workspace_id=workspace.id,
                        source_type=WriteApproval.resource_type,
                        source_id=approval.id,
                        occurrence="requested",
                        channel=Channel.EMAIL,
                        target=account.email,
                        subject=subject,
                        due_at=approval.created_at,
                        created_at=approval.created_at,
                        next_attempt_at=approval.created_at,
                        payload=text,
                    )
                )
        await self.outbox.add_notifications_if_absent(notifications)


def _subject_and_text_of_email(approval: WriteApproval, workspace: Workspace, url: str) -> tuple[str, str]:
    name = " ".join(workspace.name.split())
    program = " ".join((approval.requester.client_name or approval.requester.name).split())
    count = len(approval.planned_changes)
    changes = "a change" if count == 1 else f"{count} changes"
    text = (
        f"{program} wants to make {changes} in {name}. Nothing is changed until somebody approves it.\n\n"
        f"Review it by {approval.expires_at:%Y-%m-%d %H:%M} UTC:\n\n{url}\n"
    )
    return f"Approval needed in {name}: {changes} by {program}", text


def _digest_request(caller: Caller) -> str:
    """Returns a digest of the requester and everything that an identical retry repeats."""
    sent = caller.request
    key = caller.idempotency.key if caller.idempotency else None
    parts = (caller.credential.id.hex, key, sent and (sent.method, sent.path, sent.body))
    return sha256_hex(json.dumps(parts, sort_keys=True, default=str))


async def _find_retried(transaction: Transaction, caller: Caller, digest: str) -> WriteApproval | None:
    """Returns the pending approval that an identical request asked for."""
    found = await transaction.resources.list_all(WriteApproval, field_filters={"request_digest": digest})
    pending = (each for each in found if each.status_at(caller.now) is ApprovalStatus.PENDING)
    return next(pending, None)


async def _mark_waiting_if_change_set(
    transaction: Transaction, approval: WriteApproval, now: datetime
) -> None:
    """Uses up the token of a change set, once its approval is stored.

    Raises:
        Conflict: ``plan_token_invalid``: another request used it meanwhile.
    """
    if approval.change_set_id is None:
        return
    change_set = await get_or_404(transaction.resources, ChangeSet, approval.change_set_id)
    require_unused_plan_token(change_set)
    await transaction.resources.save(change_set.with_fields(now, status=ChangeSetStatus.WAITING))


async def _save_and_delete_old(transaction: Transaction, approval: WriteApproval, now: datetime) -> None:
    """Saves an approval, and deletes expired and old ones, and change sets that nobody can approve any more.

    Raises:
        Conflict: ``too_many_approvals``.
    """
    records = transaction.resources
    lifetimes = {ApprovalStatus.PENDING: APPROVAL_LIFETIME}
    for status in (ApprovalStatus.PENDING, ApprovalStatus.APPROVED, ApprovalStatus.DECLINED):
        oldest = now - lifetimes.get(status, APPROVAL_RETENTION)
        await records.purge_created_until(WriteApproval, oldest, field_filters={"status": status.value})
    oldest_waiting = now - APPROVAL_LIFETIME - PLAN_LIFETIME
    await records.purge_created_until(
        ChangeSet, oldest_waiting, field_filters={"status": ChangeSetStatus.WAITING.value}
    )
    pending = {"status": ApprovalStatus.PENDING.value}
    own = await records.count(
        WriteApproval, field_filters={**pending, "requester_id": str(approval.requester_id)}
    )
    if (
        own >= MAX_PENDING_OF_PROGRAM
        or await records.count(WriteApproval, field_filters=pending) >= MAX_PENDING
    ):
        whose = "program" if own >= MAX_PENDING_OF_PROGRAM else "workspace"
        raise Conflict(
            f"Too many writes of this {whose} wait for an approval",
            "too_many_approvals",
            hint="Ask the person to decide them; they expire after a day.",
        )
    await records.save(approval)
