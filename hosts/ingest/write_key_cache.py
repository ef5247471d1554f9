"""A short-lived cache of write keys, which nearly every event needs."""

import time
from typing import Final

from service_core.access.key_authentication import KeyAuthenticator
from service_core.access.models import AuthContext
from service_core.access.ports import CredentialStore

MAX_AGE_SECONDS: Final = 1.0


class WriteKeyCache:
    """Caches valid write keys for a second, and none beyond a change of the workspace store.

    Behind it stands the authenticator with its 300 seconds and its digests; keys in clear are kept
    here no longer than a request that carries one may take anyway.

    Args:
        authenticator: asked for every key that is not remembered.
        directory: tells when a key changed anywhere.
    """

    def __init__(self, authenticator: KeyAuthenticator, directory: CredentialStore) -> None:
        self._authenticator = authenticator
        self._directory = directory
        self._generation: int | None = None
        self._until = 0.0
        self._known: dict[str, AuthContext] = {}

    def get_unless_stale(self, key: str | None) -> AuthContext | None:
        """Returns the identity of a cached key without waiting."""
        if key is None:
            return None
        generation, now = self._directory.change_version(), time.monotonic()
        if generation != self._generation or now > self._until:
            self._generation, self._until, self._known = generation, now + MAX_AGE_SECONDS, {}
        return self._known.get(key)

    async def look_up(self, key: str | None) -> AuthContext | None:
        """Returns the identity of a write key of an active workspace; None for any other key."""
        return (
            None
            if key is None
            else self.get_unless_stale(key) or await self._authenticate_and_cache_valid_key(key)
        )

    async def _authenticate_and_cache_valid_key(self, key: str) -> AuthContext | None:
        known = self._known
        identity = await self._authenticator.find_write_key_of_active_workspace(key)
        if identity is not None:
            known[key] = identity  # of the generation that was asked: a newer one has a new dictionary
        return identity
