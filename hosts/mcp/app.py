"""`POST /mcp`: authentication and the checks of a message before it is parsed."""

from typing import Final
from urllib.parse import urlsplit

from quart import Blueprint, request
from quart import Response as Answer

from hosts.client_address import ClientAddressResolver
from hosts.composition.compose import Service
from hosts.composition.json_codec import CODEC
from hosts.http.app import body_timeout_response, read_body_and_drain_excess, to_quart_response
from hosts.mcp.server import PROTOCOL_VERSIONS, McpServer
from service_core.access.key_authentication import parse_bearer_token
from service_core.access.models import AuthContext
from service_core.access.oauth.metadata import ServerMetadata
from service_core.access.request_authentication import RequestAuthenticator
from service_core.access.scopes import require_scope
from service_core.api.dispatch import MAX_BODY_BYTES
from service_core.api.http_messages import ApiResponse
from service_core.api.render import PREFLIGHT_RESPONSE, json_response_with_default_headers
from service_core.kernel.errors import (
    ApiError,
    BadRequest,
    Forbidden,
    MethodNotAllowed,
    PayloadTooLarge,
    Unauthorized,
)
from service_core.kernel.operations import Scope

_ALLOWED_METHODS: Final = ("POST", "OPTIONS")
_PREFLIGHT: Final = ApiResponse(
    204,
    {
        **PREFLIGHT_RESPONSE.headers,
        "Access-Control-Allow-Methods": ", ".join(_ALLOWED_METHODS),
        "Access-Control-Allow-Headers": "Authorization, Content-Type, MCP-Protocol-Version",
    },
)
_ALL_METHODS: Final = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
_LOOPBACK_HOSTS: Final = frozenset({"localhost", "127.0.0.1", "::1"})


def create_mcp_blueprint(service: Service, addresses: ClientAddressResolver) -> Blueprint:
    """Returns the blueprint of the MCP server.

    Args:
        service: the composed deployment.
        addresses: finds the client behind trusted proxies.
    """
    endpoint = _McpEndpoint(service, addresses)
    blueprint = Blueprint("mcp", __name__)
    blueprint.add_url_rule(
        "/mcp", "mcp", endpoint.answer_current_request, methods=_ALL_METHODS, provide_automatic_options=False
    )
    return blueprint


class _McpEndpoint:
    """The endpoint in front of the server."""

    def __init__(self, service: Service, addresses: ClientAddressResolver) -> None:
        self._server = McpServer(service)
        self._admission = service.component(RequestAuthenticator)
        self._addresses = addresses
        http = service.settings.http
        self._own = {urlsplit(http.effective_api_url).netloc, urlsplit(http.effective_app_url).netloc}
        about = f"{service.component(ServerMetadata).root_url}/.well-known/oauth-protected-resource"
        self._challenge = f'Bearer resource_metadata="{about}"'

    async def answer_current_request(self) -> Answer:
        """Answers the current request."""
        if request.method == "OPTIONS":
            return to_quart_response(_PREFLIGHT)
        try:
            return to_quart_response(await self._authenticate_and_answer_post())
        except ApiError as refusal:
            return to_quart_response(
                json_response_with_default_headers(CODEC, refusal.status, refusal.body(), refusal.headers)
            )
        except TimeoutError:
            return body_timeout_response()

    async def _authenticate_and_answer_post(self) -> ApiResponse:
        if request.method != "POST":
            raise MethodNotAllowed(_ALLOWED_METHODS)
        self._require_own_or_loopback_origin(request.headers.get("Origin"))
        identity = await self._authenticate_reader_or_challenge()
        version = request.headers.get("MCP-Protocol-Version", PROTOCOL_VERSIONS[0])
        if version not in PROTOCOL_VERSIONS:
            raise BadRequest(
                f"This version of MCP is not spoken here; {' and '.join(PROTOCOL_VERSIONS)} are",
                "invalid_parameter",
                field="MCP-Protocol-Version",
            )
        body = await read_body_and_drain_excess()
        if len(body) > MAX_BODY_BYTES:
            raise PayloadTooLarge("Payload too large. Maximum size is 1MB.", "payload_too_large")
        peer = request.scope.get("client")
        client = self._addresses.resolve_nearest_untrusted(peer and peer[0], request.scope["headers"])
        return await self._server.answer_message(body, identity, client)

    def _require_own_or_loopback_origin(self, origin: str | None) -> None:
        """Refuses requests of foreign pages, which DNS rebinding could lead here.

        Raises:
            Forbidden: a browser says that a page asks which is neither ours nor on its own machine.
        """
        if origin is None:
            return
        try:
            parts = urlsplit(origin)
            known = parts.netloc in self._own or parts.hostname in _LOOPBACK_HOSTS
        except ValueError:
            known = False
        if not known:
            raise Forbidden("Origin not allowed")

    async def _authenticate_reader_or_challenge(self) -> AuthContext:
        """Returns the identity of the access token.

        Raises:
            Unauthorized: no token, or one that works no more; the challenge says where to get one.
            Forbidden: ``insufficient_scope``.
        """
        try:
            identity = await self._admission.authenticate_unexpired_oauth_token(
                parse_bearer_token(request.headers.get("Authorization")) or ""
            )
            require_scope(identity, Scope.READ)
        except Unauthorized as refused:
            raise Unauthorized(refused.message, headers={"WWW-Authenticate": self._challenge}) from None
        except Forbidden as refused:
            needed = f'{self._challenge}, error="insufficient_scope", scope="{Scope.READ.value}"'
            headers = {"WWW-Authenticate": needed}
            raise Forbidden(refused.message, refused.code, headers=headers, extra=refused.extra) from None
        return identity
