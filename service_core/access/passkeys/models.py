"""Passkeys: what is kept of one, what a browser is asked to sign with it, and what it answers."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit
from uuid import UUID

CHALLENGE_LIFETIME: Final = timedelta(minutes=5)
MAX_PASSKEYS: Final = 20
"""Of one account."""


@dataclass(frozen=True, slots=True)
class Passkey:
    """A key of an account whose secret half never leaves the person's device.

    Attributes:
        credential_id: how the device and its browser know it; nobody else's has the same.
        public_key: in COSE form.
        counter: how often the device says it has signed; 0 for ever on devices that do not count.
        transports: ways to the device, as the browser named them.
    """

    id: UUID
    account_id: UUID
    name: str
    credential_id: bytes
    public_key: bytes = field(repr=False)
    counter: int
    transports: frozenset[str]
    created_at: datetime
    used_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Challenge:
    """What one browser was asked to sign; the store knows it by its digest.

    Attributes:
        browser: digest of the secret in the browser's cookie.
        account_id: whose new passkey is to sign; None when anybody's may, to sign in.
    """

    browser: str
    account_id: UUID | None
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class RelyingParty:
    """The deployment as authenticators know it.

    Attributes:
        id: its host name; a passkey works for it alone.
        origin: scheme, host and port of its pages.
    """

    id: str
    origin: str


@dataclass(frozen=True, slots=True)
class RegistrationResponse:
    """What a browser answers when it has made a passkey."""

    client_data: bytes
    attestation: bytes
    transports: frozenset[str]


@dataclass(frozen=True, slots=True)
class AuthenticationResponse:
    """What a browser answers when it has signed with a passkey; `user` is the id its account has there."""

    credential_id: bytes
    user_handle: bytes
    client_data: bytes
    authenticator_data: bytes
    signature: bytes


@dataclass(frozen=True, slots=True)
class VerifiedRegistration:
    """What was read of a passkey that a browser has made; of transports, those that have a meaning."""

    credential_id: bytes
    public_key: bytes
    counter: int
    transports: frozenset[str]


def build_relying_party(web_url: str) -> RelyingParty | None:
    """What passkeys are bound to; None where browsers offer none: without TLS, and at a bare IP address.

    Args:
        web_url: public address of the web application.
    """
    parts = urlsplit(web_url)
    host = parts.hostname or ""
    local = host == "localhost" or host.endswith(".localhost")
    if not host or _is_ip_address(host) or (parts.scheme != "https" and not local):
        return None
    usual = {"https": 443, "http": 80}[parts.scheme]
    port = "" if parts.port in {None, usual} else f":{parts.port}"
    return RelyingParty(host, f"{parts.scheme}://{host}{port}")


def _is_ip_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
