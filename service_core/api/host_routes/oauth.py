"""The routes of the OAuth authorization server, on the root of the API host."""

from collections.abc import Mapping
from typing import Any, Final

from service_core.api.host_routes.models import (
    FORM,
    HTML,
    JSON,
    Content,
    Host,
    HostResponse,
    HostRoute,
    HostRoutes,
    ResponseStatus,
    Schema,
    query_parameter,
    reference,
)

_TAG: Final = "oauth"
_TEXT: Final = {"type": "string"}
_TEXTS: Final = {"type": "array", "items": _TEXT}
_URL: Final = {"type": "string", "format": "uri"}
_ROOT: Final = "https://touchpoint.example.com"
_CLIENT_ID: Final = "01927c3e-5b3a-7c1e-9d52-6f0a4b8c2d11"
_REDIRECT: Final = "https://client.example/callback"
_CHALLENGE: Final = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"

_SCHEMAS: Final[Mapping[str, Schema]] = {
    "OAuthError": {
        "title": "OAuthError",
        "type": "object",
        "required": ["error"],
        "properties": {
            "error": _TEXT | {"description": "A code of RFC 6749, 7591 or 8707."},
            "error_description": _TEXT,
        },
    },
    "ProtectedResourceMetadata": {
        "title": "ProtectedResourceMetadata",
        "type": "object",
        "description": "RFC 9728.",
        "required": ["resource", "authorization_servers"],
        "properties": {
            "resource": _URL,
            "authorization_servers": {"type": "array", "items": _URL},
            "scopes_supported": _TEXTS,
            "bearer_methods_supported": _TEXTS,
            "resource_name": _TEXT,
        },
    },
    "AuthorizationServerMetadata": {
        "title": "AuthorizationServerMetadata",
        "type": "object",
        "description": "RFC 8414.",
        "required": ["issuer", "authorization_endpoint", "token_endpoint"],
        "properties": {
            **dict.fromkeys(
                (
                    *("issuer", "authorization_endpoint", "token_endpoint"),
                    *("registration_endpoint", "revocation_endpoint"),
                ),
                _URL,
            ),
            **dict.fromkeys(
                (
                    *("scopes_supported", "response_types_supported", "response_modes_supported"),
                    *("grant_types_supported", "code_challenge_methods_supported"),
                    *("token_endpoint_auth_methods_supported", "revocation_endpoint_auth_methods_supported"),
                ),
                _TEXTS,
            ),
            "authorization_response_iss_parameter_supported": {"type": "boolean"},
        },
    },
    "ClientMetadata": {
        "title": "ClientMetadata",
        "type": "object",
        "description": "RFC 7591; other metadata is ignored.",
        "required": ["redirect_uris"],
        "properties": {
            "redirect_uris": {"type": "array", "items": _TEXT, "minItems": 1, "maxItems": 10},
            "client_name": _TEXT,
        },
        "additionalProperties": True,
    },
    "RegisteredClient": {
        "title": "RegisteredClient",
        "type": "object",
        "required": ["client_id", "redirect_uris"],
        "properties": {
            "client_id": _TEXT,
            "client_id_issued_at": {"type": "integer"},
            "client_name": _TEXT,
            "redirect_uris": _TEXTS,
            "grant_types": _TEXTS,
            "response_types": _TEXTS,
            "token_endpoint_auth_method": _TEXT,
        },
    },
    "TokenRequest": {
        "title": "TokenRequest",
        "type": "object",
        "required": ["grant_type", "client_id"],
        "properties": {
            "grant_type": {"type": "string", "enum": ["authorization_code", "refresh_token"]},
            "client_id": _TEXT,
            "code": _TEXT,
            "code_verifier": _TEXT,
            "redirect_uri": _TEXT,
            "refresh_token": _TEXT,
            "scope": _TEXT,
            "resource": _TEXT,
        },
    },
    "TokenResponse": {
        "title": "TokenResponse",
        "type": "object",
        "required": ["access_token", "token_type", "expires_in", "refresh_token", "scope"],
        "properties": {
            "access_token": _TEXT,
            "token_type": _TEXT,
            "expires_in": {"type": "integer"},
            "refresh_token": _TEXT,
            "scope": _TEXT,
        },
    },
    "RevocationRequest": {
        "title": "RevocationRequest",
        "type": "object",
        "properties": {"token": _TEXT, "token_type_hint": _TEXT, "client_id": _TEXT},
    },
}

_REGISTERED_EXAMPLE: Final = {
    "client_id": _CLIENT_ID,
    "client_id_issued_at": 1767225600,
    "client_name": "Example client",
    "redirect_uris": [_REDIRECT],
    "grant_types": ["authorization_code", "refresh_token"],
    "response_types": ["code"],
    "token_endpoint_auth_method": "none",
}
_TOKEN_EXAMPLE: Final = {
    "access_token": "oat_…",
    "token_type": "Bearer",
    "expires_in": 3600,
    "refresh_token": "ort_…",
    "scope": "service:read",
}
_RESOURCE_EXAMPLE: Final = {
    "resource": f"{_ROOT}/mcp",
    "authorization_servers": [_ROOT],
    "scopes_supported": ["service:read"],
    "bearer_methods_supported": ["header"],
    "resource_name": "Touchpoint",
}
_SERVER_EXAMPLE: Final = {
    "issuer": _ROOT,
    "authorization_endpoint": f"{_ROOT}/oauth/authorize",
    "token_endpoint": f"{_ROOT}/oauth/token",
    "registration_endpoint": f"{_ROOT}/oauth/register",
    "revocation_endpoint": f"{_ROOT}/oauth/revoke",
    "scopes_supported": ["service:read"],
    "response_types_supported": ["code"],
    "code_challenge_methods_supported": ["S256"],
}

_ERRORS: Final[Mapping[ResponseStatus, tuple[str, str]]] = {
    400: ("The request is malformed.", "invalid_request"),
    401: ("The client is unknown.", "invalid_client"),
    405: ("The path exists, but not for this method.", "Method not allowed"),
    408: ("The body did not arrive within 30 seconds.", "invalid_request"),
    413: ("The body is too large.", "invalid_request"),
    429: ("More than 10 registrations within an hour.", "slow_down"),
    503: ("A store does not answer: retry.", "temporarily_unavailable"),
    "default": ("Another error.", "invalid_request"),
}


def _error_responses(*statuses: ResponseStatus) -> dict[ResponseStatus, HostResponse]:
    return {
        status: HostResponse(
            _ERRORS[status][0], (Content(JSON, reference("OAuthError"), {"error": _ERRORS[status][1]}),)
        )
        for status in statuses
    }


def _metadata_route(path: str, id_: str, summary: str, schema: str, example: Any) -> HostRoute:
    metadata = HostResponse("The metadata.", (Content(JSON, reference(schema), example),))
    return HostRoute(
        "GET", path, Host.API, id_, _TAG, summary,
        "Public; clients read it to find the endpoints and scopes.",
        {200: metadata, **_error_responses(405)},
    )  # fmt: skip


def _form_post_route(
    path: str, id_: str, text: tuple[str, str], *, body: Content, answer: Content
) -> HostRoute:
    """Returns the route of a form; the text is its summary and its description."""
    return HostRoute(
        "POST", path, Host.API, id_, _TAG, *text,
        {
            200: HostResponse("The request was handled.", (answer,)),
            **_error_responses(400, 401, 405, 408, 413, 503),
        },
        body=body,
    )  # fmt: skip


_AUTHORIZATION_PARAMETERS: Final = (
    query_parameter("response_type", "Always `code`.", "code", required=True),
    query_parameter("client_id", "Id of a registered client.", _CLIENT_ID, required=True),
    query_parameter("redirect_uri", "A registered address of the client.", _REDIRECT, required=True),
    query_parameter("code_challenge", "PKCE challenge (RFC 7636).", _CHALLENGE, required=True),
    query_parameter("code_challenge_method", "Always `S256`.", "S256", required=True),
    query_parameter("scope", "Scopes, separated by spaces; `service:read` when missing.", "service:read"),
    query_parameter("state", "Returned unchanged.", "af0ifjsldkj"),
    query_parameter("resource", "The resource the token is for (RFC 8707).", f"{_ROOT}/mcp"),
)

_ROUTES: Final = (
    _metadata_route(
        "/.well-known/oauth-protected-resource", "get_protected_resource_metadata",
        "Return the metadata of the protected resource", "ProtectedResourceMetadata", _RESOURCE_EXAMPLE,
    ),
    _metadata_route(
        "/.well-known/oauth-protected-resource/mcp", "get_mcp_resource_metadata",
        "Return the metadata of the MCP endpoint", "ProtectedResourceMetadata", _RESOURCE_EXAMPLE,
    ),
    _metadata_route(
        "/.well-known/oauth-authorization-server", "get_authorization_server_metadata",
        "Return the metadata of the authorization server", "AuthorizationServerMetadata", _SERVER_EXAMPLE,
    ),
    HostRoute(
        "POST", "/oauth/register", Host.API, "register_client", _TAG,
        "Register a client",
        "Dynamic registration of a public client (RFC 7591); at most 10 an hour from one network.",
        {
            201: HostResponse("The client.", (Content(JSON, reference("RegisteredClient"), _REGISTERED_EXAMPLE),)),
            **_error_responses(400, 405, 408, 413, 429, 503),
        },
        body=Content(
            JSON, reference("ClientMetadata"), {"client_name": "Example client", "redirect_uris": [_REDIRECT]}
        ),
    ),
    HostRoute(
        "GET", "/oauth/authorize", Host.API, "authorize_client", _TAG,
        "Start an authorization",
        "Redirects a person to the consent page, or back to the client with an error. Errors of the client itself are "
        "shown to the person.",
        {
            302: HostResponse(
                "The consent page, or the client with an error.", headers={"Location": "Where to go on."}
            ),
            **_error_responses(405, 503, "default"),
            400: HostResponse(
                "The client or its address is unknown.",
                (
                    Content(JSON, reference("OAuthError"), {"error": "invalid_client"}),
                    Content(HTML, _TEXT, "<!doctype html><title>Not possible</title>"),
                ),
            ),
        },
        parameters=_AUTHORIZATION_PARAMETERS,
    ),
    _form_post_route(
        "/oauth/token", "exchange_token",
        ("Exchange a code or a refresh token", "Both work once; a second use ends the grant."),
        body=Content(
            FORM, reference("TokenRequest"),
            {
                "grant_type": "authorization_code", "client_id": _CLIENT_ID, "code": "oac_…",
                "code_verifier": "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk", "redirect_uri": _REDIRECT,
            },
        ),
        answer=Content(JSON, reference("TokenResponse"), _TOKEN_EXAMPLE),
    ),
    _form_post_route(
        "/oauth/revoke", "revoke_token",
        ("Revoke a token", "Ends the whole grant. Answers 200 for any token (RFC 7009)."),
        body=Content(FORM, reference("RevocationRequest"), {"token": "ort_…", "client_id": _CLIENT_ID}),
        answer=Content(JSON, {"type": "object"}, {}),
    ),
)  # fmt: skip

OAUTH_ROUTES: Final = HostRoutes(_ROUTES, _SCHEMAS)
"""The routes of the OAuth authorization server."""
