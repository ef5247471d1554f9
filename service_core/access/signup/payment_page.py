"""The page after payment: the card of the key that rode along, for whoever paid."""

from dataclasses import dataclass
from uuid import UUID

from service_core.access.key_requests.approvals import save_decision
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
    """What the page shows: ``workspace`` is None until the payment has arrived.

    Attributes:
        request: the key that rode along, always for reading alone; None when there is none.
        status: where that request stands now.
    """

    signup: Signup
    workspace: Workspace | None
    request: KeyRequest | None
    status: RequestStatus | None


class PaymentPage:
    """Shows and decides the card. Its link opens nothing else: no session, no settings.

    Args:
        signups: where signups are kept.
        requests: where the request is kept.
        workspaces: finds the new workspace.
        clock: gives the present.
    """

    def __init__(
        self, signups: Signups, requests: KeyRequests, workspaces: WorkspaceCache, clock: Clock
    ) -> None:
        self._signups = signups
        self._requests = requests
        self._workspaces = workspaces
        self._clock = clock

    async def view_page(self, token: str) -> PaymentPageView:
        """What stands behind a welcome link.

        Raises:
            NotFound: no such link.
        """
        known = ONE_TIME_TOKEN_PATTERN.fullmatch(token)
        signup = await self._signups.find_signup(SignupLookup.WELCOME, sha256_hex(token)) if known else None
        if signup is None:
            raise NotFound
        workspace = await self._workspaces.find_by_id(signup.workspace_id) if signup.workspace_id else None
        request = (
            await self._requests.get_key_request(signup.key_request_id) if signup.key_request_id else None
        )
        return PaymentPageView(
            signup, workspace, request, request.status_at(self._clock()) if request else None
        )

    async def decide_key_request(self, token: str, *, approve: bool) -> KeyRequest:
        """Approve or deny the key that rode along, once, after payment.

        Raises:
            NotFound: no such link, nothing rode along, or the payment has not arrived.
            Conflict: it was decided before, or has expired.
        """
        card = await self.view_page(token)
        if card.request is None or card.workspace is None:
            raise NotFound
        limit = card.request.rate_limit
        return await save_decision(
            self._requests, card.request, self._clock, approve=approve, decided_by=None, limit=limit
        )

    async def create_link(self, signup_id: UUID) -> str:
        """Another welcome link, for a checkout page of our own that has just taken the payment."""
        token = new_token()
        await self._signups.replace_welcome_link(signup_id, sha256_hex(token))
        return token
