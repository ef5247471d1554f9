"""The approval page of a key request, and the decision."""

from dataclasses import dataclass, replace
from uuid import UUID

from service_core.access.billing_plans import BILLING_PLANS, UNLIMITED_PLAN
from service_core.access.key_requests.models import KeyRequest, RequestStatus
from service_core.access.key_requests.ports import KeyRequests
from service_core.access.members.models import Member
from service_core.access.members.ports import Members
from service_core.access.models import Workspace
from service_core.access.roles import (
    GRANTABLE_KEY_SCOPES,
    ROLE_PERMISSIONS,
    Permission,
    require_can_grant_key_scopes,
    require_permission,
)
from service_core.access.workspace_cache import WorkspaceCache
from service_core.kernel.clock import Clock
from service_core.kernel.errors import Conflict, NotFound
from service_core.kernel.ids import ONE_TIME_TOKEN_PATTERN, sha256_hex


@dataclass(frozen=True, slots=True)
class RequestView:
    """A key request as the approval page shows it.

    Attributes:
        status: current status; only a pending request can be decided.
        may_approve: the viewer's role can grant all requested scopes.
        may_deny: the viewer can decide at all.
        may_limit: the viewer can choose the key's requests per 60 seconds.
    """

    request: KeyRequest
    workspace: Workspace
    status: RequestStatus
    may_approve: bool
    may_deny: bool
    may_limit: bool


class Approvals:
    """Shows key requests to signed-in people and saves their decisions.

    Args:
        requests: the store of key requests.
        members: tells who may decide.
        workspaces: finds the workspace of a request.
        clock: current time.
    """

    def __init__(
        self, requests: KeyRequests, members: Members, workspaces: WorkspaceCache, clock: Clock
    ) -> None:
        self._requests = requests
        self._members = members
        self._workspaces = workspaces
        self._clock = clock

    async def view_request_as_member(self, approval_token: str, viewer_account_id: UUID) -> RequestView:
        """Returns the request of an approval link.

        Raises:
            NotFound: no such link, or the account does not belong to its workspace.
        """
        request, workspace, member = await self._require_request_and_membership(
            approval_token, viewer_account_id
        )
        may_decide = Permission.MANAGE in ROLE_PERMISSIONS[member.role]
        return RequestView(
            request,
            workspace,
            request.status_at(self._clock()),
            may_approve=may_decide and request.scopes <= GRANTABLE_KEY_SCOPES[member.role],
            may_deny=may_decide,
            may_limit=Permission.GRANT_WRITES in ROLE_PERMISSIONS[member.role],
        )

    async def decide_pending_request(
        self,
        approval_token: str,
        deciding_account_id: UUID,
        *,
        approve: bool,
        owner_chosen_rate_limit: int | None = None,
    ) -> KeyRequest:
        """Approves or denies a request. The first decision uses up the link.

        Args:
            approval_token: token of the approval link.
            deciding_account_id: who decides.
            approve: False denies the request.
            owner_chosen_rate_limit: requests per 60 seconds of the key; only an owner may choose it.

        Raises:
            NotFound: no such link, or the account does not belong to its workspace.
            Forbidden: ``role_required``; ``owner_required`` for a write scope or a limit. The link stays valid.
            Conflict: it was already decided, or has expired.
        """
        request, workspace, member = await self._require_request_and_membership(
            approval_token, deciding_account_id
        )
        require_can_grant_key_scopes(member.role, request.scopes if approve else ())
        if owner_chosen_rate_limit is not None:
            require_permission(member.role, Permission.GRANT_WRITES)
        limit = BILLING_PLANS.get(workspace.plan, UNLIMITED_PLAN).clamp_rate_limit_to_1_and_plan_maximum(
            owner_chosen_rate_limit or request.rate_limit
        )
        return await save_decision_or_conflict(
            self._requests,
            request,
            self._clock,
            approve=approve,
            decided_by=deciding_account_id,
            rate_limit=limit,
        )

    async def _require_request_and_membership(
        self, approval_token: str, account_id: UUID
    ) -> tuple[KeyRequest, Workspace, Member]:
        if not ONE_TIME_TOKEN_PATTERN.fullmatch(approval_token):
            raise NotFound
        request = await self._requests.find_key_request_by_link(sha256_hex(approval_token))
        if request is None or request.workspace_id is None:
            raise NotFound
        workspace = await self._workspaces.find_by_id(request.workspace_id)
        member = await self._members.get_member(request.workspace_id, account_id)
        if workspace is None or member is None:
            raise NotFound
        return request, workspace, member


async def save_decision_or_conflict(
    requests: KeyRequests,
    request: KeyRequest,
    clock: Clock,
    *,
    approve: bool,
    decided_by: UUID | None,
    rate_limit: int,
) -> KeyRequest:
    """Saves a decision that the caller has authorized.

    Raises:
        Conflict: the request was already decided, or has expired.
    """
    now = clock()
    status = RequestStatus.APPROVED if approve else RequestStatus.DENIED
    decided_request = replace(
        request, status=status, decided_at=now, decided_by=decided_by, rate_limit=rate_limit
    )
    if request.status_at(now) is not RequestStatus.PENDING or not await requests.save_decision_if_pending(
        decided_request
    ):
        raise Conflict("This request was decided before, or has expired", "resource_changed")
    return decided_request
