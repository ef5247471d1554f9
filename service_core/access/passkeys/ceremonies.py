"""The two ceremonies of passkeys: making one for an account, and signing in with one."""

from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

from service_core.access.keys import checked_name
from service_core.access.members.attempts import ATTEMPTS_PER_ADDRESS, ATTEMPTS_PER_CLIENT, count_attempt
from service_core.access.members.model import Account
from service_core.access.members.ports import Accounts
from service_core.access.members.sign_in import SignedIn, SignIn
from service_core.access.passkeys.challenges import issue, redeem
from service_core.access.passkeys.model import MOST_PASSKEYS, Asserted, Attested, Passkey, RelyingParty
from service_core.access.passkeys.ports import Challenges, NotProved, Passkeys, WebAuthn
from service_core.access.ports import RateLimiter
from service_core.kernel.clock import Clock
from service_core.kernel.errors import BadRequest, Conflict, NotFound, Unauthorized
from service_core.kernel.ids import digest, new_id

LONGEST_NAME: Final = 100


@dataclass(frozen=True, slots=True)
class Browser:
    """Who answers.

    Attributes:
        secret: of its cookie; a challenge is for one browser.
        client: its network (`networks.network_of`), when it is known.
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
        challenges: Challenges,
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
    def is_open(self) -> bool:
        """Whether there are passkeys here at all; without, everything but looking and removing is `NotFound`."""
        return self._tools is not None

    async def ask_to_make(self, account: Account, password: str, browser: Browser) -> str:
        """What to ask a browser for a new passkey; whoever sits at it has to know the password.

        Raises:
            Unauthorized: it is another password.
            TooMany, Unavailable503: as `SignIn.prove`.
        """
        webauthn, party = self._present()
        try:
            await self._sign_in.prove(account.email, password, client=browser.client)
        except Unauthorized:
            raise Unauthorized("This is not your password") from None
        known = await self._passkeys.passkeys(account.id)
        token = await issue(self._challenges, browser.secret, account.id, self._clock())
        return await webauthn.ask_to_make(party, token, account, known)

    async def make(
        self, account: Account, name: str, token: str, attested: Attested, browser: Browser
    ) -> Passkey:
        """Keep the passkey that a browser has made.

        Raises:
            BadRequest: the name is blank or long.
            Unauthorized: the answer does not fit what this browser was asked, or comes late.
            Conflict: the passkey is known, or the account has 20.
        """
        webauthn, party = self._present()
        trimmed, now = checked_name(name), self._clock()
        if len(trimmed) > LONGEST_NAME:
            raise BadRequest(
                f"A name has at most {LONGEST_NAME} characters", "invalid_parameter", field="name"
            )
        try:
            await redeem(self._challenges, token, browser.secret, account.id, now)
            made = await webauthn.read_made(party, token, attested)
        except NotProved:
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
        if not await self._passkeys.add_passkey(passkey, MOST_PASSKEYS):
            raise Conflict(f"It is known already, or you have {MOST_PASSKEYS} passkeys", "resource_changed")
        return passkey

    async def remove(self, account: Account, passkey_id: UUID, browser: Browser) -> None:
        """Drop a passkey, and end every session but this one: its device may be in other hands.

        Raises:
            NotFound: the account has no such passkey.
        """
        if not await self._passkeys.remove_passkey(account.id, passkey_id):
            raise NotFound
        await self._sign_in.sign_out_elsewhere(account, browser.secret)

    async def ask_to_sign(self, browser: Browser) -> str:
        """What to ask a browser that wants in.

        Raises:
            TooMany: more than 30 times of the client in 15 minutes.
            Unavailable503: attempts cannot be counted.
        """
        webauthn, party = self._present()
        if browser.client is not None:
            await count_attempt(self._limiter, f"passkey-client:{browser.client}", ATTEMPTS_PER_CLIENT)
        token = await issue(self._challenges, browser.secret, None, self._clock())
        return await webauthn.ask_to_sign(party, token)

    async def sign_in(self, token: str, asserted: Asserted, browser: Browser) -> SignedIn:
        """Open a session for the account of a passkey.

        Raises:
            Unauthorized: it opens nothing, whyever; nothing more is said.
            TooMany: more than 10 attempts on the passkey, or 30 of the client, in 15 minutes.
            Unavailable503: attempts cannot be counted.
        """
        named = digest(asserted.credential_id.hex())
        await count_attempt(self._limiter, f"sign-in-passkey:{named}", ATTEMPTS_PER_ADDRESS)
        if browser.client is not None:
            await count_attempt(self._limiter, f"sign-in-client:{browser.client}", ATTEMPTS_PER_CLIENT)
        try:
            return await self._sign_in.admit(await self._owner(token, asserted, browser))
        except NotProved:
            raise Unauthorized("This passkey does not open anything here") from None

    async def _owner(self, token: str, asserted: Asserted, browser: Browser) -> Account:
        webauthn, party = self._present()
        now = self._clock()
        await redeem(self._challenges, token, browser.secret, None, now)
        passkey = await self._passkeys.passkey_of(asserted.credential_id)
        if passkey is None or passkey.account_id.bytes != asserted.user:
            raise NotProved
        counter = await webauthn.read_signed(party, token, asserted, passkey)
        account = await self._accounts.account(passkey.account_id)
        if account is None or not await self._passkeys.use_passkey(passkey.id, counter, now):
            raise NotProved
        return account

    def _present(self) -> tuple[WebAuthn, RelyingParty]:
        if self._tools is None:
            raise NotFound
        return self._tools
