"""Issues OAuth access tokens to tests without the consent pages."""

from datetime import datetime, timedelta

from service_core.access.models import OAuthGrant
from service_core.access.oauth.models import (
    ACCESS_TOKEN_LIFETIME,
    REFRESH_LIFETIME,
    IssuedTokens,
    OneTimeToken,
    OneTimeTokenKind,
)
from service_core.access.oauth.ports import OneTimeTokens
from service_core.kernel.ids import new_access_token, new_id, sha256_hex


async def issue_access_token(
    one_time_tokens: OneTimeTokens,
    grant: OAuthGrant,
    now: datetime,
    *,
    lifetime: timedelta = ACCESS_TOKEN_LIFETIME,
) -> str:
    """Opens a grant, exchanges its authorization code at once and returns the access token.

    Args:
        one_time_tokens: the store of codes and tokens.
        grant: the grant of a member of its workspace.
        now: time of the grant and of the exchange.
        lifetime: how long the token is accepted.
    """
    code, token = new_id().hex, new_access_token()
    await one_time_tokens.add_grant_and_narrow_earlier_grants(
        OneTimeToken(OneTimeTokenKind.CODE, grant, now + lifetime), sha256_hex(code)
    )
    issued = IssuedTokens(
        sha256_hex(token), now + lifetime, sha256_hex(f"{code} refresh"), now + REFRESH_LIFETIME
    )
    assert await one_time_tokens.use_token_once_or_end_grant(sha256_hex(code), issued, now)
    return token
