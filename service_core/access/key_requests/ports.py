"""The store of key requests. Of concurrent changes of a state exactly one succeeds."""

from typing import Protocol
from uuid import UUID

from service_core.access.key_requests.models import KeyRequest
from service_core.access.models import Credential


class KeyRequests(Protocol):
    """Stores key requests durably."""

    async def add_key_request_or_get_retried(
        self, request: KeyRequest, link_digest: str, retry_digest: str | None
    ) -> KeyRequest:
        """Adds a request with the digest of its approval link.

        Deletes requests older than 40 days (`REQUEST_RETENTION`) whose key was not collected.

        Args:
            request: a pending request.
            link_digest: digest of the token in its link.
            retry_digest: digest of everything an identical retry repeats; None without an ``Idempotency-Key``.

        Returns:
            The request; or, without adding one, the request of the last 24 hours with the same ``retry_digest``.
        """

    async def get_key_request(self, request_id: UUID) -> KeyRequest | None:
        """Returns the request with this id."""

    async def find_key_request_by_link(self, link_digest: str) -> KeyRequest | None:
        """Returns the request whose approval link has this digest."""

    async def save_decision_if_pending(self, decided_request: KeyRequest) -> bool:
        """Saves an approval or a denial; False if the request is no longer pending."""

    async def collect_approved_key_once(
        self, request: KeyRequest, new_credential: Credential, key_digest: str
    ) -> bool:
        """Marks an approved request as ``collected`` and adds its key in one transaction.

        Returns:
            False, without a key, if it is not approved, or was approved more than 24 hours before
            ``credential.created_at``.
        """

    async def list_pending_requests(self, workspace_id: UUID) -> list[KeyRequest]:
        """Returns the undecided requests of a workspace, oldest first; expired ones may be among them."""
