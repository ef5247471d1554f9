"""Where programs, grants, their tokens and single-use secrets are kept. Every exchange has one winner."""

from datetime import datetime
from typing import Protocol
from uuid import UUID

from service_core.access.model import Grant
from service_core.access.oauth.model import AccessToken, Client, Issued, Ticket


class Grants(Protocol):
    """Grants and access tokens by digest: what whoever answers a request reads."""

    async def grants(self, workspace_id: UUID) -> list[Grant]:
        """Grants of a workspace that have not ended, oldest first."""

    async def access_token(self, digest: str) -> AccessToken | None:
        """What a token stands for, expired or not; None when unknown, or its grant has ended."""


class Clients(Protocol):
    """Programs that registered."""

    async def save_client(self, client: Client) -> None:
        """Keep a program; programs older than 90 days that no grant names may be dropped."""

    async def client(self, client_id: str) -> Client | None:
        """The program with this id."""


class Tickets(Protocol):
    """Codes and refresh tokens by digest, each for one use."""

    async def open_grant(self, ticket: Ticket, digest: str) -> None:
        """Keep a new grant with its code, in one step; grants nothing can continue any more end."""

    async def ticket(self, digest: str) -> Ticket | None:
        """The ticket with this digest, used, expired and of an ended grant included."""

    async def exchange(self, digest: str, issued: Issued | None, now: datetime) -> bool:
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

    async def grants_of(self, account_id: UUID, workspace_id: UUID) -> list[Grant]:
        """Grants of a person in a workspace that have not ended, oldest first."""
