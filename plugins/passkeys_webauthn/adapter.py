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
        options: str = await _run_ceremony_in_thread(
            "build_registration_options", party, challenge, account, existing_passkeys
        )
        return options

    async def verify_registration(
        self, party: RelyingParty, challenge: str, response: RegistrationResponse
    ) -> VerifiedRegistration:
        """Returns the new passkey."""
        registration: VerifiedRegistration = await _run_ceremony_in_thread(
            "verify_registration_response_of_browser", party, challenge, response
        )
        return registration

    async def authentication_options(self, party: RelyingParty, challenge: str) -> str:
        """Returns options for ``navigator.credentials.get``."""
        options: str = await _run_ceremony_in_thread("build_authentication_options", party, challenge)
        return options

    async def verify_authentication(
        self, party: RelyingParty, challenge: str, response: AuthenticationResponse, passkey: Passkey
    ) -> int:
        """Returns the signed counter."""
        counter: int = await _run_ceremony_in_thread(
            "verify_assertion_and_return_counter", party, challenge, response, passkey
        )
        return counter


async def _run_ceremony_in_thread(ceremony: str, *args: Any) -> Any:
    def import_and_run() -> Any:
        return getattr(import_module("plugins.passkeys_webauthn.ceremonies"), ceremony)(*args)

    return await asyncio.to_thread(import_and_run)
