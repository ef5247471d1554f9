"""The token and revocation endpoints (RFC 6749, 7009, 7636, 9700).

Authorization codes and refresh tokens work once; a second use ends the grant.
"""

import hashlib
import hmac
import re
from collections.abc import Iterable, Mapping
from typing import Final

from service_core.access.members.ports import Members
from service_core.access.oauth.authorization import CODE_PREFIX, parse_scopes_or_default_to_read
from service_core.access.oauth.metadata import ServerMetadata
from service_core.access.oauth.models import (
    ACCESS_TOKEN_LIFETIME,
    REFRESH_LIFETIME,
    IssuedTokens,
    OAuthError,
    OneTimeToken,
    OneTimeTokenKind,
)
from service_core.access.oauth.ports import OAuthGrants, OneTimeTokens
from service_core.access.roles import ROLE_OAUTH_SCOPES
from service_core.kernel.clock import Clock
from service_core.kernel.ids import (
    ACCESS_TOKEN_PATTERN,
    encode_base64url,
    new_access_token,
    new_token,
    sha256_hex,
)
from service_core.kernel.operations import Scope

REFRESH_PREFIX: Final = "ort_"

_TOKEN_BY_GRANT_TYPE: Final[Mapping[str, tuple[OneTimeTokenKind, str]]] = {
    "authorization_code": (OneTimeTokenKind.CODE, "code"),
    "refresh_token": (OneTimeTokenKind.REFRESH, "refresh_token"),
}
"""Grant type to the kind of its one-time token and the parameter that contains it."""

_TOKEN_PATTERNS: Final[Mapping[OneTimeTokenKind, re.Pattern[str]]] = {
    OneTimeTokenKind.CODE: re.compile(CODE_PREFIX + r"[A-Za-z0-9_-]{43}"),
    OneTimeTokenKind.REFRESH: re.compile(REFRESH_PREFIX + r"[A-Za-z0-9_-]{43}"),
}
_CODE_VERIFIER_PATTERN: Final = re.compile(r"[A-Za-z0-9._~-]{43,128}")


class TokenEndpoint:
    """The token endpoint and the revocation endpoint.

    Args:
        tokens: the store of authorization codes and refresh tokens.
        grants: the store of access tokens.
        members: tells whether the person still belongs to the workspace, and in which role.
        metadata: the metadata of this deployment.
        clock: current time.
    """

    def __init__(
        self,
        tokens: OneTimeTokens,
        grants: OAuthGrants,
        members: Members,
        metadata: ServerMetadata,
        clock: Clock,
    ) -> None:
        self._tokens = tokens
        self._grants = grants
        self._members = members
        self._metadata = metadata
        self._clock = clock

    async def exchange_code_or_refresh_token(
        self, form_pairs: Iterable[tuple[str, str]]
    ) -> dict[str, object]:
        """Returns the response body of ``POST /oauth/token``.

        Raises:
            OAuthError: with an error code of RFC 6749, section 5.2.
        """
        form = _parse_unrepeated_parameters(form_pairs)
        kind, parameter = _TOKEN_BY_GRANT_TYPE.get(form.get("grant_type", ""), (None, ""))
        if kind is None:
            raise OAuthError(
                "unsupported_grant_type", f"grant_type is one of: {', '.join(_TOKEN_BY_GRANT_TYPE)}"
            )
        if not form.get("client_id"):
            raise OAuthError("invalid_client", "client_id is required", 401)
        if not self._metadata.is_own_resource(form.get("resource")):
            raise OAuthError("invalid_target", "resource names another service")
        token_digest = sha256_hex(_require_well_formed_secret(form, parameter, _TOKEN_PATTERNS[kind]))
        now = self._clock()
        token = await self._tokens.find_token_even_if_used(token_digest)
        if token is None or token.kind is not kind:
            raise _invalid_grant_error()
        scopes = await self._granted_scopes_role_still_allows(token, form.get("scope"))
        access, refresh = new_access_token(), new_token(REFRESH_PREFIX)
        is_valid = _matches_client_pkce_and_redirect(token, form) and now < token.expires_at and bool(scopes)
        issued = IssuedTokens(
            sha256_hex(access), now + ACCESS_TOKEN_LIFETIME, sha256_hex(refresh), now + REFRESH_LIFETIME
        )
        # A failed attempt uses up the token as well, because it may have been stolen.
        if not await self._tokens.use_token_once_or_end_grant(
            token_digest, issued if is_valid else None, now
        ):
            raise _invalid_grant_error()
        return {
            "access_token": access,
            "token_type": "Bearer",
            "expires_in": int(ACCESS_TOKEN_LIFETIME.total_seconds()),
            "refresh_token": refresh,
            "scope": " ".join(scope.value for scope in Scope if scope in scopes),
        }

    async def end_grant_of_known_token(self, form_pairs: Iterable[tuple[str, str]]) -> None:
        """Ends the grant of an access or refresh token. Other texts change nothing."""
        token = dict(form_pairs).get("token", "")
        now = self._clock()
        if ACCESS_TOKEN_PATTERN.fullmatch(token):
            access_token = await self._grants.find_access_token_even_if_expired(sha256_hex(token))
            if access_token is not None:
                await self._tokens.end_grant(access_token.grant.id, now)
        elif _TOKEN_PATTERNS[OneTimeTokenKind.REFRESH].fullmatch(token):
            refresh_token = await self._tokens.find_token_even_if_used(sha256_hex(token))
            if refresh_token is not None:
                await self._tokens.end_grant(refresh_token.grant.id, now)

    async def _granted_scopes_role_still_allows(
        self, token: OneTimeToken, requested_scopes: str | None
    ) -> frozenset[Scope]:
        """Returns the granted scopes that the person's current role allows; none if the person has left the workspace.

        Raises:
            OAuthError: ``invalid_scope`` if more is requested than was granted; the token stays valid.
        """
        grant = token.grant
        if (
            requested_scopes is not None
            and not parse_scopes_or_default_to_read(requested_scopes) <= grant.scopes
        ):
            raise OAuthError("invalid_scope", "The grant does not hold this scope")
        member = await self._members.get_member(grant.workspace_id, grant.account_id)
        return frozenset() if member is None else grant.scopes & ROLE_OAUTH_SCOPES[member.role]


def _parse_unrepeated_parameters(form_pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Returns the parameters by name; an empty one counts as missing.

    Raises:
        OAuthError: a parameter is repeated.
    """
    form: dict[str, str] = {}
    for name, value in form_pairs:
        if name in form:
            raise OAuthError("invalid_request", "A parameter is repeated")
        form[name] = value
    return {name: value for name, value in form.items() if value}


def _require_well_formed_secret(form: Mapping[str, str], parameter: str, pattern: re.Pattern[str]) -> str:
    """Returns the secret of a parameter if it is well-formed, so that nothing else reaches the store."""
    secret = form.get(parameter)
    if secret is None:
        raise OAuthError("invalid_request", f"{parameter} is required")
    if not pattern.fullmatch(secret):
        raise _invalid_grant_error()
    return secret


def _matches_client_pkce_and_redirect(token: OneTimeToken, form: Mapping[str, str]) -> bool:
    """Returns whether the request comes from the client that the token was issued to."""
    if form["client_id"] != token.grant.client_id:
        return False
    if token.kind is OneTimeTokenKind.REFRESH:
        return True
    verifier = form.get("code_verifier", "")
    if token.challenge is None or not _CODE_VERIFIER_PATTERN.fullmatch(verifier):
        return False
    computed_challenge = encode_base64url(hashlib.sha256(verifier.encode()).digest())
    return (
        hmac.compare_digest(computed_challenge, token.challenge)
        and form.get("redirect_uri") == token.redirect_uri
    )


def _invalid_grant_error() -> OAuthError:
    return OAuthError(
        "invalid_grant", "The code or refresh token is not valid any more, or not for this request"
    )
