"""The page after payment, where the person who paid can approve the key requested with the signup."""

from dataclasses import dataclass
from uuid import UUID

from service_core.access.key_requests.approvals import save_decision_or_conflict
from service_core.access.key_requests.models import KeyRequest, RequestStatus
from service_core.access.key_requests.ports import KeyRequests
from service_core.access.models import Workspace
from service_core.access.signup.models import Signup
from service_core.access.signup.ports import SignupLookup, Signups
from service_core.access.workspace_cache import WorkspaceCache
from service_core.kernel.clock import Clock
from service_core.kernel.errors import NotFound
from service_core.kernel.ids import ONE_TIME_TOKEN_PATTERN, new_token, sha256_hex


@dataclass(frozen=True, slots=True)
class PaymentPageView:
    """Content of the page. ``workspace`` is None until the payment has arrived.

    Attributes:
        request: the read key requested with the signup; None if there is none.
        status: current state of that request.
    """

    signup: Signup
    workspace: Workspace | None
    request: KeyRequest | None
    status: RequestStatus | None


class PaymentPage:
    """Shows the page after payment and saves the decision. Its link gives no other access.

    Args:
        signups: the store of signups.
        requests: the store of key requests.
        workspaces: finds the new workspace.
        clock: current time.
    """

    def __init__(
        self, signups: Signups, requests: KeyRequests, workspaces: WorkspaceCache, clock: Clock
    ) -> None:
        self._signups = signups
        self._requests = requests
        self._workspaces = workspaces
        self._clock = clock

    async def view_page_of_welcome_link(self, welcome_token: str) -> PaymentPageView:
        """Returns the content of the page of a welcome link.

        Raises:
            NotFound: no such link.
        """
        is_well_formed = ONE_TIME_TOKEN_PATTERN.fullmatch(welcome_token)
        signup = (
            await self._signups.find_signup(SignupLookup.WELCOME, sha256_hex(welcome_token))
            if is_well_formed
            else None
        )
        if signup is None:
            raise NotFound
        workspace = await self._workspaces.find_by_id(signup.workspace_id) if signup.workspace_id else None
        request = (
            await self._requests.get_key_request(signup.key_request_id) if signup.key_request_id else None
        )
        return PaymentPageView(
            signup, workspace, request, request.status_at(self._clock()) if request else None
        )

    async def decide_key_request(self, welcome_token: str, *, approve: bool) -> KeyRequest:
        """Approves or denies the requested key, once, after payment.

        Raises:
            NotFound: no such link, no requested key, or the payment has not arrived.
            Conflict: it was already decided, or has expired.
        """
        view = await self.view_page_of_welcome_link(welcome_token)
        if view.request is None or view.workspace is None:
            raise NotFound
        limit = view.request.rate_limit
        return await save_decision_or_conflict(
            self._requests, view.request, self._clock, approve=approve, decided_by=None, rate_limit=limit
        )

    async def create_link(self, signup_id: UUID) -> str:
        """Returns the token of a new welcome link, for a checkout page of this deployment that has received the payment."""
        token = new_token()
        await self._signups.replace_welcome_link(signup_id, sha256_hex(token))
        return token
