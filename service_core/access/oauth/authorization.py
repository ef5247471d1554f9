"""The authorization endpoint: validates requests and returns the person's decision to the client."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from service_core.access.members.models import Member
from service_core.access.models import OAuthGrant
from service_core.access.oauth.client_metadata import ClientMetadataDocuments, is_client_metadata_url
from service_core.access.oauth.metadata import ServerMetadata
from service_core.access.oauth.models import (
    CODE_LIFETIME,
    ErrorRedirect,
    OAuthClient,
    OAuthError,
    OneTimeToken,
    OneTimeTokenKind,
)
from service_core.access.oauth.ports import OAuthClients, OneTimeTokens
from service_core.access.oauth.redirect_uris import (
    add_query_parameters,
    matches_registered_uri_ignoring_loopback_port,
)
from service_core.access.roles import ROLE_OAUTH_SCOPES
from service_core.kernel.clock import Clock
from service_core.kernel.ids import new_id, new_token, sha256_hex
from service_core.kernel.operations import Scope

CODE_PREFIX: Final = "oac_"
MAX_STATE_LENGTH: Final = 2000

_CODE_CHALLENGE_PATTERN: Final = re.compile(r"[A-Za-z0-9_-]{43}")
_CLIENT_ID_PATTERN: Final = re.compile(r"[0-9a-f-]{36}")


@dataclass(frozen=True, slots=True)
class AuthorizationRequest:
    """A validated authorization request.

    Attributes:
        scopes: the requested scopes; the person's role decides which of them can be granted.
    """

    client: OAuthClient
    redirect_uri: str
    scopes: frozenset[Scope]
    code_challenge: str
    state: str | None

    def grantable_scopes(self, member: Member) -> frozenset[Scope]:
        """Returns the requested scopes that this member can grant."""
        return self.scopes & ROLE_OAUTH_SCOPES[member.role]

    def choosable_scopes(self, member: Member) -> frozenset[Scope]:
        """Returns the scopes of which this member can choose: the grantable ones, and totals instead of all reads."""
        grantable = self.grantable_scopes(member)
        return grantable | {Scope.READ_AGGREGATES} if Scope.READ in grantable else grantable


class AuthorizationEndpoint:
    """Validates authorization requests and answers them. Consent is asked for each request.

    Args:
        clients: the registered clients.
        documents: clients that publish their metadata.
        tokens: the store of authorization codes.
        metadata: the metadata of this deployment.
        clock: current time.
    """

    def __init__(
        self,
        clients: OAuthClients,
        documents: ClientMetadataDocuments,
        tokens: OneTimeTokens,
        metadata: ServerMetadata,
        clock: Clock,
    ) -> None:
        self._clients = clients
        self._documents = documents
        self._tokens = tokens
        self._metadata = metadata
        self._clock = clock

    async def parse_and_validate_request(
        self, query_pairs: Iterable[tuple[str, str]]
    ) -> AuthorizationRequest:
        """Returns the validated authorization request of query parameters.

        Raises:
            OAuthError: the client or its redirect URI is invalid, so the browser is not redirected.
            ErrorRedirect: any other error; it is reported to the client's redirect URI.
        """
        parameters = list(query_pairs)
        values = {name: value for name, value in parameters if value}
        repeated = {name for name, _ in parameters if sum(name == other for other, _ in parameters) > 1}
        client = await self._find_client_if_id_well_formed(values.get("client_id"))
        redirect = values.get("redirect_uri")
        if client is None or repeated & {"client_id", "redirect_uri"}:
            raise OAuthError("invalid_client", "This program is not registered here")
        if redirect is None or not matches_registered_uri_ignoring_loopback_port(
            redirect, client.redirect_uris
        ):
            raise OAuthError(
                "invalid_request", "The program asks to be answered at an address it did not register"
            )
        state = values.get("state", "")[:MAX_STATE_LENGTH] or None
        if repeated:
            raise self.build_error_redirect(redirect, state, "invalid_request", "A parameter is repeated")
        return AuthorizationRequest(
            client,
            redirect,
            self._validate_parameters_and_parse_scopes(values, redirect, state),
            values["code_challenge"],
            state,
        )

    def build_error_redirect(
        self, redirect_uri: str, state: str | None, error: str, description: str
    ) -> ErrorRedirect:
        """Returns the redirect that reports an error to the client."""
        return ErrorRedirect(
            self._redirect_url_with_state_and_issuer(
                redirect_uri, state, {"error": error, "error_description": description}
            )
        )

    async def grant_scopes_and_return_code_redirect(
        self,
        request: AuthorizationRequest,
        approving_member: Member,
        chosen_scopes: frozenset[Scope],
        *,
        requires_plan: bool = False,
    ) -> str:
        """Grants the client the chosen scopes that the member can grant, in the member's workspace.

        Earlier grants of the member to the client in this workspace lose what was not chosen now. They are not ended:
        the client may be installed on several devices.

        Args:
            request: the validated request.
            approving_member: the person who consents.
            chosen_scopes: what the person chose; others than those that can be granted are ignored.
            requires_plan: whether the client has to plan each write.

        Returns:
            The redirect URL, with an authorization code that is valid for 60 seconds.

        Raises:
            ErrorRedirect: none of the requested scopes is chosen and allowed to the role.
        """
        scopes = chosen_scopes & request.choosable_scopes(approving_member)
        if Scope.READ in scopes:
            scopes -= {Scope.READ_AGGREGATES}
        if not scopes:
            raise self.build_error_redirect(
                request.redirect_uri, request.state, "access_denied", "The role allows none of the scopes"
            )
        now = self._clock()
        grant = OAuthGrant(
            id=new_id(),
            account_id=approving_member.account_id,
            client_id=request.client.id,
            client_name=request.client.name,
            workspace_id=approving_member.workspace_id,
            scopes=scopes,
            created_at=now,
            requires_plan=requires_plan,
        )
        code = new_token(CODE_PREFIX)
        token = OneTimeToken(
            OneTimeTokenKind.CODE, grant, now + CODE_LIFETIME, request.redirect_uri, request.code_challenge
        )
        await self._tokens.add_grant_and_narrow_earlier_grants(token, sha256_hex(code))
        return self._redirect_url_with_state_and_issuer(request.redirect_uri, request.state, {"code": code})

    def _validate_parameters_and_parse_scopes(
        self, values: dict[str, str], redirect_uri: str, state: str | None
    ) -> frozenset[Scope]:
        """Returns the requested scopes after validating the remaining parameters."""
        if values.get("response_type") != "code":
            raise self.build_error_redirect(
                redirect_uri, state, "unsupported_response_type", "response_type must be code"
            )
        if values.get("code_challenge_method") != "S256" or not _CODE_CHALLENGE_PATTERN.fullmatch(
            values.get("code_challenge", "")
        ):
            raise self.build_error_redirect(
                redirect_uri, state, "invalid_request", "PKCE with code_challenge_method=S256 is required"
            )
        if not self._metadata.is_own_resource(values.get("resource")):
            raise self.build_error_redirect(
                redirect_uri, state, "invalid_target", "resource names another service"
            )
        try:
            return parse_scopes_or_default_to_read(values.get("scope"))
        except OAuthError as fault:
            raise self.build_error_redirect(redirect_uri, state, fault.error, fault.description) from None

    async def _find_client_if_id_well_formed(self, client_id: str | None) -> OAuthClient | None:
        """Returns the registered client with this id, or the client whose metadata document lies at this address.

        Raises:
            OAuthError: ``invalid_client``: the document does not describe a client accepted here.
        """
        if client_id and _CLIENT_ID_PATTERN.fullmatch(client_id):
            return await self._clients.find_client(client_id)
        if client_id and is_client_metadata_url(client_id):
            return await self._documents.find_client(client_id)
        return None

    def _redirect_url_with_state_and_issuer(
        self, redirect_uri: str, state: str | None, parameters: dict[str, str]
    ) -> str:
        state_parameter = {} if state is None else {"state": state}
        return add_query_parameters(
            redirect_uri, {**parameters, **state_parameter, "iss": self._metadata.root_url}
        )


def parse_scopes_or_default_to_read(space_separated: str | None) -> frozenset[Scope]:
    """Returns the scopes of a space-separated list; the read scope if it is missing.

    Raises:
        OAuthError: ``invalid_scope``.
    """
    known = {scope.value: scope for scope in Scope}
    requested = (space_separated or Scope.READ.value).split()
    if not requested or not set(requested) <= known.keys():
        raise OAuthError("invalid_scope", f"Known scopes: {' '.join(known)}")
    return frozenset(known[name] for name in requested)
