"""Where requests for keys are kept. Every step from one state to the next has one winner."""

from typing import Protocol
from uuid import UUID

from service_core.access.model import Credential
from service_core.access.requests.model import KeyRequest


class KeyRequests(Protocol):
    """Requests for keys, durably."""

    async def file(self, request: KeyRequest, link: str, once: str | None) -> KeyRequest:
        """Add a request with the digest of its approval link.

        Args:
            request: a pending one.
            link: digest of the token in its link.
            once: what an identical retry repeats, as a digest; None when it is not to be repeated.

        Returns:
            The request; or the one filed before with the same ``once`` in the last 24 hours, and
            nothing is added.
        """

    async def key_request(self, request_id: UUID) -> KeyRequest | None:
        """The request with this id."""

    async def key_request_of(self, link: str) -> KeyRequest | None:
        """The request whose link has this digest."""

    async def decide(self, decided: KeyRequest) -> bool:
        """Write an approval or a denial; False when the request is no longer pending."""

    async def collect(self, request: KeyRequest, credential: Credential, digest: str) -> bool:
        """Move an approved request to ``collected`` and add its key, in one step.

        Returns:
            False, and no key, when it is not approved (any more), or 24 hours have passed at
            ``credential.created_at``.
        """

    async def pending(self, workspace_id: UUID) -> list[KeyRequest]:
        """Requests of a workspace that wait for a decision, oldest first; expired ones may be among them."""
