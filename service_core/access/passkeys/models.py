"""Passkeys, challenges and the responses of browsers."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit
from uuid import UUID

CHALLENGE_LIFETIME: Final = timedelta(minutes=5)
"""How long a WebAuthn challenge can be answered."""
MAX_PASSKEYS: Final = 20
"""Per account."""


@dataclass(frozen=True, slots=True)
class Passkey:
    """The public key of an account; the private key never leaves the person's device.

    Attributes:
        credential_id: WebAuthn credential id, unique.
        public_key: in COSE format.
        counter: signature counter of the device; always 0 on devices that do not count.
        transports: WebAuthn transports, as the browser named them.
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
    """An open challenge for one browser; stored under its digest.

    Attributes:
        browser: digest of the secret in the browser's cookie.
        account_id: the account that registers a passkey; None for a sign-in.
    """

    browser: str
    account_id: UUID | None
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class RelyingParty:
    """The deployment as a WebAuthn relying party.

    Attributes:
        id: host name; passkeys are bound to it.
        origin: scheme, host and port of its pages.
    """

    id: str
    origin: str


@dataclass(frozen=True, slots=True)
class RegistrationResponse:
    """A browser's response to registration options."""

    client_data: bytes
    attestation: bytes
    transports: frozenset[str]


@dataclass(frozen=True, slots=True)
class AuthenticationResponse:
    """A browser's response to authentication options. ``user_handle`` is the account id stored with the passkey."""

    credential_id: bytes
    user_handle: bytes
    client_data: bytes
    authenticator_data: bytes
    signature: bytes


@dataclass(frozen=True, slots=True)
class VerifiedRegistration:
    """A verified new passkey, with the known transports."""

    credential_id: bytes
    public_key: bytes
    counter: int
    transports: frozenset[str]


def relying_party_unless_insecure_or_bare_ip(web_url: str) -> RelyingParty | None:
    """Returns the relying party, or None where browsers offer no passkeys: without TLS, or on a bare IP address.

    Args:
        web_url: public URL of the web application.
    """
    parts = urlsplit(web_url)
    host = parts.hostname or ""
    local = host == "localhost" or host.endswith(".localhost")
    if not host or _is_ip_address(host) or (parts.scheme != "https" and not local):
        return None
    default_port = {"https": 443, "http": 80}[parts.scheme]
    port = "" if parts.port in {None, default_port} else f":{parts.port}"
    return RelyingParty(host, f"{parts.scheme}://{host}{port}")


def _is_ip_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
