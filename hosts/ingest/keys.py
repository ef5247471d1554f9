"""Write keys of the moment: what nearly every event needs to know, at the price of a dictionary."""

import time
from typing import Final

from service_core.access.authenticate import Authenticator
from service_core.access.model import Identity
from service_core.access.ports import Directory

KEPT_SECONDS: Final = 1.0


class WriteKeys:
    """Remembers valid write keys for a second, and none of them past a change of the directory.

    Behind it stands the authenticator with its 300 seconds and its digests; keys in clear are kept
    here no longer than a request that carries one may take anyway.

    Args:
        authenticator: asked for every key that is not remembered.
        directory: tells when a key changed anywhere.
    """

    def __init__(self, authenticator: Authenticator, directory: Directory) -> None:
        self._authenticator = authenticator
        self._directory = directory
        self._generation: int | None = None
        self._until = 0.0
        self._known: dict[str, Identity] = {}

    def recall(self, key: str | None) -> Identity | None:
        """The identity of a key that is remembered; never waits."""
        if key is None:
            return None
        generation, now = self._directory.generation(), time.monotonic()
        if generation != self._generation or now > self._until:
            self._generation, self._until, self._known = generation, now + KEPT_SECONDS, {}
        return self._known.get(key)

    async def find(self, key: str | None) -> Identity | None:
        """The identity of a write key of an active workspace; None for any other key."""
        return None if key is None else self.recall(key) or await self._ask(key)

    async def _ask(self, key: str) -> Identity | None:
        known = self._known
        identity = await self._authenticator.identify_write_key(key)
        if identity is not None:
            known[key] = identity  # of the generation that was asked: a newer one has a new dictionary
        return identity
