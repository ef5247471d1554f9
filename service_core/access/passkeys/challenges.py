"""Challenges: random, for one browser, used up by the first answer, forgotten after five minutes."""

from datetime import datetime
from uuid import UUID

from service_core.access.passkeys.models import CHALLENGE_LIFETIME, Challenge
from service_core.access.passkeys.ports import InvalidPasskeyResponse, PasskeyChallenges
from service_core.kernel.ids import ONE_TIME_TOKEN_PATTERN, new_token, sha256_hex


async def create_challenge(
    challenges: PasskeyChallenges, browser_secret: str, account_id: UUID | None, now: datetime
) -> str:
    """A new challenge, base64url of 32 random bytes; only its digest is kept.

    Args:
        challenges: where it is kept.
        browser: the secret of its cookie.
        account_id: whose new passkey is to sign; None to sign in.
        now: the present.
    """
    token = new_token()
    kept = Challenge(sha256_hex(browser_secret), account_id, now + CHALLENGE_LIFETIME)
    await challenges.add_challenge(kept, sha256_hex(token), now)
    return token


async def consume_challenge(
    challenges: PasskeyChallenges, token: str, browser_secret: str, account_id: UUID | None, now: datetime
) -> None:
    """Use a challenge up, for this browser and purpose.

    Raises:
        InvalidPasskeyResponse: it is not open, or was for another; in any case it is used up.
    """
    known = ONE_TIME_TOKEN_PATTERN.fullmatch(token)
    found = await challenges.take_challenge(sha256_hex(token), now) if known else None
    if found is None or (found.browser, found.account_id) != (sha256_hex(browser_secret), account_id):
        raise InvalidPasskeyResponse
