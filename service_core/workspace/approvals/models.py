"""A write that waits for the approval of a person, and its states."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, ClassVar, Final
from uuid import UUID

from service_core.access.models import Caller, RequestInterface
from service_core.access.write_policy import ProgramKind
from service_core.changes.actor import NamedActor, build_named_actor
from service_core.changes.batched_writes import WriteRequest
from service_core.changes.idempotency import idempotency_digest
from service_core.changes.planned_writes import Plan
from service_core.changes.record_plans import new_record_fields
from service_core.changes.resource import MillisecondDatetime, Resource
from service_core.changes.write_requirements import ApprovalRequired
from service_core.kernel.ids import new_id, new_token

APPROVAL_LIFETIME: Final = timedelta(hours=24)
"""How long a write can be approved."""

APPROVAL_RETENTION: Final = timedelta(days=40)
"""After this time an approval is deleted, in any state; the audit log keeps what was applied."""


class ApprovalStatus(StrEnum):
    """State of an approval."""

    PENDING = "pending"
    APPROVED = "approved"
    DECLINED = "declined"
    EXPIRED = "expired"


class WriteApproval(Resource):
    """Writes that a person has to approve, bound to their requester and parameters. Its name is the note of the requester.

    Attributes:
        requests: the writes as they were sent; empty once they are decided.
        planned_changes: what they would do, as the page shows it; empty once they are decided.
        request_digest: of the requester and the request, so that a retry does not ask twice.
        plan_digest: of what they would change and the versions that were read.
        requester: the key, or the person and the program.
        requester_id: id of the key or the OAuth grant.
        scopes: that the writes need.
        nonce: part of the form of the page; an approval with another one is refused.
        idempotency_digest: of an ``Idempotency-Key``, whose retries get the answer of the applied write.
        is_private: whether a record of the writes is visible to its creator only.
        change_set_id: of the change set whose writes they are.
        audit_ids: entries of the applied changes.
    """

    resource_type: ClassVar[str] = "write_approval"
    hidden_fields: ClassVar[frozenset[str]] = frozenset({"nonce"})

    requests: tuple[dict[str, Any], ...]
    planned_changes: tuple[dict[str, Any], ...]
    request_digest: str
    plan_digest: str
    requester: NamedActor
    requester_id: UUID
    requester_kind: ProgramKind
    scopes: tuple[str, ...]
    nonce: str
    expires_at: MillisecondDatetime
    idempotency_digest: str | None = None
    is_private: bool = False
    change_set_id: UUID | None = None
    status: ApprovalStatus = ApprovalStatus.PENDING
    decided_at: MillisecondDatetime | None = None
    decided_by: NamedActor | None = None
    audit_ids: tuple[UUID, ...] = ()

    def status_at(self, now: datetime) -> ApprovalStatus:
        """Returns the state at an instant; expiry is computed, not stored."""
        is_over = self.status is ApprovalStatus.PENDING and now >= self.expires_at
        return ApprovalStatus.EXPIRED if is_over else self.status

    @property
    def private_to(self) -> UUID | None:
        """The only account that sees the writes; None for all members. What a key keeps private, members see here."""
        return self.requester.id if self.is_private and self.requester.type == "user" else None

    @property
    def interface(self) -> RequestInterface:
        """The interface of the request."""
        return self.created_via


def new_write_approval(
    caller: Caller,
    kind: ProgramKind,
    needed: ApprovalRequired,
    requests: Sequence[WriteRequest],
    *,
    plan: Plan,
    scopes: Sequence[str],
    request_digest: str,
) -> WriteApproval:
    """Returns a pending approval of writes of the caller."""
    return WriteApproval(
        **new_record_fields(caller),
        name=needed.note,
        requests=tuple(request.model_dump(mode="json") for request in requests),
        planned_changes=tuple(change.model_dump(mode="json", by_alias=True) for change in plan.changes),
        request_digest=request_digest,
        plan_digest=plan.digest,
        requester=build_named_actor(caller),
        requester_id=caller.credential.id,
        requester_kind=kind,
        scopes=tuple(scopes),
        nonce=new_token(),
        expires_at=caller.now + APPROVAL_LIFETIME,
        idempotency_digest=idempotency_digest(caller),
        is_private=_has_private_record(plan, caller),
        change_set_id=needed.change_set_id,
    )


def _has_private_record(plan: Plan, caller: Caller) -> bool:
    stranger = replace(caller, credential=replace(caller.credential, id=new_id()), acting_user=None)
    return not all(record.is_visible_to(stranger) for record in plan.records)
