"""Ports for passkeys: their stores and the WebAuthn implementation."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol
from uuid import UUID

from service_core.access.members.models import Account
from service_core.access.passkeys.models import (
    AuthenticationResponse,
    Challenge,
    Passkey,
    RegistrationResponse,
    RelyingParty,
    VerifiedRegistration,
)


class Passkeys(Protocol):
    """Stores passkeys of accounts. They are deleted with their account."""

    async def list_passkeys(self, account_id: UUID) -> list[Passkey]:
        """Returns the passkeys of an account, oldest first."""

    async def find_passkey(self, credential_id: bytes) -> Passkey | None:
        """Returns the passkey with this credential id."""

    async def add_passkey(self, passkey: Passkey, max_per_account: int) -> bool:
        """Adds a passkey. Returns False, without a change, if its credential is known or the account has ``max_passkeys``."""

    async def record_passkey_use_if_counter_rose(self, passkey_id: UUID, counter: int, now: datetime) -> bool:
        """Stores a use and its counter. Returns False, without a change, if the passkey is gone or its counter did not rise.

        A counter that stays 0 is accepted.
        """

    async def remove_passkey(self, account_id: UUID, passkey_id: UUID) -> bool:
        """Deletes a passkey of an account; False if it has no such passkey."""


class PasskeyChallenges(Protocol):
    """Stores challenges by their digest."""

    async def add_challenge_and_delete_expired(
        self, challenge: Challenge, digest: str, now: datetime
    ) -> None:
        """Stores a new challenge and deletes expired ones."""

    async def delete_and_return_unexpired_challenge(self, digest: str, now: datetime) -> Challenge | None:
        """Deletes a challenge and returns it; None if it is unknown, used or expired."""


class InvalidPasskeyResponse(Exception):
    """The response of a browser is not valid."""


class WebAuthn(Protocol):
    """Web Authentication level 2: options for browsers and verification of their responses.

    Challenges are base64url texts, as they appear in the options. User verification by the device is required.
    """

    async def registration_options(
        self, party: RelyingParty, challenge: str, account: Account, existing_passkeys: Sequence[Passkey]
    ) -> str:
        """Returns options for ``navigator.credentials.create`` as JSON; ``existing_passkeys`` are excluded."""

    async def verify_registration(
        self, party: RelyingParty, challenge: str, response: RegistrationResponse
    ) -> VerifiedRegistration:
        """Returns the verified passkey.

        Raises:
            InvalidPasskeyResponse: wrong challenge, origin or host, or the user was not verified.
        """

    async def authentication_options(self, party: RelyingParty, challenge: str) -> str:
        """Returns options for ``navigator.credentials.get`` as JSON, for any passkey of the host."""

    async def verify_authentication(
        self, party: RelyingParty, challenge: str, response: AuthenticationResponse, passkey: Passkey
    ) -> int:
        """Returns the new signature counter.

        Raises:
            InvalidPasskeyResponse: as `verify_registration`, or the signature is wrong, or the counter has not risen.
        """
