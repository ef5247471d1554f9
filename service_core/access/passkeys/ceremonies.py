"""The two ceremonies of passkeys: making one for an account, and signing in with one."""

from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

from service_core.access.api_keys import validate_name
from service_core.access.members.models import Account
from service_core.access.members.ports import Accounts
from service_core.access.members.sign_in import NewSession, SignIn
from service_core.access.members.sign_in_attempts import (
    ATTEMPTS_PER_ADDRESS,
    ATTEMPTS_PER_CLIENT,
    consume_attempt,
)
from service_core.access.passkeys.challenges import consume_challenge, create_challenge
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
    """Who answers.

    Attributes:
        secret: of its cookie; a challenge is for one browser.
        client: its network (`networks.rate_limit_prefix`), when it is known.
    """

    secret: str = field(repr=False)
    client: str | None


class PasskeySignIn:
    """Makes passkeys and opens sessions for them.

    Args:
        accounts: whose they are.
        passkeys: where they are kept.
        challenges: what browsers were asked.
        sign_in: knows passwords, and opens the session.
        limiter: counts attempts; without it nobody signs in.
        clock: gives the present.
        webauthn: reads what browsers answer; None when the deployment has switched passkeys off.
        party: what passkeys are bound to; None when its address allows none.
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
        self._tools = None if webauthn is None or party is None else (webauthn, party)

    @property
    def is_available(self) -> bool:
        """Whether there are passkeys here at all; without, everything but looking and removing is `NotFound`."""
        return self._tools is not None

    async def registration_options(self, account: Account, password: str, browser: BrowserContext) -> str:
        """What to ask a browser for a new passkey; whoever sits at it has to know the password.

        Raises:
            Unauthorized: it is another password.
            TooManyRequests, Unavailable503: as `SignIn.prove`.
        """
        webauthn, party = self._require_available()
        try:
            await self._sign_in.verify_password(account.email, password, client=browser.client)
        except Unauthorized:
            raise Unauthorized("This is not your password") from None
        known = await self._passkeys.list_passkeys(account.id)
        token = await create_challenge(self._challenges, browser.secret, account.id, self._clock())
        return await webauthn.registration_options(party, token, account, known)

    async def register_passkey(
        self, account: Account, name: str, token: str, response: RegistrationResponse, browser: BrowserContext
    ) -> Passkey:
        """Keep the passkey that a browser has made.

        Raises:
            BadRequest: the name is blank or long.
            Unauthorized: the answer does not fit what this browser was asked, or comes late.
            Conflict: the passkey is known, or the account has 20.
        """
        webauthn, party = self._require_available()
        trimmed, now = validate_name(name), self._clock()
        if len(trimmed) > MAX_PASSKEY_NAME_LENGTH:
            raise BadRequest(
                f"A name has at most {MAX_PASSKEY_NAME_LENGTH} characters", "invalid_parameter", field="name"
            )
        try:
            await consume_challenge(self._challenges, token, browser.secret, account.id, now)
            made = await webauthn.verify_registration(party, token, response)
        except InvalidPasskeyResponse:
            raise Unauthorized("This passkey could not be added. Try again") from None
        passkey = Passkey(
            new_id(),
            account.id,
            trimmed,
            made.credential_id,
            made.public_key,
            made.counter,
            made.transports,
            created_at=now,
        )
        if not await self._passkeys.add_passkey(passkey, MAX_PASSKEYS):
            raise Conflict(f"It is known already, or you have {MAX_PASSKEYS} passkeys", "resource_changed")
        return passkey

    async def remove_passkey(self, account: Account, passkey_id: UUID, browser: BrowserContext) -> None:
        """Drop a passkey, and end every session but this one: its device may be in other hands.

        Raises:
            NotFound: the account has no such passkey.
        """
        if not await self._passkeys.remove_passkey(account.id, passkey_id):
            raise NotFound
        await self._sign_in.end_other_sessions(account, browser.secret)

    async def authentication_options(self, browser: BrowserContext) -> str:
        """What to ask a browser that wants in.

        Raises:
            TooManyRequests: more than 30 times of the client in 15 minutes.
            Unavailable503: attempts cannot be counted.
        """
        webauthn, party = self._require_available()
        if browser.client is not None:
            await consume_attempt(self._limiter, f"passkey-client:{browser.client}", ATTEMPTS_PER_CLIENT)
        token = await create_challenge(self._challenges, browser.secret, None, self._clock())
        return await webauthn.authentication_options(party, token)

    async def sign_in_with_passkey(
        self, token: str, response: AuthenticationResponse, browser: BrowserContext
    ) -> NewSession:
        """Open a session for the account of a passkey.

        Raises:
            Unauthorized: it opens nothing, whyever; nothing more is said.
            TooManyRequests: more than 10 attempts on the passkey, or 30 of the client, in 15 minutes.
            Unavailable503: attempts cannot be counted.
        """
        named = sha256_hex(response.credential_id.hex())
        await consume_attempt(self._limiter, f"sign-in-passkey:{named}", ATTEMPTS_PER_ADDRESS)
        if browser.client is not None:
            await consume_attempt(self._limiter, f"sign-in-client:{browser.client}", ATTEMPTS_PER_CLIENT)
        try:
            return await self._sign_in.open_session(
                await self._verify_passkey_owner(token, response, browser)
            )
        except InvalidPasskeyResponse:
            raise Unauthorized("This passkey does not open anything here") from None

    async def _verify_passkey_owner(
        self, token: str, response: AuthenticationResponse, browser: BrowserContext
    ) -> Account:
        webauthn, party = self._require_available()
        now = self._clock()
        await consume_challenge(self._challenges, token, browser.secret, None, now)
        passkey = await self._passkeys.find_passkey(response.credential_id)
        if passkey is None or passkey.account_id.bytes != response.user_handle:
            raise InvalidPasskeyResponse
        counter = await webauthn.verify_authentication(party, token, response, passkey)
        account = await self._accounts.get_account(passkey.account_id)
        if account is None or not await self._passkeys.record_passkey_use(passkey.id, counter, now):
            raise InvalidPasskeyResponse
        return account

    def _require_available(self) -> tuple[WebAuthn, RelyingParty]:
        if self._tools is None:
            raise NotFound
        return self._tools
