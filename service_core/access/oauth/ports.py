"""Stores of OAuth clients, grants and tokens. Of concurrent uses of a token exactly one succeeds."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol
from uuid import UUID

from service_core.access.models import OAuthGrant
from service_core.access.oauth.models import AccessToken, IssuedTokens, OAuthClient, OneTimeToken


class OAuthGrants(Protocol):
    """Reads grants, and access tokens by digest."""

    async def list_active_grants(self, workspace_id: UUID) -> list[OAuthGrant]:
        """Returns the active grants of a workspace, oldest first."""

    async def find_access_token_even_if_expired(self, digest: str) -> AccessToken | None:
        """Returns the access token, even if it is expired; None if it is unknown or its grant has ended."""


class OAuthClients(Protocol):
    """Stores registered clients."""

    async def add_client_and_delete_unused(self, client: OAuthClient) -> None:
        """Stores a client. Clients older than 90 days without a grant may be deleted."""

    async def find_client(self, client_id: str) -> OAuthClient | None:
        """Returns the client with this id."""


class ClientMetadataUnavailable(Exception):
    """A metadata document cannot be read; the text says why, without addresses of this network."""


@dataclass(frozen=True, slots=True)
class FetchedDocument:
    """A document as it was answered.

    Attributes:
        max_age: how long the answer allows to cache it; zero if it says nothing.
    """

    body: bytes
    max_age: timedelta


class ClientMetadataFetcher(Protocol):
    """Reads client metadata documents from public addresses."""

    async def fetch_document(self, url: str) -> FetchedDocument:
        """Returns the document at an https address. Redirects are not followed.

        Raises:
            ClientMetadataUnavailable: the host is not public, or gives no JSON document in time and within the size limit.
        """


class OneTimeTokens(Protocol):
    """Stores authorization codes and refresh tokens by digest."""

    async def add_grant_and_narrow_earlier_grants(self, token: OneTimeToken, digest: str) -> None:
        """Stores a new grant with its code in one transaction, and ends grants that can no longer be continued.

        Other active grants of the same account, client and workspace are narrowed by `OAuthGrant.narrowed_to_later_consent`; one
        without scopes ends.
        """

    async def find_token_even_if_used(self, digest: str) -> OneTimeToken | None:
        """Returns the token with this digest, even if it is used or expired or its grant has ended."""

    async def use_token_once_or_end_grant(
        self, digest: str, replacements: IssuedTokens | None, now: datetime
    ) -> bool:
        """Uses up a token and stores its replacements in one transaction.

        Args:
            digest: digest of a known token.
            replacements: the new tokens; None after a failed attempt.
            now: current time.

        Returns:
            True for the first use of a token of an active grant. Otherwise False: nothing is stored and the grant ends.
        """

    async def end_grant(self, grant_id: UUID, now: datetime) -> None:
        """Ends a grant with all its tokens. Ending it again changes nothing."""

    async def list_account_grants(self, account_id: UUID, workspace_id: UUID) -> list[OAuthGrant]:
        """Returns the active grants of an account in a workspace, oldest first."""
