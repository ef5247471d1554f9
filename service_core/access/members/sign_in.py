"""Sign-in with a password, and sessions. Responses do not reveal whether an e-mail address has an account."""

from dataclasses import dataclass, field, replace
from typing import Final

from service_core.access.members.models import SESSION_LIFETIME, Account, Purpose, Session
from service_core.access.members.ports import Accounts, Passwords, Sessions
from service_core.access.members.sign_in_attempts import (
    ATTEMPTS_PER_ADDRESS,
    ATTEMPTS_PER_CLIENT,
    count_attempt_per_15_minutes_or_raise,
)
from service_core.access.ports import RateLimiter
from service_core.kernel.clock import Clock
from service_core.kernel.errors import BadRequest, Unauthorized
from service_core.kernel.ids import ONE_TIME_TOKEN_PATTERN, new_id, new_token, sha256_hex

MIN_PASSWORD_LENGTH: Final = 12
MAX_PASSWORD_LENGTH: Final = 256


@dataclass(frozen=True, slots=True)
class NewSession:
    """A new session and the secret for its cookie, which is stored nowhere else."""

    session: Session
    account: Account
    secret: str = field(repr=False)


class SignIn:
    """Opens, finds and ends sessions.

    Args:
        accounts: the store of accounts.
        sessions: the store of sessions.
        passwords: the password hash.
        limiter: counts attempts; nobody can sign in while it is unavailable.
        clock: current time.
    """

    def __init__(
        self, accounts: Accounts, sessions: Sessions, passwords: Passwords, limiter: RateLimiter, clock: Clock
    ) -> None:
        self._accounts = accounts
        self._sessions = sessions
        self._passwords = passwords
        self._limiter = limiter
        self._clock = clock

    async def sign_in_with_password(
        self, email: str, password: str, *, client_prefix: str | None
    ) -> NewSession:
        """Verifies a password and opens a session.

        Raises:
            Unauthorized, TooManyRequests, ServiceUnavailable: as `verify_password_within_attempt_limits`.
        """
        return await self.open_session(
            await self.verify_password_within_attempt_limits(email, password, client_prefix=client_prefix)
        )

    async def verify_password_within_attempt_limits(
        self, email: str, password: str, *, client_prefix: str | None
    ) -> Account:
        """Returns the account of an e-mail address and its password.

        Args:
            email: as typed.
            password: as typed.
            client_prefix: IP prefix of the browser (`full_ipv4_or_ipv6_slash_64`), if known.

        Raises:
            Unauthorized: the address or the password is wrong; the message is the same for both.
            TooManyRequests: more than 10 attempts for the address, or 30 of the client, in 15 minutes.
            ServiceUnavailable: attempts cannot be counted.
        """
        normalized_email = email.strip().lower()
        await count_attempt_per_15_minutes_or_raise(
            self._limiter, f"sign-in-address:{sha256_hex(normalized_email)}", ATTEMPTS_PER_ADDRESS
        )
        if client_prefix is not None:
            await count_attempt_per_15_minutes_or_raise(
                self._limiter, f"sign-in-client:{client_prefix}", ATTEMPTS_PER_CLIENT
            )
        account = await self._accounts.find_account_by_email(normalized_email)
        matches = await self._passwords.verify(account.password if account else None, password)
        if account is None or not matches:
            raise Unauthorized("Wrong e-mail address or password")
        return account

    async def open_session(self, account: Account) -> NewSession:
        """Opens a session for an account whose owner was authenticated before."""
        now = self._clock()
        secret = new_token()
        session = Session(new_id(), account.id, now, now + SESSION_LIFETIME)
        await self._sessions.add_session_and_delete_expired(session, sha256_hex(secret))
        return NewSession(session, account, secret)

    async def find_unexpired_session(self, cookie_secret: str | None) -> tuple[Session, Account] | None:
        """Returns the session of a cookie and its account; None if it is unknown or expired."""
        if cookie_secret is None or not ONE_TIME_TOKEN_PATTERN.fullmatch(cookie_secret):
            return None
        session = await self._sessions.get_session(sha256_hex(cookie_secret))
        if session is None or self._clock() >= session.expires_at:
            return None
        account = await self._accounts.get_account(session.account_id)
        return None if account is None else (session, account)

    async def sign_out(self, cookie_secret: str) -> None:
        """Ends the session of a cookie."""
        await self._sessions.end_session(sha256_hex(cookie_secret))

    async def end_other_sessions(self, account: Account, cookie_secret: str) -> None:
        """Ends all sessions of an account except that of a cookie."""
        await self._sessions.end_account_sessions(account.id, except_digest=sha256_hex(cookie_secret))

    async def set_password_and_replace_sessions(self, link_token: str, password: str) -> NewSession:
        """Sets the password of the account of a link, ends its sessions and opens a new one.

        Raises:
            BadRequest: the password is too short or too long; the link stays valid.
            Unauthorized: the link is unknown, used or expired.
        """
        if not MIN_PASSWORD_LENGTH <= len(password) <= MAX_PASSWORD_LENGTH:
            raise BadRequest(
                f"A password has {MIN_PASSWORD_LENGTH} to {MAX_PASSWORD_LENGTH} characters",
                "invalid_parameter",
                field="password",
            )
        hashed = await self._passwords.hash(password)
        link = await self._accounts.consume_unexpired_password_link(
            sha256_hex(link_token), Purpose.PASSWORD, self._clock()
        )
        account = None if link is None else await self._accounts.get_account(link.account_id)
        if account is None:
            raise Unauthorized("This link is not valid any more")
        updated_account = replace(account, password=hashed)
        await self._accounts.save_account_unless_email_taken(updated_account)
        await self._sessions.end_account_sessions(account.id)
        return await self.open_session(updated_account)
