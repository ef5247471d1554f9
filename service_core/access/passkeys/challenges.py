"""WebAuthn challenges: random, bound to one browser, used up by the first response, valid for five minutes."""

from datetime import datetime
from uuid import UUID

from service_core.access.passkeys.models import CHALLENGE_LIFETIME, Challenge
from service_core.access.passkeys.ports import InvalidPasskeyResponse, PasskeyChallenges
from service_core.kernel.ids import ONE_TIME_TOKEN_PATTERN, new_token, sha256_hex


async def create_5_minute_challenge(
    challenges: PasskeyChallenges, browser_secret: str, registering_account_id: UUID | None, now: datetime
) -> str:
    """Returns a new challenge as base64url of 32 random bytes; only its digest is stored.

    Args:
        challenges: the store of challenges.
        browser_secret: secret of the browser's cookie.
        registering_account_id: the account that registers a passkey; None for a sign-in.
        now: current time.
    """
    token = new_token()
    challenge = Challenge(sha256_hex(browser_secret), registering_account_id, now + CHALLENGE_LIFETIME)
    await challenges.add_challenge_and_delete_expired(challenge, sha256_hex(token), now)
    return token


async def consume_challenge_of_browser_and_account(
    challenges: PasskeyChallenges,
    challenge_token: str,
    browser_secret: str,
    registering_account_id: UUID | None,
    now: datetime,
) -> None:
    """Uses up a challenge of this browser and account.

    Raises:
        InvalidPasskeyResponse: it is unknown or expired, or belongs to another browser or account.
    """
    is_well_formed = ONE_TIME_TOKEN_PATTERN.fullmatch(challenge_token)
    challenge = (
        await challenges.delete_and_return_unexpired_challenge(sha256_hex(challenge_token), now)
        if is_well_formed
        else None
    )
    if challenge is None or (challenge.browser, challenge.account_id) != (
        sha256_hex(browser_secret),
        registering_account_id,
    ):
        raise InvalidPasskeyResponse
