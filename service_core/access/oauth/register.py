"""Programs register themselves (RFC 7591): public clients, with addresses that are safe to redirect to."""

import unicodedata
from collections.abc import Mapping
from typing import Final

from service_core.access.oauth.model import Client, OAuthFault, host_of
from service_core.access.oauth.ports import Clients
from service_core.access.oauth.redirects import is_safe
from service_core.access.ports import LimiterDown, RateLimiter
from service_core.kernel.clock import Clock
from service_core.kernel.ids import new_id

PER_HOUR: Final = 10
HOUR_SECONDS: Final = 3600
MOST_REDIRECTS: Final = 10
LONGEST_NAME: Final = 80


class Registrar:
    """Keeps the list of programs.

    Args:
        clients: where they are kept.
        limiter: counts registrations; without it nothing registers.
        clock: gives the present.
    """

    def __init__(self, clients: Clients, limiter: RateLimiter, clock: Clock) -> None:
        self._clients = clients
        self._limiter = limiter
        self._clock = clock

    async def register(self, metadata: object, *, network: str | None) -> dict[str, object]:
        """Register a program; metadata this server has no use for is ignored, as the RFC asks.

        Args:
            metadata: the decoded body.
            network: of the client (`networks.network_of`), when it is known.

        Returns:
            The body of the 201.

        Raises:
            OAuthFault: ``invalid_redirect_uri``, ``invalid_client_metadata``; 429 above 10 per hour
                and network; 503 when they cannot be counted.
        """
        await self._count(network)
        if not isinstance(metadata, Mapping):
            raise OAuthFault("invalid_client_metadata", "The body must be a JSON object")
        uris = _redirects(metadata.get("redirect_uris"))
        name = shown(metadata.get("client_name")) or host_of(uris[0])
        client = Client(str(new_id()), name, uris, self._clock())
        await self._clients.save_client(client)
        return {
            "client_id": client.id,
            "client_id_issued_at": int(client.created_at.timestamp()),
            "client_name": client.name,
            "redirect_uris": client.redirect_uris,
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
            "token_endpoint_auth_method": "none",
        }

    async def _count(self, network: str | None) -> None:
        try:
            allowance = await self._limiter.spend(
                f"oauth-register:{network or 'unknown'}", PER_HOUR, HOUR_SECONDS
            )
        except LimiterDown:
            raise OAuthFault(
                "temporarily_unavailable", "Registrations cannot be counted at the moment", 503
            ) from None
        if not allowance.allowed:
            raise OAuthFault("slow_down", f"At most {PER_HOUR} registrations an hour", 429)


def shown(name: object) -> str:
    """A name as people may see it: one line without anything that hides or turns around, and not long."""
    if not isinstance(name, str):
        return ""
    visible = "".join(
        " " if c.isspace() else c for c in name if unicodedata.category(c)[0] != "C" or c.isspace()
    )
    return " ".join(visible.split())[:LONGEST_NAME]


def _redirects(sent: object) -> tuple[str, ...]:
    if not isinstance(sent, list) or not 1 <= len(sent) <= MOST_REDIRECTS:
        raise OAuthFault(
            "invalid_redirect_uri", f"redirect_uris is a list of 1 to {MOST_REDIRECTS} addresses"
        )
    if not all(isinstance(uri, str) and is_safe(uri) for uri in sent):
        raise OAuthFault(
            "invalid_redirect_uri",
            "A redirect address is https, http on this machine, or of an app's own scheme; without user or fragment",
        )
    return tuple(dict.fromkeys(sent))
