"""Registered clients, tokens of a grant, and errors of the authorization server."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final
from urllib.parse import urlsplit

from service_core.access.members.models import Account, Member
from service_core.access.models import OAuthGrant, Workspace

ACCESS_TOKEN_LIFETIME: Final = timedelta(minutes=15)
CODE_LIFETIME: Final = timedelta(seconds=60)
REFRESH_LIFETIME: Final = timedelta(days=30)


@dataclass(frozen=True, slots=True)
class OAuthClient:
    """A client that registered itself. Its name is unverified; the host of its redirect URIs is a fact."""

    id: str
    name: str
    redirect_uris: tuple[str, ...]
    created_at: datetime


@dataclass(frozen=True, slots=True)
class AccessToken:
    """The grant and person behind an access token, read in one transaction.

    Attributes:
        member: current membership; a token of an account that left the workspace is not found.
    """

    grant: OAuthGrant
    expires_at: datetime
    account: Account
    member: Member
    workspace: Workspace


class OneTimeTokenKind(StrEnum):
    """Kind of a one-time token."""

    CODE = "code"
    REFRESH = "refresh"


@dataclass(frozen=True, slots=True)
class OneTimeToken:
    """An authorization code or refresh token. Its first use issues tokens, a second one ends the grant.

    Attributes:
        redirect_uri: where the code was sent; None for a refresh token.
        challenge: S256 code challenge; None for a refresh token.
    """

    kind: OneTimeTokenKind
    grant: OAuthGrant
    expires_at: datetime
    redirect_uri: str | None = None
    challenge: str | None = None


@dataclass(frozen=True, slots=True)
class IssuedTokens:
    """Digests of the access token and refresh token that replace a one-time token."""

    access_digest: str
    access_expires_at: datetime
    refresh_digest: str
    refresh_expires_at: datetime


class OAuthError(Exception):
    """An error response ``{error, error_description}`` with a code of RFC 6749, 7591 or 8707.

    Attributes:
        status: HTTP status of the response.
    """

    def __init__(self, error: str, description: str, status: int = 400) -> None:
        super().__init__(description)
        self.error = error
        self.description = description
        self.status = status


class ErrorRedirect(Exception):
    """An error of an authorization request that is reported to the client's redirect URI."""

    def __init__(self, url: str) -> None:
        super().__init__("redirected to the client with an error")
        self.url = url


def redirect_host(uri: str) -> str:
    """Returns the host of a redirect URI, or the scheme of an app, to show to a person."""
    parts = urlsplit(uri)
    return parts.hostname or "" if parts.scheme in {"http", "https"} else f"the app {parts.scheme}:"
