"""Where requests for keys are kept. Every step from one state to the next has one winner."""

from typing import Protocol
from uuid import UUID

from service_core.access.key_requests.models import KeyRequest
from service_core.access.models import Credential


class KeyRequests(Protocol):
    """Requests for keys, durably."""

    async def add_key_request(
        self, request: KeyRequest, link_digest: str, retry_digest: str | None
    ) -> KeyRequest:
        """Add a request with the digest of its approval link.

        Args:
            request: a pending one.
            link: digest of the token in its link.
            once: what an identical retry repeats, as a digest; None when it is not to be repeated.

        Returns:
            The request; or the one filed before with the same ``once`` in the last 24 hours, and
            nothing is added.
        """

    async def get_key_request(self, request_id: UUID) -> KeyRequest | None:
        """The request with this id."""

    async def find_key_request_by_link(self, link_digest: str) -> KeyRequest | None:
        """The request whose link has this digest."""

    async def save_key_decision(self, decided: KeyRequest) -> bool:
        """Write an approval or a denial; False when the request is no longer pending."""

    async def collect_key(self, request: KeyRequest, credential: Credential, digest: str) -> bool:
        """Move an approved request to ``collected`` and add its key, in one step.

        Returns:
            False, and no key, when it is not approved (any more), or 24 hours have passed at
            ``credential.created_at``.
        """

    async def list_pending_requests(self, workspace_id: UUID) -> list[KeyRequest]:
        """Requests of a workspace that wait for a decision, oldest first; expired ones may be among them."""
