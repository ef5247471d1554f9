"""Routes of the OAuth authorization server on the root of the API host."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Final

import orjson
from quart import Blueprint, Response, request

from hosts.client_address import ClientAddressResolver
from hosts.composition.compose import Service
from hosts.web.forms import (
    drop_unstorable_characters,
    read_body_or_refuse_large_or_slow,
    read_sanitized_form_pairs,
)
from hosts.web.page_context import PageContext
from hosts.web.page_security import uncached_page_headers
from service_core.access.oauth.authorization import AuthorizationEndpoint
from service_core.access.oauth.client_registration import ClientRegistration
from service_core.access.oauth.metadata import ServerMetadata
from service_core.access.oauth.models import ErrorRedirect, OAuthError
from service_core.access.oauth.token_endpoint import TokenEndpoint
from service_core.kernel.errors import ApiError, ServiceUnavailable

Handler = Callable[[], Awaitable[Response]]

CORS_HEADERS: Final = {"Access-Control-Allow-Origin": "*", "Cache-Control": "no-store", "Pragma": "no-cache"}
_PREFLIGHT_HEADERS: Final = {
    **CORS_HEADERS,
    "Access-Control-Allow-Headers": "Authorization, Content-Type, MCP-Protocol-Version",
    "Access-Control-Max-Age": "86400",
}
RETRY_AFTER: Final = {429: "3600", 503: "5"}
"""Status -> seconds after which to ask again."""

_ALL_METHODS: Final = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]


def create_oauth_blueprint(service: Service, addresses: ClientAddressResolver) -> Blueprint:
    """Returns the blueprint of the authorization server.

    Args:
        service: the composed deployment.
        addresses: finds the client behind trusted proxies.
    """
    server = _OAuthEndpoints(service, addresses)
    blueprint = Blueprint("oauth", __name__)
    for path, handlers in server.routes().items():
        _add_route_with_preflight_and_oauth_errors(blueprint, path, handlers)
    return blueprint


class _OAuthEndpoints:
    """The handlers of the authorization server."""

    def __init__(self, service: Service, addresses: ClientAddressResolver) -> None:
        self._service = service
        self._frame = PageContext(service, addresses)

    def routes(self) -> Mapping[str, Mapping[str, Handler]]:
        """Path -> method -> handler."""
        protected, metadata = self.protected_resource, self.authorization_server
        return {
            "/.well-known/oauth-protected-resource": {"GET": protected},
            "/.well-known/oauth-protected-resource/mcp": {"GET": protected},
            "/.well-known/oauth-authorization-server": {"GET": metadata},
            "/oauth/register": {"POST": self.register_client},
            "/oauth/authorize": {"GET": self.redirect_to_consent_page},
            "/oauth/token": {"POST": self.token},
            "/oauth/revoke": {"POST": self.revoke},
        }

    async def protected_resource(self) -> Response:
        """RFC 9728."""
        return _public_uncached_json_response(
            self._service.component(ServerMetadata).protected_resource_metadata()
        )

    async def authorization_server(self) -> Response:
        """RFC 8414."""
        return _public_uncached_json_response(
            self._service.component(ServerMetadata).authorization_server_metadata()
        )

    async def register_client(self) -> Response:
        """RFC 7591."""
        try:
            metadata = orjson.loads(await read_body_or_refuse_large_or_slow(request))
        except ValueError:
            raise OAuthError("invalid_client_metadata", "The body must be a JSON object") from None
        registrar = self._service.component(ClientRegistration)
        return _public_uncached_json_response(
            await registrar.register_client_within_hourly_limit(
                metadata, client_prefix=self._frame.network_prefix
            ),
            201,
        )

    async def redirect_to_consent_page(self) -> Response:
        """Redirects to the consent page; errors of the client itself are shown to the person."""
        query = request.query_string.decode("ascii", "ignore")
        try:
            await self._service.component(AuthorizationEndpoint).parse_and_validate_request(
                drop_unstorable_characters(request.args.items(multi=True))
            )
        except ErrorRedirect as back:
            return Response("", 302, uncached_page_headers() | {"Location": back.url})
        except OAuthError as fault:
            if "text/html" not in request.headers.get("Accept", ""):
                raise
            return await self._frame.render_page("error.html", 400, message=fault.description, hint=None)
        return Response(
            "",
            302,
            uncached_page_headers()
            | {"Location": f"{self._service.settings.http.effective_app_url}/consent?{query}"},
        )

    async def token(self) -> Response:
        """RFC 6749, section 3.2."""
        return _public_uncached_json_response(
            await self._service.component(TokenEndpoint).exchange_code_or_refresh_token(
                await read_sanitized_form_pairs(request)
            )
        )

    async def revoke(self) -> Response:
        """RFC 7009: answers 200 for any token."""
        await self._service.component(TokenEndpoint).end_grant_of_known_token(
            await read_sanitized_form_pairs(request)
        )
        return _public_uncached_json_response({})


def _add_route_with_preflight_and_oauth_errors(
    blueprint: Blueprint, path: str, handlers: Mapping[str, Handler]
) -> None:
    allowed = ", ".join([*handlers, "OPTIONS"])

    async def answer_with_preflight_and_oauth_errors() -> Response:
        if request.method == "OPTIONS":
            return Response("", 204, {**_PREFLIGHT_HEADERS, "Access-Control-Allow-Methods": allowed})
        handler = handlers.get("GET" if request.method == "HEAD" else request.method)
        if handler is None:
            return _public_uncached_json_response({"error": "Method not allowed"}, 405, {"Allow": allowed})
        try:
            return await handler()
        except OAuthError as fault:
            return _error_response(fault.error, fault.description, fault.status)
        except ServiceUnavailable as away:
            return _error_response("temporarily_unavailable", away.message, away.status)
        except ApiError as refusal:
            return _error_response("invalid_request", refusal.message, refusal.status)

    endpoint = path.replace(".", "")  # a dot has a meaning in names of endpoints
    blueprint.add_url_rule(
        path,
        endpoint,
        answer_with_preflight_and_oauth_errors,
        methods=_ALL_METHODS,
        provide_automatic_options=False,
    )


def _error_response(error: str, description: str, status: int) -> Response:
    retry = {"Retry-After": RETRY_AFTER[status]} if status in RETRY_AFTER else {}
    return _public_uncached_json_response({"error": error, "error_description": description}, status, retry)


def _public_uncached_json_response(
    content: Mapping[str, object], status: int = 200, extra_headers: Mapping[str, str] | None = None
) -> Response:
    return Response(
        orjson.dumps(content), status, {**CORS_HEADERS, **(extra_headers or {})}, mimetype="application/json"
    )
