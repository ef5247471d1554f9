"""Challenges: random, for one browser, used up by the first answer, forgotten after five minutes."""

from datetime import datetime
from uuid import UUID

from service_core.access.passkeys.model import CHALLENGE_LIFETIME, Challenge
from service_core.access.passkeys.ports import Challenges, NotProved
from service_core.kernel.ids import ONE_TIME_TOKEN, digest, new_token


async def issue(challenges: Challenges, browser: str, account_id: UUID | None, now: datetime) -> str:
    """A new challenge, base64url of 32 random bytes; only its digest is kept.

    Args:
        challenges: where it is kept.
        browser: the secret of its cookie.
        account_id: whose new passkey is to sign; None to sign in.
        now: the present.
    """
    token = new_token()
    kept = Challenge(digest(browser), account_id, now + CHALLENGE_LIFETIME)
    await challenges.save_challenge(kept, digest(token), now)
    return token


async def redeem(
    challenges: Challenges, token: str, browser: str, account_id: UUID | None, now: datetime
) -> None:
    """Use a challenge up, for this browser and purpose.

    Raises:
        NotProved: it is not open, or was for another; in any case it is used up.
    """
    known = ONE_TIME_TOKEN.fullmatch(token)
    found = await challenges.use_challenge(digest(token), now) if known else None
    if found is None or (found.browser, found.account_id) != (digest(browser), account_id):
        raise NotProved
