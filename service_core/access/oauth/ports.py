"""Where grants and their access tokens are kept.

The authorization server (contract 8) writes grants and tokens; whoever answers requests reads them.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Protocol
from uuid import UUID

from service_core.access.members.model import Account, Member
from service_core.access.model import Grant, Workspace

ACCESS_TOKEN_LIFETIME: Final = timedelta(minutes=15)


@dataclass(frozen=True, slots=True)
class AccessToken:
    """What an access token stands for, read together so that one state is seen.

    Attributes:
        member: present membership; a token whose account left the workspace is not found at all.
    """

    grant: Grant
    expires_at: datetime
    account: Account
    member: Member
    workspace: Workspace


class Grants(Protocol):
    """Grants and access tokens by digest. Codes and refresh tokens are the business of the server above."""

    async def save_grant(self, grant: Grant) -> None:
        """Add a grant, or replace the one with its id; an ended one stays ended."""

    async def grants(self, workspace_id: UUID) -> list[Grant]:
        """Grants of a workspace that have not ended, oldest first."""

    async def save_access_token(self, digest: str, grant_id: UUID, expires_at: datetime) -> None:
        """Keep a new access token of a grant, and drop those that have expired when it is made."""

    async def access_token(self, digest: str) -> AccessToken | None:
        """What a token stands for, expired or not; None when unknown, or its grant has ended."""
