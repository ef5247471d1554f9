"""`POST /mcp`: authentication and the checks of a message before it is parsed."""

from collections.abc import AsyncIterator
from dataclasses import replace
from functools import partial
from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

from quart import Blueprint, request
from quart import Response as Answer

from hosts.client_address import ClientAddressResolver
from hosts.composition.compose import Service
from hosts.composition.json_codec import CODEC
from hosts.http.app import body_timeout_response, read_body_and_drain_excess, to_quart_response
from hosts.mcp.compact_tools import CompactToolSet
from hosts.mcp.features import McpFeatures
from hosts.mcp.prompts import build_prompt_features
from hosts.mcp.resources import RESULT_TEMPLATE, llms_txt_entry, read_llms_txt
from hosts.mcp.server import McpServer
from hosts.mcp.tool_sets import FullToolSet
from hosts.mcp.tools import build_tools_of_v1_key_operations
from service_core.access.key_authentication import parse_bearer_token
from service_core.access.models import AuthContext
from service_core.access.oauth.metadata import ServerMetadata
from service_core.access.request_authentication import RequestAuthenticator
from service_core.access.scopes import READ_SCOPES, require_scope
from service_core.api.dispatch import MAX_BODY_BYTES
from service_core.api.http_messages import ApiResponse
from service_core.api.render import PREFLIGHT_RESPONSE, json_response_with_default_headers
from service_core.documentation.site import Documentation
from service_core.kernel.errors import (
    ApiError,
    Forbidden,
    MethodNotAllowed,
    MisdirectedRequest,
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
        "Access-Control-Allow-Headers": "Authorization, Content-Type, MCP-Protocol-Version, Mcp-Method, Mcp-Name, Mcp-Tools",
    },
)
_TOOLS_PARAMETER: Final = "tools"
_TOOLS_HEADER: Final = "Mcp-Tools"
"""Header by which a client chooses the tools where its address has no parameter."""

_READ_TOOLS: Final = "read"
"""Value of ``?tools=`` for an address that has reads only."""

_COMPACT_TOOLS: Final = "compact"
"""Value of ``?tools=`` for an address with a dozen tools of few words."""

_ALL_METHODS: Final = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
_REJECTED_FIELDS: Final = (
    'error="invalid_token", error_description="The access token is unknown, expired or revoked"'
)
_LOOPBACK_HOSTS: Final = frozenset({"localhost", "127.0.0.1", "::1"})


def create_mcp_blueprint(
    service: Service, addresses: ClientAddressResolver, features: McpFeatures | None = None
) -> Blueprint:
    """Returns the blueprint of the MCP server.

    Args:
        service: the composed deployment.
        addresses: finds the client behind trusted proxies.
        features: what the deployment adds to the operations; None for nothing.
    """
    endpoint = _McpEndpoint(service, addresses, features or McpFeatures())
    blueprint = Blueprint("mcp", __name__)
    blueprint.add_url_rule(
        "/mcp", "mcp", endpoint.answer_current_request, methods=_ALL_METHODS, provide_automatic_options=False
    )
    return blueprint


class _McpEndpoint:
    """The endpoint in front of the server."""

    def __init__(self, service: Service, addresses: ClientAddressResolver, features: McpFeatures) -> None:
        tools = build_tools_of_v1_key_operations(service.registry.operations)
        features = _add_prompts_and_resources(features, service.component(Documentation))
        self._server = McpServer(service, features, FullToolSet(tools))
        self._servers = {
            _READ_TOOLS: McpServer(
                service, features.without_write_tools(), FullToolSet(tool for tool in tools if tool.is_read)
            ),
            _COMPACT_TOOLS: McpServer(service, replace(features, tools={}), CompactToolSet(tools)),
        }
        self._admission = service.component(RequestAuthenticator)
        self._addresses = addresses
        http = service.settings.http
        own_urls = [urlsplit(url) for url in (http.effective_api_url, http.effective_app_url)]
        self._own = {url.netloc for url in own_urls}
        self._own_hosts = {url.hostname for url in own_urls}
        about = f"{service.component(ServerMetadata).root_url}/.well-known/oauth-protected-resource"
        self._resource_metadata = f'Bearer resource_metadata="{about}"'
        self._challenge = f'{self._resource_metadata}, scope="{Scope.READ.value}"'

    async def answer_current_request(self) -> Answer:
        """Answers the current request."""
        if request.method == "OPTIONS":
            return to_quart_response(_PREFLIGHT)
        try:
            answer = await self._authenticate_and_answer_post()
            return to_quart_response(answer) if isinstance(answer, ApiResponse) else _event_stream(answer)
        except ApiError as refusal:
            return to_quart_response(
                json_response_with_default_headers(CODEC, refusal.status, refusal.body(), refusal.headers)
            )
        except TimeoutError:
            return body_timeout_response()

    async def _authenticate_and_answer_post(self) -> ApiResponse | AsyncIterator[bytes]:
        if request.method != "POST":
            raise MethodNotAllowed(_ALLOWED_METHODS)
        self._check_host(request.headers.get("Host", ""))
        self._require_own_or_loopback_origin(request.headers.get("Origin"))
        identity = await self._authenticate_reader_or_challenge()
        body = await read_body_and_drain_excess()
        if len(body) > MAX_BODY_BYTES:
            raise PayloadTooLarge("Payload too large. Maximum size is 1MB.", "payload_too_large")
        peer = request.scope.get("client")
        client = self._addresses.resolve_nearest_untrusted(peer and peer[0], request.scope["headers"])
        try:
            chosen = request.args.get(_TOOLS_PARAMETER) or request.headers.get(_TOOLS_HEADER, "")
            server = self._servers.get(chosen, self._server)
            return await server.answer_message(body, identity, client, _joined_headers())
        except Forbidden as refused:
            raise self._with_challenge_for_missing_scope(refused, identity) from None

    def _with_challenge_for_missing_scope(self, refused: Forbidden, identity: AuthContext) -> Forbidden:
        """Returns the refusal with a challenge for the scopes of the token and the missing one (RFC 6750, 9728)."""
        wanted = {scope.value for scope in identity.credential.scopes} | {refused.extra["required_scope"]}
        scopes = " ".join(scope.value for scope in Scope if scope.value in wanted)
        challenge = f'{self._resource_metadata}, scope="{scopes}", error="insufficient_scope"'
        headers = {"WWW-Authenticate": f'{challenge}, error_description="{refused.message}"'}
        return Forbidden(refused.message, refused.code, headers=headers, extra=refused.extra)

    def _check_host(self, host: str) -> None:
        """Refuses requests that DNS rebinding may have led here.

        That attack needs a public name. So own names, IP addresses and names without a dot are let in.

        Raises:
            MisdirectedRequest: any other name.
        """
        try:
            name = urlsplit(f"//{host}").hostname or ""
        except ValueError:
            name = "."
        if name not in self._own_hosts and "." in name and not _is_ip_address(name):
            raise MisdirectedRequest("This host name is not served here")

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
        token = parse_bearer_token(request.headers.get("Authorization"))
        try:
            identity = await self._admission.authenticate_unexpired_oauth_token(token or "")
            if not READ_SCOPES & identity.credential.scopes:
                require_scope(identity, Scope.READ)
        except Unauthorized as refused:
            problem = f", {_REJECTED_FIELDS}" if token else ""
            headers = {"WWW-Authenticate": self._challenge + problem}
            raise Unauthorized(refused.message, headers=headers) from None
        except Forbidden as refused:
            headers = {"WWW-Authenticate": f'{self._challenge}, error="insufficient_scope"'}
            raise Forbidden(refused.message, refused.code, headers=headers, extra=refused.extra) from None
        return identity


def _add_prompts_and_resources(features: McpFeatures, documentation: Documentation) -> McpFeatures:
    return features.add_builtin(
        build_prompt_features(),
        [llms_txt_entry(documentation)],
        [RESULT_TEMPLATE],
        partial(read_llms_txt, documentation),
    )


def _event_stream(events: AsyncIterator[bytes]) -> Answer:
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no", "Access-Control-Allow-Origin": "*"}
    answer = Answer(events, 200, headers, mimetype="text/event-stream")
    answer.timeout = None
    return answer


def _joined_headers() -> dict[str, str]:
    """Returns the headers of the request by lower-case name; a repeated one has all its values."""
    joined: dict[str, str] = {}
    for name, value in request.headers.items():
        key, text = name.lower(), value.strip()
        joined[key] = f"{joined[key]}, {text}" if key in joined else text
    return joined


def _is_ip_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True
