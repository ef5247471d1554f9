"""Signing in: the same answer and the same time whether or not an address is known."""

from dataclasses import dataclass, field, replace
from typing import Final

from service_core.access.members.attempts import ATTEMPTS_PER_ADDRESS, ATTEMPTS_PER_CLIENT, count_attempt
from service_core.access.members.model import SESSION_LIFETIME, Account, Purpose, Session
from service_core.access.members.ports import Accounts, Passwords, Sessions
from service_core.access.ports import RateLimiter
from service_core.kernel.clock import Clock
from service_core.kernel.errors import BadRequest, Unauthorized
from service_core.kernel.ids import ONE_TIME_TOKEN, digest, new_id, new_token

SHORTEST_PASSWORD: Final = 12
LONGEST_PASSWORD: Final = 256


@dataclass(frozen=True, slots=True)
class SignedIn:
    """A new session and its secret for the cookie, which is kept nowhere else."""

    session: Session
    account: Account
    secret: str = field(repr=False)


class SignIn:
    """Opens, finds and ends sessions.

    Args:
        accounts: who can sign in.
        sessions: who has.
        passwords: the slow hash.
        limiter: counts attempts; without it nobody signs in.
        clock: gives the present.
    """

    def __init__(
        self, accounts: Accounts, sessions: Sessions, passwords: Passwords, limiter: RateLimiter, clock: Clock
    ) -> None:
        self._accounts = accounts
        self._sessions = sessions
        self._passwords = passwords
        self._limiter = limiter
        self._clock = clock

    async def sign_in(self, email: str, password: str, *, client: str | None) -> SignedIn:
        """Open a session for an address and its password.

        Raises:
            Unauthorized, TooMany, Unavailable503: as `prove`.
        """
        return await self.admit(await self.prove(email, password, client=client))

    async def prove(self, email: str, password: str, *, client: str | None) -> Account:
        """The account of an address and its password.

        Args:
            email: as typed.
            password: as typed.
            client: network of the browser (`networks.network_of`), when it is known.

        Raises:
            Unauthorized: they do not belong together; nothing more is said.
            TooMany: more than 10 attempts on the address, or 30 of the client, in 15 minutes.
            Unavailable503: attempts cannot be counted.
        """
        address = email.strip().lower()
        await count_attempt(self._limiter, f"sign-in-address:{digest(address)}", ATTEMPTS_PER_ADDRESS)
        if client is not None:
            await count_attempt(self._limiter, f"sign-in-client:{client}", ATTEMPTS_PER_CLIENT)
        account = await self._accounts.account_of(address)
        matches = await self._passwords.verify(account.password if account else None, password)
        if account is None or not matches:
            raise Unauthorized("The address and the password do not belong together")
        return account

    async def admit(self, account: Account) -> SignedIn:
        """Open a session for somebody who has proved to be this account in another way."""
        now = self._clock()
        secret = new_token()
        session = Session(new_id(), account.id, now, now + SESSION_LIFETIME)
        await self._sessions.save_session(session, digest(secret))
        return SignedIn(session, account, secret)

    async def find(self, secret: str | None) -> tuple[Session, Account] | None:
        """Who is behind a cookie; None when it opens nothing (any more)."""
        if secret is None or not ONE_TIME_TOKEN.fullmatch(secret):
            return None
        session = await self._sessions.session(digest(secret))
        if session is None or self._clock() >= session.expires_at:
            return None
        account = await self._accounts.account(session.account_id)
        return None if account is None else (session, account)

    async def sign_out(self, secret: str) -> None:
        """End the session of a cookie."""
        await self._sessions.end_session(digest(secret))

    async def sign_out_elsewhere(self, account: Account, secret: str) -> None:
        """End every session of an account but that of a cookie."""
        await self._sessions.end_sessions(account.id, spare=digest(secret))

    async def choose_password(self, token: str, password: str) -> SignedIn:
        """Set the password of the account a mailed link belongs to, and end its other sessions.

        Raises:
            BadRequest: the password is too short or too long; the link still works.
            Unauthorized: the link is unknown, used or expired.
        """
        if not SHORTEST_PASSWORD <= len(password) <= LONGEST_PASSWORD:
            raise BadRequest(
                f"A password has {SHORTEST_PASSWORD} to {LONGEST_PASSWORD} characters",
                "invalid_parameter",
                field="password",
            )
        hashed = await self._passwords.hash(password)
        link = await self._accounts.use_link(digest(token), Purpose.PASSWORD, self._clock())
        account = None if link is None else await self._accounts.account(link.account_id)
        if account is None:
            raise Unauthorized("This link is not valid any more")
        changed = replace(account, password=hashed)
        await self._accounts.save_account(changed)
        await self._sessions.end_sessions(account.id)
        return await self.admit(changed)
