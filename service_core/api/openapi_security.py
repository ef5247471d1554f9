"""OpenAPI security schemes for the credentials of endpoints."""

from collections.abc import Mapping
from typing import Any, Final

from service_core.kernel.operations import CredentialRequirement

_BEARER_DESCRIPTIONS: Final = {
    "key": "Agent key or named key, `dk_agent_…`.",
    "oauth": "OAuth access token, `oat_…`.",
    "signup": "Secret of the signup, `dl_signup_…`.",
}

SECURITY_SCHEMES: Final[Mapping[str, Any]] = {
    **{
        name: {"type": "http", "scheme": "bearer", "description": text}
        for name, text in _BEARER_DESCRIPTIONS.items()
    },
    "write_key": {
        "type": "apiKey",
        "in": "header",
        "name": "X-Service-API-Key",
        "description": "Write key, `dk_…`; `X-API-Key` is accepted too.",
    },
    "internal": {
        "type": "apiKey",
        "in": "header",
        "name": "X-Internal-Token",
        "description": "The deployment's own token, `http.internal_token`.",
    },
}
"""All security schemes."""

SCHEMES_BY_REQUIREMENT: Final[Mapping[CredentialRequirement, tuple[str, ...]]] = {
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

ADDITIONAL_SCHEMES: Final[Mapping[CredentialRequirement, tuple[str, ...]]] = {
    CredentialRequirement.INTERNAL: ("internal",)
}
"""Credential requirement to the schemes that are required in addition."""
