"""A request for a key and the states it goes through (contract 7.2, 13)."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final
from uuid import UUID

from service_core.access.api_keys import DEFAULT_RATE_LIMIT
from service_core.kernel.operations import Scope

REQUEST_LIFETIME: Final = timedelta(hours=24)
"""How long a link can be decided, and after that how long an approved key can be collected."""


class RequestStatus(StrEnum):
    """Where a request stands."""

    PENDING = "pending"
    APPROVED = "approved"
    DENIED = "denied"
    EXPIRED = "expired"
    COLLECTED = "collected"


@dataclass(frozen=True, slots=True)
class KeyRequest:
    """What a program asks for. ``status`` is what was written last; `status_at` says what holds.

    Attributes:
        filer: id of the credential, grant or signup that filed it, and that alone may collect.
        requester: who that is, for people.
        client_name: what the program calls itself; nobody has checked it.
        expires_at: until when it can be decided.
        workspace_id: None while the signup that carries it is not paid.
        decided_by: the account that decided; None for the holder of a welcome link.
    """

    id: UUID
    filer: UUID
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
        """The state at ``now``: nothing writes a row when time passes."""
        end = {RequestStatus.PENDING: self.expires_at, RequestStatus.APPROVED: self.collectable_until}.get(
            self.status
        )
        return RequestStatus.EXPIRED if end is not None and now >= end else self.status
