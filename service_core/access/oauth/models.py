"""Registered programs, the tokens and single-use secrets of a grant, and how a request to the server can fail."""

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
    """A program that registered itself. Nobody has checked its name; the host it redirects to is a fact."""

    id: str
    name: str
    redirect_uris: tuple[str, ...]
    created_at: datetime


@dataclass(frozen=True, slots=True)
class AccessToken:
    """What an access token stands for, read together so that one state is seen.

    Attributes:
        member: present membership; a token whose account left the workspace is not found at all.
    """

    grant: OAuthGrant
    expires_at: datetime
    account: Account
    member: Member
    workspace: Workspace


class OneTimeTokenKind(StrEnum):
    """What a single-use secret is."""

    CODE = "code"
    REFRESH = "refresh"


@dataclass(frozen=True, slots=True)
class OneTimeToken:
    """A secret that works once: exchanged for tokens, it continues its grant; shown again, it ends it.

    Attributes:
        redirect_uri: where the code was sent; None for a refresh token.
        challenge: S256 challenge of the code; None for a refresh token.
    """

    kind: OneTimeTokenKind
    grant: OAuthGrant
    expires_at: datetime
    redirect_uri: str | None = None
    challenge: str | None = None


@dataclass(frozen=True, slots=True)
class IssuedTokens:
    """What takes the place of an exchanged ticket: digests of an access token and of a refresh token."""

    access_digest: str
    access_expires_at: datetime
    refresh_digest: str
    refresh_expires_at: datetime


class OAuthError(Exception):
    """An answer of the shape ``{error, error_description}``, with a code of RFC 6749, 7591 or 8707.

    Attributes:
        status: HTTP status of the answer.
    """

    def __init__(self, error: str, description: str, status: int = 400) -> None:
        super().__init__(description)
        self.error = error
        self.description = description
        self.status = status


class ErrorRedirect(Exception):
    """A fault of an authorization request the program is told through its redirect address."""

    def __init__(self, url: str) -> None:
        super().__init__("sent back to the program")
        self.url = url


def redirect_host(uri: str) -> str:
    """What a person is shown of a redirect address: its host, or the scheme of an app."""
    parts = urlsplit(uri)
    return parts.hostname or "" if parts.scheme in {"http", "https"} else f"the app {parts.scheme}:"
