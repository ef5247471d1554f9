"""The two WebAuthn ceremonies: registration of a passkey and sign-in with one."""

from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

from service_core.access.api_keys import trim_and_require_name
from service_core.access.members.models import Account
from service_core.access.members.ports import Accounts
from service_core.access.members.sign_in import NewSession, SignIn
from service_core.access.members.sign_in_attempts import (
    ATTEMPTS_PER_ADDRESS,
    ATTEMPTS_PER_CLIENT,
    count_attempt_per_15_minutes_or_raise,
)
from service_core.access.passkeys.challenges import (
    consume_challenge_of_browser_and_account,
    create_5_minute_challenge,
)
from service_core.access.passkeys.models import (
    MAX_PASSKEYS,
    AuthenticationResponse,
    Passkey,
    RegistrationResponse,
    RelyingParty,
)
from service_core.access.passkeys.ports import InvalidPasskeyResponse, PasskeyChallenges, Passkeys, WebAuthn
from service_core.access.ports import RateLimiter
from service_core.kernel.clock import Clock
from service_core.kernel.errors import BadRequest, Conflict, NotFound, Unauthorized
from service_core.kernel.ids import new_id, sha256_hex

MAX_PASSKEY_NAME_LENGTH: Final = 100


@dataclass(frozen=True, slots=True)
class BrowserContext:
    """The browser that takes part in a ceremony.

    Attributes:
        secret: secret of its cookie; a challenge is valid for one browser.
        client: its IP prefix (`full_ipv4_or_ipv6_slash_64`), if known.
    """

    secret: str = field(repr=False)
    client: str | None


class PasskeySignIn:
    """Registers passkeys and signs in with them.

    Args:
        accounts: the store of accounts.
        passkeys: the store of passkeys.
        challenges: the store of open challenges.
        sign_in: verifies passwords and opens sessions.
        limiter: counts attempts; nobody can sign in while it is unavailable.
        clock: current time.
        webauthn: verifies responses of browsers; None if the deployment has disabled passkeys.
        party: the relying party; None if the URL of the deployment allows no passkeys.
    """

    def __init__(
        self,
        accounts: Accounts,
        passkeys: Passkeys,
        challenges: PasskeyChallenges,
        *,
        sign_in: SignIn,
        limiter: RateLimiter,
        clock: Clock,
        webauthn: WebAuthn | None,
        party: RelyingParty | None,
    ) -> None:
        self._accounts = accounts
        self._passkeys = passkeys
        self._challenges = challenges
        self._sign_in = sign_in
        self._limiter = limiter
        self._clock = clock
        self._verifier_and_party = None if webauthn is None or party is None else (webauthn, party)

    @property
    def is_available(self) -> bool:
        """Whether passkeys can be used here. If not, everything except listing and removing raises `NotFound`."""
        return self._verifier_and_party is not None

    async def check_password_and_begin_registration(
        self, account: Account, password: str, browser: BrowserContext
    ) -> str:
        """Returns the WebAuthn options for a new passkey. The person has to enter the password first.

        Raises:
            Unauthorized: the password is wrong.
            TooManyRequests, ServiceUnavailable: as `SignIn.verify_password_within_attempt_limits`.
        """
        webauthn, party = self._require_verifier_and_party()
        try:
            await self._sign_in.verify_password_within_attempt_limits(
                account.email, password, client_prefix=browser.client
            )
        except Unauthorized:
            raise Unauthorized("This is not your password") from None
        existing = await self._passkeys.list_passkeys(account.id)
        token = await create_5_minute_challenge(self._challenges, browser.secret, account.id, self._clock())
        return await webauthn.registration_options(party, token, account, existing)

    async def verify_and_add_passkey(
        self,
        account: Account,
        passkey_name: str,
        challenge_token: str,
        response: RegistrationResponse,
        browser: BrowserContext,
    ) -> Passkey:
        """Verifies the response of a browser and stores the new passkey.

        Raises:
            BadRequest: the name is blank or too long.
            Unauthorized: the response does not match the challenge, or comes too late.
            Conflict: the passkey is already registered, or the account has 20.
        """
        webauthn, party = self._require_verifier_and_party()
        trimmed, now = trim_and_require_name(passkey_name), self._clock()
        if len(trimmed) > MAX_PASSKEY_NAME_LENGTH:
            raise BadRequest(
                f"A name has at most {MAX_PASSKEY_NAME_LENGTH} characters", "invalid_parameter", field="name"
            )
        try:
            await consume_challenge_of_browser_and_account(
                self._challenges, challenge_token, browser.secret, account.id, now
            )
            verified = await webauthn.verify_registration(party, challenge_token, response)
        except InvalidPasskeyResponse:
            raise Unauthorized("This passkey could not be added. Try again") from None
        passkey = Passkey(
            new_id(),
            account.id,
            trimmed,
            verified.credential_id,
            verified.public_key,
            verified.counter,
            verified.transports,
            created_at=now,
        )
        if not await self._passkeys.add_passkey(passkey, MAX_PASSKEYS):
            raise Conflict(
                f"This passkey is already registered, or you have {MAX_PASSKEYS} passkeys", "resource_changed"
            )
        return passkey

    async def remove_passkey(self, account: Account, passkey_id: UUID, browser: BrowserContext) -> None:
        """Deletes a passkey and ends all other sessions, because its device may have been stolen.

        Raises:
            NotFound: the account has no such passkey.
        """
        if not await self._passkeys.remove_passkey(account.id, passkey_id):
            raise NotFound
        await self._sign_in.end_other_sessions(account, browser.secret)

    async def count_attempt_and_begin_sign_in(self, browser: BrowserContext) -> str:
        """Returns the WebAuthn options for a sign-in.

        Raises:
            TooManyRequests: more than 30 requests of the client in 15 minutes.
            ServiceUnavailable: attempts cannot be counted.
        """
        webauthn, party = self._require_verifier_and_party()
        if browser.client is not None:
            await count_attempt_per_15_minutes_or_raise(
                self._limiter, f"passkey-client:{browser.client}", ATTEMPTS_PER_CLIENT
            )
        token = await create_5_minute_challenge(self._challenges, browser.secret, None, self._clock())
        return await webauthn.authentication_options(party, token)

    async def sign_in_with_passkey(
        self, challenge_token: str, response: AuthenticationResponse, browser: BrowserContext
    ) -> NewSession:
        """Opens a session for the account of a passkey.

        Raises:
            Unauthorized: the response is not valid; the message gives no reason.
            TooManyRequests: more than 10 attempts with the passkey, or 30 of the client, in 15 minutes.
            ServiceUnavailable: attempts cannot be counted.
        """
        passkey_digest = sha256_hex(response.credential_id.hex())
        await count_attempt_per_15_minutes_or_raise(
            self._limiter, f"sign-in-passkey:{passkey_digest}", ATTEMPTS_PER_ADDRESS
        )
        if browser.client is not None:
            await count_attempt_per_15_minutes_or_raise(
                self._limiter, f"sign-in-client:{browser.client}", ATTEMPTS_PER_CLIENT
            )
        try:
            return await self._sign_in.open_session(
                await self._consume_challenge_verify_owner_and_count_use(challenge_token, response, browser)
            )
        except InvalidPasskeyResponse:
            raise Unauthorized("This passkey is not registered here") from None

    async def _consume_challenge_verify_owner_and_count_use(
        self, challenge_token: str, response: AuthenticationResponse, browser: BrowserContext
    ) -> Account:
        webauthn, party = self._require_verifier_and_party()
        now = self._clock()
        await consume_challenge_of_browser_and_account(
            self._challenges, challenge_token, browser.secret, None, now
        )
        passkey = await self._passkeys.find_passkey(response.credential_id)
        if passkey is None or passkey.account_id.bytes != response.user_handle:
            raise InvalidPasskeyResponse
        counter = await webauthn.verify_authentication(party, challenge_token, response, passkey)
        account = await self._accounts.get_account(passkey.account_id)
        if account is None or not await self._passkeys.record_passkey_use_if_counter_rose(
            passkey.id, counter, now
        ):
            raise InvalidPasskeyResponse
        return account

    def _require_verifier_and_party(self) -> tuple[WebAuthn, RelyingParty]:
        if self._verifier_and_party is None:
            raise NotFound
        return self._verifier_and_party
