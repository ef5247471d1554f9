"""Signing in: the same answer and the same time whether or not an address is known."""

from dataclasses import dataclass, field, replace
from typing import Final

from service_core.access.members.models import SESSION_LIFETIME, Account, Purpose, Session
from service_core.access.members.ports import Accounts, Passwords, Sessions
from service_core.access.members.sign_in_attempts import (
    ATTEMPTS_PER_ADDRESS,
    ATTEMPTS_PER_CLIENT,
    consume_attempt,
)
from service_core.access.ports import RateLimiter
from service_core.kernel.clock import Clock
from service_core.kernel.errors import BadRequest, Unauthorized
from service_core.kernel.ids import ONE_TIME_TOKEN_PATTERN, new_id, new_token, sha256_hex

MIN_PASSWORD_LENGTH: Final = 12
MAX_PASSWORD_LENGTH: Final = 256


@dataclass(frozen=True, slots=True)
class NewSession:
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

    async def sign_in(self, email: str, password: str, *, client: str | None) -> NewSession:
        """Open a session for an address and its password.

        Raises:
            Unauthorized, TooManyRequests, Unavailable503: as `prove`.
        """
        return await self.open_session(await self.verify_password(email, password, client=client))

    async def verify_password(self, email: str, password: str, *, client: str | None) -> Account:
        """The account of an address and its password.

        Args:
            email: as typed.
            password: as typed.
            client: network of the browser (`networks.rate_limit_prefix`), when it is known.

        Raises:
            Unauthorized: they do not belong together; nothing more is said.
            TooManyRequests: more than 10 attempts on the address, or 30 of the client, in 15 minutes.
            Unavailable503: attempts cannot be counted.
        """
        address = email.strip().lower()
        await consume_attempt(self._limiter, f"sign-in-address:{sha256_hex(address)}", ATTEMPTS_PER_ADDRESS)
        if client is not None:
            await consume_attempt(self._limiter, f"sign-in-client:{client}", ATTEMPTS_PER_CLIENT)
        account = await self._accounts.find_account_by_email(address)
        matches = await self._passwords.verify(account.password if account else None, password)
        if account is None or not matches:
            raise Unauthorized("The address and the password do not belong together")
        return account

    async def open_session(self, account: Account) -> NewSession:
        """Open a session for somebody who has proved to be this account in another way."""
        now = self._clock()
        secret = new_token()
        session = Session(new_id(), account.id, now, now + SESSION_LIFETIME)
        await self._sessions.save_session(session, sha256_hex(secret))
        return NewSession(session, account, secret)

    async def find_session(self, secret: str | None) -> tuple[Session, Account] | None:
        """Who is behind a cookie; None when it opens nothing (any more)."""
        if secret is None or not ONE_TIME_TOKEN_PATTERN.fullmatch(secret):
            return None
        session = await self._sessions.get_session(sha256_hex(secret))
        if session is None or self._clock() >= session.expires_at:
            return None
        account = await self._accounts.get_account(session.account_id)
        return None if account is None else (session, account)

    async def sign_out(self, secret: str) -> None:
        """End the session of a cookie."""
        await self._sessions.end_session(sha256_hex(secret))

    async def end_other_sessions(self, account: Account, secret: str) -> None:
        """End every session of an account but that of a cookie."""
        await self._sessions.end_sessions(account.id, except_digest=sha256_hex(secret))

    async def set_password_by_link(self, token: str, password: str) -> NewSession:
        """Set the password of the account a mailed link belongs to, and end its other sessions.

        Raises:
            BadRequest: the password is too short or too long; the link still works.
            Unauthorized: the link is unknown, used or expired.
        """
        if not MIN_PASSWORD_LENGTH <= len(password) <= MAX_PASSWORD_LENGTH:
            raise BadRequest(
                f"A password has {MIN_PASSWORD_LENGTH} to {MAX_PASSWORD_LENGTH} characters",
                "invalid_parameter",
                field="password",
            )
        hashed = await self._passwords.hash(password)
        link = await self._accounts.consume_password_link(sha256_hex(token), Purpose.PASSWORD, self._clock())
        account = None if link is None else await self._accounts.get_account(link.account_id)
        if account is None:
            raise Unauthorized("This link is not valid any more")
        changed = replace(account, password=hashed)
        await self._accounts.save_account(changed)
        await self._sessions.end_sessions(account.id)
        return await self.open_session(changed)
