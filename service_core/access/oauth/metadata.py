"""The addresses of the authorization server and of what it protects, and the two documents that tell them."""

from dataclasses import dataclass
from typing import Final

from service_core.kernel.operations import Scope

SCOPE_NAMES: Final = tuple(scope.value for scope in Scope)


@dataclass(frozen=True, slots=True)
class ServerMetadata:
    """A deployment as OAuth sees it.

    Attributes:
        root_url: the issuer, without a slash at its end.
    """

    root_url: str

    @property
    def resource(self) -> str:
        """What access tokens are for."""
        return f"{self.root_url}/mcp"

    def is_own_resource(self, named: str | None) -> bool:
        """Whether ``resource`` of a request names this deployment; leaving it out does (RFC 8707)."""
        return named is None or named.rstrip("/") in {self.root_url, self.resource}

    def protected_resource_metadata(self) -> dict[str, object]:
        """RFC 9728."""
        return {
            "resource": self.resource,
            "authorization_servers": [self.root_url],
            "scopes_supported": SCOPE_NAMES,
            "bearer_methods_supported": ["header"],
            "resource_name": "Touchpoint",
        }

    def authorization_server_metadata(self) -> dict[str, object]:
        """RFC 8414."""
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
        }
