"""Hashes passwords with Argon2id in threads, a few at a time: one hash takes a quarter of a second of a core."""

import asyncio

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from plugins.passwords_argon2.settings import Argon2Settings


class Argon2Passwords:
    """Implements the port `Passwords`."""

    def __init__(self, settings: Argon2Settings) -> None:
        self._hasher = PasswordHasher(
            time_cost=settings.rounds, memory_cost=settings.memory_kib, parallelism=1
        )
        self._concurrency_limit = asyncio.Semaphore(settings.max_concurrent)

    async def hash(self, password: str) -> str:
        """Returns the hash of a password with its parameters and salt."""
        async with self._concurrency_limit:
            return await asyncio.to_thread(self._hasher.hash, password.encode("utf-8", "surrogatepass"))

    async def verify(self, hashed: str | None, password: str) -> bool:
        """Returns whether a password has this hash; without a hash the same work is done, so that timing tells nothing."""
        if hashed is None:
            await self.hash(password)
            return False
        async with self._concurrency_limit:
            return await asyncio.to_thread(self._matches, hashed, password.encode("utf-8", "surrogatepass"))

    def _matches(self, hashed: str, password: bytes) -> bool:
        try:
            return self._hasher.verify(hashed, password)
        except (VerificationError, InvalidHashError):
            return False
