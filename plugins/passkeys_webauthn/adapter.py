"""Implements the port `WebAuthn`; `ceremonies` is loaded with the first passkey."""

import asyncio
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from service_core.plugin import (
    Account,
    AuthenticationResponse,
    Passkey,
    RegistrationResponse,
    RelyingParty,
    VerifiedRegistration,
)


class WebAuthnPasskeys:
    """Implements the port `WebAuthn`; the library runs in a thread."""

    async def registration_options(
        self, party: RelyingParty, challenge: str, account: Account, existing_passkeys: Sequence[Passkey]
    ) -> str:
        """Returns options for ``navigator.credentials.create``."""
        asked: str = await _run_ceremony("ask_to_make", party, challenge, account, existing_passkeys)
        return asked

    async def verify_registration(
        self, party: RelyingParty, challenge: str, response: RegistrationResponse
    ) -> VerifiedRegistration:
        """Returns the new passkey."""
        made: VerifiedRegistration = await _run_ceremony("read_made", party, challenge, response)
        return made

    async def authentication_options(self, party: RelyingParty, challenge: str) -> str:
        """Returns options for ``navigator.credentials.get``."""
        asked: str = await _run_ceremony("ask_to_sign", party, challenge)
        return asked

    async def verify_authentication(
        self, party: RelyingParty, challenge: str, response: AuthenticationResponse, passkey: Passkey
    ) -> int:
        """Returns the signed counter."""
        counter: int = await _run_ceremony("read_signed", party, challenge, response, passkey)
        return counter


async def _run_ceremony(ceremony: str, *given: Any) -> Any:
    def work() -> Any:
        return getattr(import_module("plugins.passkeys_webauthn.ceremonies"), ceremony)(*given)

    return await asyncio.to_thread(work)
