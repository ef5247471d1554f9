"""A key request and its states."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final
from uuid import UUID

from service_core.access.api_keys import DEFAULT_RATE_LIMIT
from service_core.kernel.operations import Scope

REQUEST_LIFETIME: Final = timedelta(hours=24)
"""How long a request can be decided, and after an approval how long the key can be collected."""


REQUEST_RETENTION: Final = timedelta(days=40)
"""After this time a request whose key was not collected is deleted, in any state."""


class RequestStatus(StrEnum):
    """State of a key request."""

    PENDING = "pending"
    APPROVED = "approved"
    DENIED = "denied"
    EXPIRED = "expired"
    COLLECTED = "collected"


@dataclass(frozen=True, slots=True)
class KeyRequest:
    """A request for an API key. ``status`` is the stored state; `status_at` takes expiry into account.

    Attributes:
        requester_id: id of the credential, grant or signup that made the request; only it can collect the key.
        requester: description of the requester for people.
        client_name: what the program calls itself; unverified.
        expires_at: end of the time in which it can be decided.
        workspace_id: None until the signup that contains the request is paid.
        decided_by: the account that decided; None for the holder of a welcome link.
    """

    id: UUID
    requester_id: UUID
    requester: str
    name: str
    scopes: frozenset[Scope]
    reason: str | None
    client_name: str | None
    created_at: datetime
    expires_at: datetime
    workspace_id: UUID | None
    rate_limit: int = DEFAULT_RATE_LIMIT
    status: RequestStatus = RequestStatus.PENDING
    decided_at: datetime | None = None
    decided_by: UUID | None = None
    key_id: UUID | None = None

    @property
    def collectable_until(self) -> datetime | None:
        """End of the time in which an approved key can be collected; None before a decision."""
        return None if self.decided_at is None else self.decided_at + REQUEST_LIFETIME

    def status_at(self, now: datetime) -> RequestStatus:
        """Returns the state at ``now``. Expiry is computed, not stored."""
        end = {RequestStatus.PENDING: self.expires_at, RequestStatus.APPROVED: self.collectable_until}.get(
            self.status
        )
        return RequestStatus.EXPIRED if end is not None and now >= end else self.status
