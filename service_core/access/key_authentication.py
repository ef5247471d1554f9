"""Authentication of API keys: agent keys, named keys and write keys."""

from typing import Final

from service_core.access.credential_cache import CACHE_CAPACITY, CredentialCache
from service_core.access.models import AuthContext, CredentialKind
from service_core.access.ports import CredentialStore
from service_core.kernel.clock import Clock
from service_core.kernel.errors import Unauthorized
from service_core.kernel.ids import AGENT_TOKEN_PATTERN, WRITE_KEY_PATTERN, sha256_hex

BEARER_CHALLENGE: Final = 'Bearer realm="Service Read API"'
READ_KEY_KINDS: Final = frozenset({CredentialKind.AGENT, CredentialKind.NAMED})


class KeyAuthenticator:
    """Finds the credential of a request.

    A malformed token is rejected without a look-up. Results, found or not, are cached for 300 seconds; the cache is
    cleared when a key changes in any process. While the store cannot report changes, write keys may be served from the
    cache for up to 300 seconds so that no event is lost. Read keys are then looked up for each request.

    Args:
        credential_store: the store of credentials.
        clock: current time.
        capacity: most cached look-ups.
    """

    def __init__(
        self, credential_store: CredentialStore, clock: Clock, capacity: int = CACHE_CAPACITY
    ) -> None:
        self._cache = CredentialCache(credential_store, clock, capacity)

    async def authenticate(self, authorization_header: str | None) -> AuthContext:
        """Returns the agent key or named key of an ``Authorization`` header.

        Raises:
            Unauthorized: the header is missing or malformed, or the token is unknown. The response is the same for all.
        """
        token = parse_bearer_token(authorization_header)
        if token is None or not AGENT_TOKEN_PATTERN.fullmatch(token):
            raise invalid_api_key_error()
        auth_context = await self._cache.find_cached_or_load_once(sha256_hex(token))
        if auth_context is None or auth_context.credential.kind not in READ_KEY_KINDS:
            raise invalid_api_key_error()
        return auth_context

    async def find_write_key_of_active_workspace(self, key: str) -> AuthContext | None:
        """Returns the write key of an active workspace; None for any other text."""
        if not WRITE_KEY_PATTERN.fullmatch(key):
            return None
        return _write_key_of_active_workspace(
            await self._cache.find_cached_or_load_once(sha256_hex(key), serve_stale_during_outage=True)
        )


def parse_bearer_token(authorization_header: str | None) -> str | None:
    """Returns the token of ``Bearer <token>``, with the scheme in any case; None for anything else."""
    if authorization_header is None:
        return None
    scheme, _, token = authorization_header.partition(" ")
    return token if scheme.lower() == "bearer" and token and " " not in token else None


def invalid_api_key_error() -> Unauthorized:
    """Returns the 401 error of ``/v1`` endpoints."""
    return Unauthorized("Invalid or missing API key", headers={"WWW-Authenticate": BEARER_CHALLENGE})


def _write_key_of_active_workspace(auth_context: AuthContext | None) -> AuthContext | None:
    if auth_context is None or not auth_context.workspace.active:
        return None
    return auth_context if auth_context.credential.kind is CredentialKind.WRITE else None
