"""What passkeys need from outside: where they are kept, and how browsers speak of them."""

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
    """Passkeys of accounts; they go with their account."""

    async def list_passkeys(self, account_id: UUID) -> list[Passkey]:
        """Those of an account, oldest first."""

    async def find_passkey(self, credential_id: bytes) -> Passkey | None:
        """The one with this credential id."""

    async def add_passkey(self, passkey: Passkey, max_passkeys: int) -> bool:
        """Keep a new one; False, and no change, when its credential is known or the account has ``most``."""

    async def record_passkey_use(self, passkey_id: UUID, counter: int, now: datetime) -> bool:
        """Note a use and its counter; False, and no change, when the passkey is gone or its counter did not rise.

        A counter that stays 0 counts nothing.
        """

    async def remove_passkey(self, account_id: UUID, passkey_id: UUID) -> bool:
        """Drop a passkey of an account; False when it has none such."""


class PasskeyChallenges(Protocol):
    """Challenges by their digest."""

    async def add_challenge(self, challenge: Challenge, digest: str, now: datetime) -> None:
        """Keep a new challenge, and drop those that have expired."""

    async def take_challenge(self, digest: str, now: datetime) -> Challenge | None:
        """Use a challenge up, whoever asks; None when it is unknown, used or expired."""


class InvalidPasskeyResponse(Exception):
    """An answer of a browser does not prove what it should."""


class WebAuthn(Protocol):
    """Web Authentication, level 2: what browsers are asked, and whether their answers hold.

    Challenges are base64url, as they stand in what is asked. The user has to be verified by the device.
    """

    async def registration_options(
        self, party: RelyingParty, challenge: str, account: Account, existing_passkeys: Sequence[Passkey]
    ) -> str:
        """Options for ``navigator.credentials.create`` as JSON; ``known`` are not made again."""

    async def verify_registration(
        self, party: RelyingParty, challenge: str, response: RegistrationResponse
    ) -> VerifiedRegistration:
        """The passkey that was made.

        Raises:
            InvalidPasskeyResponse: for another challenge, origin or host, or the user was not verified.
        """

    async def authentication_options(self, party: RelyingParty, challenge: str) -> str:
        """Options for ``navigator.credentials.get`` as JSON: any passkey that the browser has for the host."""

    async def verify_authentication(
        self, party: RelyingParty, challenge: str, response: AuthenticationResponse, passkey: Passkey
    ) -> int:
        """The counter that was signed.

        Raises:
            InvalidPasskeyResponse: as `read_made`, or the signature is not the passkey's, or the counter has not risen.
        """
