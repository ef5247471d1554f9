"""Who can approve which writes."""

from service_core.access.internal_callers import DASHBOARD_SCOPES
from service_core.access.members.models import Member
from service_core.access.roles import ROLE_PERMISSIONS, Permission, Role
from service_core.kernel.operations import Scope
from service_core.workspace.approvals.models import WriteApproval


def approver_scopes(role: Role) -> frozenset[Scope]:
    """Returns the scopes whose writes a role can approve: those it has in the web application, and scripts it reviews."""
    scopes = DASHBOARD_SCOPES[role]
    return scopes | {Scope.PROPOSE_SCRIPTS} if Permission.MANAGE in ROLE_PERMISSIONS[role] else scopes


def can_view(approval: WriteApproval, member: Member) -> bool:
    """Returns whether a member sees what a write would do."""
    return approval.private_to in (None, member.account_id)


def can_approve(approval: WriteApproval, member: Member) -> bool:
    """Returns whether a member can approve a write: the role has each scope that the write needs."""
    return can_view(approval, member) and set(approval.scopes) <= approver_scopes(member.role)
