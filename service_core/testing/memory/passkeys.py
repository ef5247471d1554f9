"""The stores of passkeys in memory."""

from dataclasses import replace
from datetime import datetime
from uuid import UUID

from service_core.access.passkeys.models import Challenge, Passkey
from service_core.testing.memory.access_state import MemoryAccessStore


class MemoryPasskeys(MemoryAccessStore):
    """Implements the port `Passkeys`."""

    async def list_passkeys(self, account_id: UUID) -> list[Passkey]:
        return [passkey for passkey in self._state.passkeys.values() if passkey.account_id == account_id]

    async def find_passkey(self, credential_id: bytes) -> Passkey | None:
        return next(
            (passkey for passkey in self._state.passkeys.values() if passkey.credential_id == credential_id),
            None,
        )

    async def add_passkey(self, passkey: Passkey, max_per_account: int) -> bool:
        owned = await self.list_passkeys(passkey.account_id)
        if await self.find_passkey(passkey.credential_id) is not None or len(owned) >= max_per_account:
            return False
        self._state.passkeys[passkey.id] = passkey
        return True

    async def record_passkey_use_if_counter_rose(self, passkey_id: UUID, counter: int, now: datetime) -> bool:
        passkey = self._state.passkeys.get(passkey_id)
        if passkey is None or not (passkey.counter < counter or passkey.counter == counter == 0):
            return False
        self._state.passkeys[passkey_id] = replace(passkey, counter=counter, used_at=now)
        return True

    async def remove_passkey(self, account_id: UUID, passkey_id: UUID) -> bool:
        is_own = (
            passkey_id in self._state.passkeys and self._state.passkeys[passkey_id].account_id == account_id
        )
        if is_own:
            del self._state.passkeys[passkey_id]
        return is_own


class MemoryPasskeyChallenges(MemoryAccessStore):
    """Implements the port `PasskeyChallenges`."""

    async def add_challenge_and_delete_expired(
        self, challenge: Challenge, digest: str, now: datetime
    ) -> None:
        self._state.challenges = {
            known_digest: known
            for known_digest, known in self._state.challenges.items()
            if known.expires_at > now
        }
        self._state.challenges[digest] = challenge

    async def delete_and_return_unexpired_challenge(self, digest: str, now: datetime) -> Challenge | None:
        challenge = self._state.challenges.pop(digest, None)
        return challenge if challenge is not None and now < challenge.expires_at else None
