"""OpenAPI security schemes for the credentials of endpoints."""

from collections.abc import Mapping
from typing import Any, Final

from service_core.kernel.operations import CredentialRequirement, Operation, Scope

_BEARER_DESCRIPTIONS: Final = {
    "key": "Agent key or named key, `dk_agent_…`.",
    "signup": "Secret of the signup, `dl_signup_…`.",
    "ingest_bearer": "Write key, `dk_…`.",
}

_HEADER_KEYS: Final = {
    "ingest_key": ("X-API-Key", "Write key, `dk_…`."),
    "write_key": ("X-Service-API-Key", "Write key, `dk_…`; `X-API-Key` is accepted too."),
    "internal": ("X-Internal-Token", "The deployment's own token, `http.internal_token`."),
}
"""Security scheme to the header of its key and a description."""

_SCOPE_DESCRIPTIONS: Final[Mapping[Scope, str]] = {
    Scope.READ: "Read reports, events and settings.",
    Scope.READ_AGGREGATES: "Read totals only: no persons, raw events, custom properties or exports.",
    Scope.WRITE_RULES: "Change conversion rules.",
    Scope.WRITE_LINKS: "Change trackable links.",
    Scope.WRITE_REPORTS: "Change reports, dashboards, analyses and share links.",
    Scope.PROPOSE_SCRIPTS: "Propose scripts; a person approves them.",
}

_SCHEMES_BY_REQUIREMENT: Final[Mapping[CredentialRequirement, tuple[str, ...]]] = {
    CredentialRequirement.PUBLIC: (),
    CredentialRequirement.KEY: ("key",),
    CredentialRequirement.OAUTH: ("oauth",),
    CredentialRequirement.KEY_OR_OAUTH: ("key", "oauth"),
    CredentialRequirement.SIGNUP: ("signup",),
    CredentialRequirement.KEY_REQUESTER: ("key", "oauth", "signup"),
    CredentialRequirement.WRITE_KEY: ("write_key",),
    CredentialRequirement.INTERNAL: ("key",),
}
"""Credential requirement to the schemes of which one is required."""

_ADDITIONAL_SCHEMES: Final[Mapping[CredentialRequirement, tuple[str, ...]]] = {
    CredentialRequirement.INTERNAL: ("internal",)
}
"""Credential requirement to the schemes that are required in addition."""


def describe_security_schemes(public_url: str) -> dict[str, Any]:
    """Returns all security schemes.

    Args:
        public_url: root URL of the deployment, without a trailing slash.
    """
    authorization_code = {
        "authorizationUrl": f"{public_url}/oauth/authorize",
        "tokenUrl": f"{public_url}/oauth/token",
        "refreshUrl": f"{public_url}/oauth/token",
        "scopes": {scope.value: text for scope, text in _SCOPE_DESCRIPTIONS.items()},
    }
    return {
        **{
            name: {"type": "http", "scheme": "bearer", "description": text}
            for name, text in _BEARER_DESCRIPTIONS.items()
        },
        **{
            name: {"type": "apiKey", "in": "header", "name": header, "description": text}
            for name, (header, text) in _HEADER_KEYS.items()
        },
        "oauth": {
            "type": "oauth2",
            "description": "OAuth access token, `oat_…`, sent as a bearer token.",
            "flows": {"authorizationCode": authorization_code},
        },
    }


def describe_required_credentials(op: Operation) -> list[dict[str, list[str]]]:
    """Returns the security requirements of an operation: one of them is needed.

    Only OAuth lists scopes, as keys have no scopes in OpenAPI; `x-required-scope` names the scope for both.
    """
    scopes = [op.scope.value] if isinstance(op.scope, Scope) else []
    additional: dict[str, list[str]] = {scheme: [] for scheme in _ADDITIONAL_SCHEMES.get(op.credential, ())}
    return [
        {scheme: scopes if scheme == "oauth" else [], **additional}
        for scheme in _SCHEMES_BY_REQUIREMENT[op.credential]
    ]
