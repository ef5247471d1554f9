"""Issuer and resource identifiers, and the two metadata documents of the authorization server."""

from dataclasses import dataclass
from typing import Final

from service_core.kernel.operations import Scope

SCOPE_NAMES: Final = tuple(scope.value for scope in Scope)


@dataclass(frozen=True, slots=True)
class ServerMetadata:
    """The deployment as an OAuth authorization server.

    Attributes:
        root_url: the issuer, without a trailing slash.
    """

    root_url: str

    @property
    def resource(self) -> str:
        """The resource identifier that access tokens are issued for."""
        return f"{self.root_url}/mcp"

    def is_own_resource(self, resource: str | None) -> bool:
        """Returns whether the ``resource`` parameter names this deployment; so does a missing one (RFC 8707)."""
        return resource is None or resource.rstrip("/") in {self.root_url, self.resource}

    def protected_resource_metadata(self) -> dict[str, object]:
        """Returns the protected resource metadata (RFC 9728)."""
        return {
            "resource": self.resource,
            "authorization_servers": [self.root_url],
            "scopes_supported": SCOPE_NAMES,
            "bearer_methods_supported": ["header"],
            "resource_name": "Touchpoint",
        }

    def authorization_server_metadata(self) -> dict[str, object]:
        """Returns the authorization server metadata (RFC 8414)."""
        return {
            "issuer": self.root_url,
            "authorization_endpoint": f"{self.root_url}/oauth/authorize",
            "token_endpoint": f"{self.root_url}/oauth/token",
            "registration_endpoint": f"{self.root_url}/oauth/register",
            "revocation_endpoint": f"{self.root_url}/oauth/revoke",
            "scopes_supported": SCOPE_NAMES,
            "response_types_supported": ["code"],
            "response_modes_supported": ["query"],
            "grant_types_supported": ["authorization_code", "refresh_token"],
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": ["none"],
            "revocation_endpoint_auth_methods_supported": ["none"],
            "authorization_response_iss_parameter_supported": True,
            "client_id_metadata_document_supported": True,
        }
