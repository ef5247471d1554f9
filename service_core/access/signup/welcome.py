"""The page after payment: the card of the key that rode along, for whoever paid."""

from dataclasses import dataclass
from uuid import UUID

from service_core.access.model import Workspace
from service_core.access.requests.decide import decided
from service_core.access.requests.model import KeyRequest, RequestStatus
from service_core.access.requests.ports import KeyRequests
from service_core.access.signup.model import Signup
from service_core.access.signup.ports import By, Signups
from service_core.access.workspaces import Workspaces
from service_core.kernel.clock import Clock
from service_core.kernel.errors import NotFound
from service_core.kernel.ids import ONE_TIME_TOKEN, digest, new_token


@dataclass(frozen=True, slots=True)
class Card:
    """What the page shows: ``workspace`` is None until the payment has arrived.

    Attributes:
        request: the key that rode along, always for reading alone; None when there is none.
        status: where that request stands now.
    """

    signup: Signup
    workspace: Workspace | None
    request: KeyRequest | None
    status: RequestStatus | None


class Welcome:
    """Shows and decides the card. Its link opens nothing else: no session, no settings.

    Args:
        signups: where signups are kept.
        requests: where the request is kept.
        workspaces: finds the new workspace.
        clock: gives the present.
    """

    def __init__(self, signups: Signups, requests: KeyRequests, workspaces: Workspaces, clock: Clock) -> None:
        self._signups = signups
        self._requests = requests
        self._workspaces = workspaces
        self._clock = clock

    async def view(self, token: str) -> Card:
        """What stands behind a welcome link.

        Raises:
            NotFound: no such link.
        """
        known = ONE_TIME_TOKEN.fullmatch(token)
        signup = await self._signups.find_signup(By.WELCOME, digest(token)) if known else None
        if signup is None:
            raise NotFound
        workspace = await self._workspaces.find(signup.workspace_id) if signup.workspace_id else None
        request = await self._requests.key_request(signup.key_request_id) if signup.key_request_id else None
        return Card(signup, workspace, request, request.status_at(self._clock()) if request else None)

    async def decide(self, token: str, *, approve: bool) -> KeyRequest:
        """Approve or deny the key that rode along, once, after payment.

        Raises:
            NotFound: no such link, nothing rode along, or the payment has not arrived.
            Conflict: it was decided before, or has expired.
        """
        card = await self.view(token)
        if card.request is None or card.workspace is None:
            raise NotFound
        limit = card.request.rate_limit
        return await decided(self._requests, card.request, self._clock, approve=approve, by=None, limit=limit)

    async def renew(self, signup_id: UUID) -> str:
        """Another welcome link, for a checkout page of our own that has just taken the payment."""
        token = new_token()
        await self._signups.renew_welcome(signup_id, digest(token))
        return token
