"""`GET /approvals/{approvalId}`."""

from service_core.access.models import Caller
from service_core.access.scopes import require_scope
from service_core.changes.record_plans import get_or_404
from service_core.kernel.errors import NotFound
from service_core.kernel.operations import ANY_SCOPE, Scope, operation
from service_core.workspace.approvals.filing import ApprovalFiling
from service_core.workspace.approvals.models import WriteApproval
from service_core.workspace.approvals.schemas import ApprovalAnswer, ApprovalPath


@operation("GET /approvals/{approvalId}", scope=ANY_SCOPE, tag="change-sets")
async def get_approval(path: ApprovalPath, *, caller: Caller, filing: ApprovalFiling) -> ApprovalAnswer:
    """Whether a person has approved a write.

    An approved write was applied; `audit_ids` names its audit entries. A declined or expired one changed nothing.
    """
    async with filing.executor.transactions.read(caller.workspace.id) as transaction:
        approval = await get_or_404(transaction.resources, WriteApproval, path.approvalId)
    if approval.requester_id != caller.credential.id:
        if approval.is_private:
            raise NotFound
        require_scope(caller, Scope.READ)
    return filing.build_answer(approval, caller.now)


OPERATIONS = (get_approval,)
