"""Where programs, grants, their tokens and single-use secrets are kept. Every exchange has one winner."""

from datetime import datetime
from typing import Protocol
from uuid import UUID

from service_core.access.models import OAuthGrant
from service_core.access.oauth.models import AccessToken, IssuedTokens, OAuthClient, OneTimeToken


class OAuthGrants(Protocol):
    """Grants and access tokens by digest: what whoever answers a request reads."""

    async def list_grants(self, workspace_id: UUID) -> list[OAuthGrant]:
        """Grants of a workspace that have not ended, oldest first."""

    async def find_access_token(self, digest: str) -> AccessToken | None:
        """What a token stands for, expired or not; None when unknown, or its grant has ended."""


class OAuthClients(Protocol):
    """Programs that registered."""

    async def add_client(self, client: OAuthClient) -> None:
        """Keep a program; programs older than 90 days that no grant names may be dropped."""

    async def find_client(self, client_id: str) -> OAuthClient | None:
        """The program with this id."""


class OneTimeTokens(Protocol):
    """Codes and refresh tokens by digest, each for one use."""

    async def open_grant(self, ticket: OneTimeToken, digest: str) -> None:
        """Keep a new grant with its code, in one step; grants nothing can continue any more end."""

    async def find_token(self, digest: str) -> OneTimeToken | None:
        """The ticket with this digest, used, expired and of an ended grant included."""

    async def replace_token(self, digest: str, issued: IssuedTokens | None, now: datetime) -> bool:
        """Use a ticket up and keep what takes its place, in one step.

        Args:
            digest: of a known ticket.
            issued: None when the ticket is used up by an attempt that failed.
            now: the present.

        Returns:
            True for the first use of a grant that goes on; else False, nothing is kept, and the
            grant ends.
        """

    async def end_grant(self, grant_id: UUID, now: datetime) -> None:
        """End a grant with its tickets and access tokens; ending twice changes nothing."""

    async def list_account_grants(self, account_id: UUID, workspace_id: UUID) -> list[OAuthGrant]:
        """Grants of a person in a workspace that have not ended, oldest first."""
