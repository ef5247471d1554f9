"""The port over `ceremonies`, which is loaded by the first passkey: most processes never meet one."""

import asyncio
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from service_core.plugin import Account, Asserted, Attested, NewKey, Passkey, RelyingParty


class WebAuthnPasskeys:
    """Implements the port `WebAuthn`; what reads and signs runs in a thread."""

    async def ask_to_make(
        self, party: RelyingParty, challenge: str, account: Account, known: Sequence[Passkey]
    ) -> str:
        """Options for ``navigator.credentials.create``."""
        asked: str = await _done("ask_to_make", party, challenge, account, known)
        return asked

    async def read_made(self, party: RelyingParty, challenge: str, attested: Attested) -> NewKey:
        """The passkey that was made."""
        made: NewKey = await _done("read_made", party, challenge, attested)
        return made

    async def ask_to_sign(self, party: RelyingParty, challenge: str) -> str:
        """Options for ``navigator.credentials.get``."""
        asked: str = await _done("ask_to_sign", party, challenge)
        return asked

    async def read_signed(
        self, party: RelyingParty, challenge: str, asserted: Asserted, passkey: Passkey
    ) -> int:
        """The counter that was signed."""
        counter: int = await _done("read_signed", party, challenge, asserted, passkey)
        return counter


async def _done(ceremony: str, *given: Any) -> Any:
    def work() -> Any:
        return getattr(import_module("plugins.passkeys_webauthn.ceremonies"), ceremony)(*given)

    return await asyncio.to_thread(work)
