"""Access to public pages with a password: verifying it, and the proof that a browser keeps."""

import hmac
from dataclasses import dataclass
from datetime import timedelta
from hashlib import sha256
from typing import Final

from service_core.access.members.ports import Passwords
from service_core.access.members.sign_in_attempts import count_attempt_per_15_minutes_or_raise
from service_core.access.ports import RateLimiter
from service_core.kernel.clock import Clock
from service_core.kernel.errors import Unauthorized
from service_core.workspace.share_links.access import SharedObject

PROOF_LIFETIME: Final = timedelta(hours=12)
"""How long a browser may look at a page before it has to enter the password again."""
ATTEMPTS_PER_NETWORK: Final = 10
"""Per link and network in 15 minutes."""
ATTEMPTS_PER_LINK: Final = 300
"""Per link in 15 minutes, from all networks."""


@dataclass(frozen=True, slots=True)
class SharePasswordAccess:
    """Opens public pages that have a password.

    Attributes:
        passwords: verifies the password in a time that does not depend on it.
        limiter: counts attempts; no page can be opened while it is unavailable.
        clock: returns the present.
    """

    passwords: Passwords
    limiter: RateLimiter
    clock: Clock

    async def verify_password_and_issue_proof(
        self, shared: SharedObject, password: str, network: str | None
    ) -> str:
        """Returns the proof of a correct password, for the cookie of the page.

        Args:
            shared: the shared object, whose link has a password.
            password: as typed.
            network: IP prefix of the browser, if known.

        Raises:
            Unauthorized: the password is wrong.
            TooManyRequests: too many attempts.
            ServiceUnavailable: attempts cannot be counted.
        """
        link = shared.link
        if network is not None:
            key = f"share-password:{link.id}:{network}"
            await count_attempt_per_15_minutes_or_raise(self.limiter, key, ATTEMPTS_PER_NETWORK)
        await count_attempt_per_15_minutes_or_raise(
            self.limiter, f"share-password:{link.id}", ATTEMPTS_PER_LINK
        )
        if not await self.passwords.verify(link.password_hash, password):
            raise Unauthorized("Wrong password")
        expires_at = int((self.clock() + PROOF_LIFETIME).timestamp())
        return f"{expires_at}.{_signature(shared, expires_at)}"

    def is_public_or_has_valid_proof(self, shared: SharedObject, proof: str) -> bool:
        """Whether the page needs no password, or the proof is one of its present password and has not expired."""
        if not shared.link.has_password:
            return True
        expiry, _, signature = proof.partition(".")
        if not (expiry.isascii() and expiry.isdigit()) or len(expiry) > len(f"{10**12}"):
            return False
        expected = _signature(shared, int(expiry))
        is_genuine = hmac.compare_digest(expected.encode(), signature.encode("utf-8", "replace"))
        return is_genuine and self.clock().timestamp() < int(expiry)


def _signature(shared: SharedObject, expires_at: int) -> str:
    """Returns the signature of a proof; it follows from the password, too, so another password ends it."""
    link = shared.link
    message = f"share-password:{link.id}:{expires_at}:{link.password_hash}"
    return hmac.new(shared.workspace.secret, message.encode(), sha256).hexdigest()
