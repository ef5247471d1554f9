"""Dynamic client registration (RFC 7591) of public clients."""

import unicodedata
from collections.abc import Mapping
from typing import Final

from service_core.access.oauth.models import OAuthClient, OAuthError, redirect_host
from service_core.access.oauth.ports import OAuthClients
from service_core.access.oauth.redirect_uris import is_https_loopback_or_app_uri
from service_core.access.ports import RateLimiter, RateLimiterUnavailable
from service_core.kernel.clock import Clock
from service_core.kernel.ids import new_id

REGISTRATIONS_PER_HOUR: Final = 10
HOUR_SECONDS: Final = 3600
MAX_REDIRECT_URIS: Final = 10
MAX_CLIENT_NAME_LENGTH: Final = 80


class ClientRegistration:
    """Registers clients.

    Args:
        clients: the store of clients.
        limiter: counts registrations; nothing is registered while it is unavailable.
        clock: current time.
    """

    def __init__(self, clients: OAuthClients, limiter: RateLimiter, clock: Clock) -> None:
        self._clients = clients
        self._limiter = limiter
        self._clock = clock

    async def register_client_within_hourly_limit(
        self, metadata: object, *, client_prefix: str | None
    ) -> dict[str, object]:
        """Registers a client and returns the body of the 201 response. Unknown metadata is ignored, as the RFC requires.

        Args:
            metadata: the decoded body.
            client_prefix: IP prefix of the client (`full_ipv4_or_ipv6_slash_64`), if known.

        Raises:
            OAuthError: ``invalid_redirect_uri``, ``invalid_client_metadata``; 429 above 10 registrations per hour and
                prefix; 503 if they cannot be counted.
        """
        await self._count_hourly_registration_or_raise(client_prefix)
        if not isinstance(metadata, Mapping):
            raise OAuthError("invalid_client_metadata", "The body must be a JSON object")
        uris = validate_and_deduplicate_redirect_uris(metadata.get("redirect_uris"))
        name = sanitize_and_cut_display_name(metadata.get("client_name")) or redirect_host(uris[0])
        client = OAuthClient(str(new_id()), name, uris, self._clock())
        await self._clients.add_client_and_delete_unused(client)
        return {
            "client_id": client.id,
            "client_id_issued_at": int(client.created_at.timestamp()),
            "client_name": client.name,
            "redirect_uris": client.redirect_uris,
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
            "token_endpoint_auth_method": "none",
        }

    async def _count_hourly_registration_or_raise(self, client_prefix: str | None) -> None:
        try:
            result = await self._limiter.consume(
                f"oauth-register:{client_prefix or 'unknown'}", REGISTRATIONS_PER_HOUR, HOUR_SECONDS
            )
        except RateLimiterUnavailable:
            raise OAuthError(
                "temporarily_unavailable", "Registrations cannot be counted at the moment", 503
            ) from None
        if not result.allowed:
            raise OAuthError("slow_down", f"At most {REGISTRATIONS_PER_HOUR} registrations an hour", 429)


def sanitize_and_cut_display_name(name: object) -> str:
    """Returns a name as one short line without invisible or direction-changing characters."""
    if not isinstance(name, str):
        return ""
    visible = "".join(
        " " if c.isspace() else c for c in name if unicodedata.category(c)[0] != "C" or c.isspace()
    )
    return " ".join(visible.split())[:MAX_CLIENT_NAME_LENGTH]


def validate_and_deduplicate_redirect_uris(redirect_uris: object) -> tuple[str, ...]:
    """Returns the redirect URIs of client metadata, each once.

    Raises:
        OAuthError: ``invalid_redirect_uri``: there is none, there are more than 10, or one may not be registered.
    """
    if not isinstance(redirect_uris, list) or not 1 <= len(redirect_uris) <= MAX_REDIRECT_URIS:
        raise OAuthError(
            "invalid_redirect_uri", f"redirect_uris is a list of 1 to {MAX_REDIRECT_URIS} addresses"
        )
    if not all(isinstance(uri, str) and is_https_loopback_or_app_uri(uri) for uri in redirect_uris):
        raise OAuthError(
            "invalid_redirect_uri",
            "A redirect address is https, http on this machine, or of an app's own scheme; without user or fragment",
        )
    return tuple(dict.fromkeys(redirect_uris))
