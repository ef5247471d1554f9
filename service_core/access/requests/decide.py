"""What a person sees of a request, and the decision (contract 7.2, S13, S14)."""

from dataclasses import dataclass, replace
from uuid import UUID

from service_core.access.members.model import Member
from service_core.access.members.ports import Members
from service_core.access.model import Workspace
from service_core.access.plans import PLANS, UNLIMITED
from service_core.access.requests.model import KeyRequest, RequestStatus
from service_core.access.requests.ports import KeyRequests
from service_core.access.roles import ABILITIES, KEY_SCOPES, Ability, require_ability, require_grantor
from service_core.access.workspaces import Workspaces
from service_core.kernel.clock import Clock
from service_core.kernel.errors import Conflict, NotFound
from service_core.kernel.ids import ONE_TIME_TOKEN, digest


@dataclass(frozen=True, slots=True)
class RequestView:
    """What the approval page shows.

    Attributes:
        status: where the request stands now; only a pending one can be decided.
        may_approve: the role of the viewer suffices for every scope asked for.
        may_deny: the viewer may decide at all.
        may_limit: the viewer may choose the key's requests per 60 seconds.
    """

    request: KeyRequest
    workspace: Workspace
    status: RequestStatus
    may_approve: bool
    may_deny: bool
    may_limit: bool


class Approvals:
    """Shows and decides requests for whoever is signed in.

    Args:
        requests: where requests are kept.
        members: who may decide.
        workspaces: finds the workspace of a request.
        clock: gives the present.
    """

    def __init__(self, requests: KeyRequests, members: Members, workspaces: Workspaces, clock: Clock) -> None:
        self._requests = requests
        self._members = members
        self._workspaces = workspaces
        self._clock = clock

    async def view_request(self, token: str, account_id: UUID) -> RequestView:
        """What stands behind an approval link.

        Raises:
            NotFound: no such link, or the account does not belong to its workspace.
        """
        request, workspace, member = await self._found(token, account_id)
        deny = Ability.MANAGE in ABILITIES[member.role]
        return RequestView(
            request,
            workspace,
            request.status_at(self._clock()),
            may_approve=deny and request.scopes <= KEY_SCOPES[member.role],
            may_deny=deny,
            may_limit=Ability.GRANT_WRITES in ABILITIES[member.role],
        )

    async def decide(
        self, token: str, account_id: UUID, *, approve: bool, rate_limit: int | None = None
    ) -> KeyRequest:
        """Approve or deny; the link is used up by the first decision, and by nothing else.

        Args:
            token: of the approval link.
            account_id: who decides.
            approve: or deny.
            rate_limit: requests per 60 seconds of the key; an owner alone may choose it.

        Raises:
            NotFound: no such link, or the account does not belong to its workspace.
            Forbidden: ``role_required``, or ``owner_required`` for a write scope or a limit; the
                link can still be used.
            Conflict: it was decided before, or has expired.
        """
        request, workspace, member = await self._found(token, account_id)
        require_grantor(member.role, request.scopes if approve else ())
        if rate_limit is not None:
            require_ability(member.role, Ability.GRANT_WRITES)
        limit = PLANS.get(workspace.plan, UNLIMITED).clamp(rate_limit or request.rate_limit)
        return await decided(
            self._requests, request, self._clock, approve=approve, by=account_id, limit=limit
        )

    async def _found(self, token: str, account_id: UUID) -> tuple[KeyRequest, Workspace, Member]:
        if not ONE_TIME_TOKEN.fullmatch(token):
            raise NotFound
        request = await self._requests.key_request_of(digest(token))
        if request is None or request.workspace_id is None:
            raise NotFound
        workspace = await self._workspaces.find(request.workspace_id)
        member = await self._members.role(request.workspace_id, account_id)
        if workspace is None or member is None:
            raise NotFound
        return request, workspace, member


async def decided(
    requests: KeyRequests, request: KeyRequest, clock: Clock, *, approve: bool, by: UUID | None, limit: int
) -> KeyRequest:
    """Write a decision whose maker has been checked.

    Raises:
        Conflict: it was decided before, or has expired.
    """
    now = clock()
    status = RequestStatus.APPROVED if approve else RequestStatus.DENIED
    changed = replace(request, status=status, decided_at=now, decided_by=by, rate_limit=limit)
    if request.status_at(now) is not RequestStatus.PENDING or not await requests.decide(changed):
        raise Conflict("This request was decided before, or has expired", "resource_changed")
    return changed
