"""Authentication of requests by the credential their endpoint requires."""

import hmac
import re
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from service_core.access.api_keys import DEFAULT_RATE_LIMIT
from service_core.access.key_authentication import KeyAuthenticator, invalid_api_key_error, parse_bearer_token
from service_core.access.models import ActingUser, AuthContext, Credential, CredentialKind, SignupCaller
from service_core.access.oauth.models import AccessToken
from service_core.access.oauth.ports import OAuthGrants
from service_core.access.roles import ROLE_OAUTH_SCOPES
from service_core.access.signup.ports import SignupLookup, Signups
from service_core.access.workspace_cache import WorkspaceCache
from service_core.kernel.clock import Clock
from service_core.kernel.errors import Forbidden, Unauthorized
from service_core.kernel.ids import (
    ACCESS_TOKEN_PATTERN,
    AGENT_TOKEN_PATTERN,
    SIGNUP_SECRET_PATTERN,
    key_hint,
    sha256_hex,
)
from service_core.kernel.operations import CredentialRequirement

LOOKUP_RATE_LIMIT: Final = 60
"""Attribution look-ups per minute and write key."""

ACCEPTED_TOKENS: Final[Mapping[CredentialRequirement, tuple[re.Pattern[str], ...]]] = MappingProxyType(
    {
        CredentialRequirement.PUBLIC: (),
        CredentialRequirement.WRITE_KEY: (),
        CredentialRequirement.KEY: (AGENT_TOKEN_PATTERN,),
        CredentialRequirement.INTERNAL: (AGENT_TOKEN_PATTERN,),
        CredentialRequirement.OAUTH: (ACCESS_TOKEN_PATTERN, AGENT_TOKEN_PATTERN),
        CredentialRequirement.KEY_OR_OAUTH: (AGENT_TOKEN_PATTERN, ACCESS_TOKEN_PATTERN),
        CredentialRequirement.SIGNUP: (SIGNUP_SECRET_PATTERN,),
        CredentialRequirement.KEY_REQUESTER: (
            AGENT_TOKEN_PATTERN,
            ACCESS_TOKEN_PATTERN,
            SIGNUP_SECRET_PATTERN,
        ),
    }
)
"""Credential requirement to the patterns of the bearer tokens that are looked up; other tokens are rejected unseen."""


class RequestAuthenticator:
    """Finds the caller of a request by the credential its endpoint requires.

    Args:
        authenticator: authenticates API keys, with a cache of 300 seconds.
        grants: finds OAuth tokens; not cached, so that an ended grant or a changed role takes effect at once.
        signups: finds signup secrets.
        workspaces: finds the workspace of a paid signup.
        clock: current time.
        internal_token: the token that opens internal endpoints together with a key; if empty, they stay closed.
    """

    def __init__(
        self,
        authenticator: KeyAuthenticator,
        grants: OAuthGrants,
        signups: Signups,
        workspaces: WorkspaceCache,
        clock: Clock,
        *,
        internal_token: str = "",
    ) -> None:
        self._authenticator = authenticator
        self._grants = grants
        self._signups = signups
        self._workspaces = workspaces
        self._clock = clock
        self._internal_token = internal_token

    async def authenticate(
        self, requirement: CredentialRequirement, headers: Mapping[str, str]
    ) -> AuthContext | SignupCaller | None:
        """Returns the caller, or None for an endpoint that requires no credential.

        Args:
            requirement: the credential the endpoint requires.
            headers: request headers, names in lower case.

        Raises:
            Unauthorized: the credential is missing, malformed or unknown.
        """
        if requirement is CredentialRequirement.PUBLIC:
            return None
        if requirement is CredentialRequirement.WRITE_KEY:
            return await self._authenticate_write_key_with_lookup_limit(
                headers.get("x-service-api-key") or headers.get("x-api-key")
            )
        authorization = headers.get("authorization")
        token = parse_bearer_token(authorization)
        if token is None or not any(form.fullmatch(token) for form in ACCEPTED_TOKENS[requirement]):
            raise invalid_api_key_error()
        if ACCESS_TOKEN_PATTERN.fullmatch(token):
            return await self.authenticate_unexpired_oauth_token(token)
        if SIGNUP_SECRET_PATTERN.fullmatch(token):
            return await self._authenticate_signup_secret(token)
        return await self._authenticator.authenticate(authorization)

    def check_internal_token_if_required(
        self, requirement: CredentialRequirement, headers: Mapping[str, str]
    ) -> None:
        """Checks the internal token for endpoints that require it.

        Raises:
            Forbidden: ``internal_credential_required``.
        """
        if requirement is not CredentialRequirement.INTERNAL:
            return
        sent = headers.get("x-internal-token", "").encode()
        if not self._internal_token or not hmac.compare_digest(sent, self._internal_token.encode()):
            raise Forbidden("This route is internal to the deployment", "internal_credential_required")

    async def authenticate_unexpired_oauth_token(self, token: str) -> AuthContext:
        """Returns the person and client behind an OAuth access token, with the scopes the person's role still allows.

        Raises:
            Unauthorized: the token is unknown or expired, or its grant has ended.
        """
        access_token = (
            await self._grants.find_access_token_even_if_expired(sha256_hex(token))
            if ACCESS_TOKEN_PATTERN.fullmatch(token)
            else None
        )
        if access_token is None or self._clock() >= access_token.expires_at:
            raise invalid_api_key_error()
        return _auth_context_with_role_scopes(access_token, token)

    async def _authenticate_signup_secret(self, secret: str) -> SignupCaller:
        signup = await self._signups.find_signup(SignupLookup.SECRET, sha256_hex(secret))
        if signup is None:
            raise invalid_api_key_error()
        workspace = await self._workspaces.find_by_id(signup.workspace_id) if signup.workspace_id else None
        return SignupCaller(signup.id, workspace, self._clock())

    async def _authenticate_write_key_with_lookup_limit(self, key: str | None) -> AuthContext:
        if not key:
            raise Unauthorized(
                "Missing API key. Please provide X-API-Key header or Authorization Bearer token."
            )
        auth_context = await self._authenticator.find_write_key_of_active_workspace(key)
        if auth_context is None:
            raise Unauthorized("Invalid API key")
        return replace(
            auth_context, credential=replace(auth_context.credential, rate_limit=LOOKUP_RATE_LIMIT)
        )


def reject_api_key_if_oauth_required(requirement: CredentialRequirement, auth_context: AuthContext) -> None:
    """Rejects API keys on endpoints that require the consent of a person.

    Raises:
        Forbidden: ``oauth_required``.
    """
    if requirement is CredentialRequirement.OAUTH and auth_context.acting_user is None:
        raise Forbidden(
            "This needs an OAuth access token",
            "oauth_required",
            hint="Ask a person with POST /keys/requests, or authorize over OAuth.",
        )


def _auth_context_with_role_scopes(access_token: AccessToken, token: str) -> AuthContext:
    grant = access_token.grant
    credential = Credential(
        id=grant.id,
        workspace_id=grant.workspace_id,
        kind=CredentialKind.OAUTH,
        name=grant.client_name,
        scopes=grant.scopes & ROLE_OAUTH_SCOPES[access_token.member.role],
        rate_limit=DEFAULT_RATE_LIMIT,
        hint=key_hint(token),
        created_at=grant.created_at,
    )
    return AuthContext(
        credential,
        access_token.workspace,
        ActingUser(grant, access_token.account.email, access_token.member.role),
    )
