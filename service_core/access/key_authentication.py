"""A bearer token or a write key -> who is asking (contract 2.2, 10)."""

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
    """Finds the credential behind what a request carries.

    A malformed token is refused before the directory is asked; what the directory says, yes or no,
    is remembered for 300 seconds and forgotten at once when a key changes anywhere. While the directory
    cannot tell whether one has, write keys are still believed for their 300 seconds, so that no event is
    lost; keys that read are asked for every time.

    Args:
        directory: where credentials are kept.
        clock: gives the present.
        capacity: look-ups remembered at most.
    """

    def __init__(self, directory: CredentialStore, clock: Clock, capacity: int = CACHE_CAPACITY) -> None:
        self._lookup = CredentialCache(directory, clock, capacity)

    async def authenticate(self, authorization: str | None) -> AuthContext:
        """The Agent key or named key of an ``Authorization`` header.

        Raises:
            Unauthorized: no header, not two parts, another scheme, no token of the right form, or a
                token that matches nothing; all five look the same to the caller.
        """
        token = parse_bearer_token(authorization)
        if token is None or not AGENT_TOKEN_PATTERN.fullmatch(token):
            raise invalid_api_key_error()
        identity = await self._lookup.find_by_digest(sha256_hex(token))
        if identity is None or identity.credential.kind not in READ_KEY_KINDS:
            raise invalid_api_key_error()
        return identity

    async def find_active_write_key(self, key: str) -> AuthContext | None:
        """The write key of an active workspace; None for any other key, however long (contract 10.1)."""
        if not WRITE_KEY_PATTERN.fullmatch(key):
            return None
        return _active_write_key(await self._lookup.find_by_digest(sha256_hex(key), allow_stale=True))


def parse_bearer_token(authorization: str | None) -> str | None:
    """The token of ``Bearer <token>``, the scheme in any case; None for anything else."""
    if authorization is None:
        return None
    scheme, _, token = authorization.partition(" ")
    return token if scheme.lower() == "bearer" and token and " " not in token else None


def invalid_api_key_error() -> Unauthorized:
    """The one 401 of ``/v1``."""
    return Unauthorized("Invalid or missing API key", headers={"WWW-Authenticate": BEARER_CHALLENGE})


def _active_write_key(identity: AuthContext | None) -> AuthContext | None:
    if identity is None or not identity.workspace.active:
        return None
    return identity if identity.credential.kind is CredentialKind.WRITE else None
