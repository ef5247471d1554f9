"""Which credential opens a route, decided in one place (contract 2.2, 10.1, 12)."""

import hmac
import re
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from service_core.access.authenticate import Authenticator, bearer, refused
from service_core.access.keys import DEFAULT_RATE
from service_core.access.model import Applicant, Credential, CredentialKind, Delegate, Identity
from service_core.access.oauth.model import AccessToken
from service_core.access.oauth.ports import Grants
from service_core.access.roles import OAUTH_SCOPES
from service_core.access.signup.ports import By, Signups
from service_core.access.workspaces import Workspaces
from service_core.kernel.clock import Clock
from service_core.kernel.errors import Forbidden, Unauthorized
from service_core.kernel.ids import ACCESS_TOKEN, AGENT_TOKEN, SIGNUP_SECRET, digest, hint
from service_core.kernel.operations import Entry

LOOKUP_RATE: Final = 60
"""Attribution look-ups per minute and write key."""

ACCEPTED: Final[Mapping[Entry, tuple[re.Pattern[str], ...]]] = MappingProxyType(
    {
        Entry.PUBLIC: (),
        Entry.WRITE_KEY: (),
        Entry.KEY: (AGENT_TOKEN,),
        Entry.INTERNAL: (AGENT_TOKEN,),
        Entry.OAUTH: (ACCESS_TOKEN, AGENT_TOKEN),
        Entry.KEY_OR_OAUTH: (AGENT_TOKEN, ACCESS_TOKEN),
        Entry.SIGNUP: (SIGNUP_SECRET,),
        Entry.FILER: (AGENT_TOKEN, ACCESS_TOKEN, SIGNUP_SECRET),
    }
)
"""Entry -> forms of the bearer tokens it looks up; any other token is refused unseen."""


class Admission:
    """Finds who is behind a request, by what its route accepts.

    Args:
        authenticator: for keys, through its memory of 300 seconds.
        grants: for OAuth tokens, asked every time: an ended grant or a changed role counts at once.
        signups: for signup secrets.
        workspaces: the workspace of a paid signup.
        clock: gives the present.
        internal_token: what opens internal routes beside a key; without one they stay shut.
    """

    def __init__(
        self,
        authenticator: Authenticator,
        grants: Grants,
        signups: Signups,
        workspaces: Workspaces,
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

    async def admit(self, entry: Entry, headers: Mapping[str, str]) -> Identity | Applicant | None:
        """Who is asking; None where the route takes no credential.

        Args:
            entry: what the route accepts.
            headers: of the request, names in lower case.

        Raises:
            Unauthorized: nothing, or nothing that is accepted here.
        """
        if entry is Entry.PUBLIC:
            return None
        if entry is Entry.WRITE_KEY:
            return await self._writer(headers.get("x-service-api-key") or headers.get("x-api-key"))
        authorization = headers.get("authorization")
        token = bearer(authorization)
        if token is None or not any(form.fullmatch(token) for form in ACCEPTED[entry]):
            raise refused()
        if ACCESS_TOKEN.fullmatch(token):
            return await self.delegate(token)
        if SIGNUP_SECRET.fullmatch(token):
            return await self._applicant(token)
        return await self._authenticator.authenticate(authorization)

    def require_internal(self, entry: Entry, headers: Mapping[str, str]) -> None:
        """Refuse whoever is not of the deployment itself where a route is internal (contract 12).

        Raises:
            Forbidden: ``internal_credential_required``.
        """
        if entry is not Entry.INTERNAL:
            return
        sent = headers.get("x-internal-token", "").encode()
        if not self._internal_token or not hmac.compare_digest(sent, self._internal_token.encode()):
            raise Forbidden("This route is internal to the deployment", "internal_credential_required")

    async def delegate(self, token: str) -> Identity:
        """The person and program behind an OAuth access token, with what the person's role still allows.

        Raises:
            Unauthorized: unknown, expired, or its grant has ended.
        """
        found = await self._grants.access_token(digest(token)) if ACCESS_TOKEN.fullmatch(token) else None
        if found is None or self._clock() >= found.expires_at:
            raise refused()
        return _identity(found, token)

    async def _applicant(self, secret: str) -> Applicant:
        signup = await self._signups.find_signup(By.SECRET, digest(secret))
        if signup is None:
            raise refused()
        workspace = await self._workspaces.find(signup.workspace_id) if signup.workspace_id else None
        return Applicant(signup.id, workspace, self._clock())

    async def _writer(self, key: str | None) -> Identity:
        if not key:
            raise Unauthorized(
                "Missing API key. Please provide X-API-Key header or Authorization Bearer token."
            )
        identity = await self._authenticator.identify_write_key(key)
        if identity is None:
            raise Unauthorized("Invalid API key")
        return replace(identity, credential=replace(identity.credential, rate_limit=LOOKUP_RATE))


def require_oauth(entry: Entry, identity: Identity) -> None:
    """Refuse a key where only a person's consent counts.

    Raises:
        Forbidden: ``oauth_required``.
    """
    if entry is Entry.OAUTH and identity.delegate is None:
        raise Forbidden(
            "This needs an OAuth access token",
            "oauth_required",
            hint="Ask a person with POST /keys/requests, or authorize over OAuth.",
        )


def _identity(found: AccessToken, token: str) -> Identity:
    grant = found.grant
    credential = Credential(
        id=grant.id,
        workspace_id=grant.workspace_id,
        kind=CredentialKind.OAUTH,
        name=grant.client_name,
        scopes=grant.scopes & OAUTH_SCOPES[found.member.role],
        rate_limit=DEFAULT_RATE,
        hint=hint(token),
        created_at=grant.created_at,
    )
    return Identity(credential, found.workspace, Delegate(grant, found.account.email, found.member.role))
