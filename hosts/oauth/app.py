"""Routes of the authorization server on the root of the API host (contract 8)."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Final

import orjson
from quart import Blueprint, Response, request

from hosts.client_address import ClientAddress
from hosts.composition.compose import Service
from hosts.web.forms import body_of, clean_pairs, pairs_of
from hosts.web.frame import Frame
from hosts.web.safety import headers
from service_core.access.oauth.addresses import Addresses
from service_core.access.oauth.consent import Consents
from service_core.access.oauth.exchange import Exchange
from service_core.access.oauth.model import OAuthFault, SentBack
from service_core.access.oauth.register import Registrar
from service_core.kernel.errors import Refusal, Unavailable503

Handler = Callable[[], Awaitable[Response]]

CORS: Final = {"Access-Control-Allow-Origin": "*", "Cache-Control": "no-store", "Pragma": "no-cache"}
_PREFLIGHT: Final = {
    **CORS,
    "Access-Control-Allow-Headers": "Authorization, Content-Type, MCP-Protocol-Version",
    "Access-Control-Max-Age": "86400",
}
RETRY: Final = {429: "3600", 503: "5"}
"""Status -> seconds after which to ask again."""

_METHODS: Final = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]


def oauth(service: Service, addresses: ClientAddress) -> Blueprint:
    """The blueprint of the authorization server.

    Args:
        service: the composed deployment.
        addresses: finds the client behind trusted proxies.
    """
    server = _Server(service, addresses)
    blueprint = Blueprint("oauth", __name__)
    for path, handlers in server.routes().items():
        _add(blueprint, path, handlers)
    return blueprint


class _Server:
    """The handlers."""

    def __init__(self, service: Service, addresses: ClientAddress) -> None:
        self._service = service
        self._frame = Frame(service, addresses)

    def routes(self) -> Mapping[str, Mapping[str, Handler]]:
        """Path -> method -> handler."""
        protected, metadata = self.protected_resource, self.authorization_server
        return {
            "/.well-known/oauth-protected-resource": {"GET": protected},
            "/.well-known/oauth-protected-resource/mcp": {"GET": protected},
            "/.well-known/oauth-authorization-server": {"GET": metadata},
            "/oauth/register": {"POST": self.register},
            "/oauth/authorize": {"GET": self.authorize},
            "/oauth/token": {"POST": self.token},
            "/oauth/revoke": {"POST": self.revoke},
        }

    async def protected_resource(self) -> Response:
        """RFC 9728."""
        return _json(self._service.part(Addresses).protected_resource())

    async def authorization_server(self) -> Response:
        """RFC 8414."""
        return _json(self._service.part(Addresses).authorization_server())

    async def register(self) -> Response:
        """RFC 7591."""
        try:
            metadata = orjson.loads(await body_of(request))
        except ValueError:
            raise OAuthFault("invalid_client_metadata", "The body must be a JSON object") from None
        registrar = self._service.part(Registrar)
        return _json(await registrar.register(metadata, network=self._frame.network), 201)

    async def authorize(self) -> Response:
        """Lead to the consent page; what is wrong with the program itself is shown to the person."""
        query = request.query_string.decode("ascii", "ignore")
        try:
            await self._service.part(Consents).read(clean_pairs(request.args.items(multi=True)))
        except SentBack as back:
            return Response("", 302, headers() | {"Location": back.url})
        except OAuthFault as fault:
            if "text/html" not in request.headers.get("Accept", ""):
                raise
            return await self._frame.page("refusal.html", 400, message=fault.description, hint=None)
        return Response(
            "", 302, headers() | {"Location": f"{self._service.settings.http.web_url}/consent?{query}"}
        )

    async def token(self) -> Response:
        """RFC 6749, section 3.2."""
        return _json(await self._service.part(Exchange).exchange(await pairs_of(request)))

    async def revoke(self) -> Response:
        """RFC 7009: 200, whatever was sent."""
        await self._service.part(Exchange).revoke(await pairs_of(request))
        return _json({})


def _add(blueprint: Blueprint, path: str, handlers: Mapping[str, Handler]) -> None:
    allowed = ", ".join([*handlers, "OPTIONS"])

    async def view() -> Response:
        if request.method == "OPTIONS":
            return Response("", 204, {**_PREFLIGHT, "Access-Control-Allow-Methods": allowed})
        handler = handlers.get("GET" if request.method == "HEAD" else request.method)
        if handler is None:
            return _json({"error": "Method not allowed"}, 405, {"Allow": allowed})
        try:
            return await handler()
        except OAuthFault as fault:
            return _refused(fault.error, fault.description, fault.status)
        except Unavailable503 as away:
            return _refused("temporarily_unavailable", away.message, away.status)
        except Refusal as refusal:
            return _refused("invalid_request", refusal.message, refusal.status)

    endpoint = path.replace(".", "")  # a dot has a meaning in names of endpoints
    blueprint.add_url_rule(path, endpoint, view, methods=_METHODS, provide_automatic_options=False)


def _refused(error: str, description: str, status: int) -> Response:
    retry = {"Retry-After": RETRY[status]} if status in RETRY else {}
    return _json({"error": error, "error_description": description}, status, retry)


def _json(
    content: Mapping[str, object], status: int = 200, more: Mapping[str, str] | None = None
) -> Response:
    return Response(orjson.dumps(content), status, {**CORS, **(more or {})}, mimetype="application/json")
