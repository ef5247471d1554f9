"""``POST /mcp``: who may come in, and what a message has to be like before it is read (contract 9)."""

from typing import Final
from urllib.parse import urlsplit

from quart import Blueprint, request
from quart import Response as Answer

from hosts.client_address import ClientAddress
from hosts.composition.codec import CODEC
from hosts.composition.compose import Service
from hosts.http.app import read_body, too_slow, written
from hosts.mcp.server import VERSIONS, Server
from service_core.access.admission import Admission
from service_core.access.authenticate import bearer
from service_core.access.model import Identity
from service_core.access.oauth.addresses import Addresses
from service_core.access.scopes import require_scope
from service_core.gateway.dispatch import MAX_BODY
from service_core.gateway.exchange import Response
from service_core.gateway.render import PREFLIGHT, json_response
from service_core.kernel.errors import (
    BadRequest,
    Forbidden,
    MethodNotAllowed,
    Refusal,
    TooLarge,
    Unauthorized,
)
from service_core.kernel.operations import Scope

_ALLOWED: Final = ("POST", "OPTIONS")
_PREFLIGHT: Final = Response(
    204,
    {
        **PREFLIGHT.headers,
        "Access-Control-Allow-Methods": ", ".join(_ALLOWED),
        "Access-Control-Allow-Headers": "Authorization, Content-Type, MCP-Protocol-Version",
    },
)
_METHODS: Final = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})


def mcp(service: Service, addresses: ClientAddress) -> Blueprint:
    """The blueprint of the MCP server.

    Args:
        service: the composed deployment.
        addresses: finds the client behind trusted proxies.
    """
    door = _Door(service, addresses)
    blueprint = Blueprint("mcp", __name__)
    blueprint.add_url_rule("/mcp", "mcp", door.view, methods=_METHODS, provide_automatic_options=False)
    return blueprint


class _Door:
    """What stands in front of the server."""

    def __init__(self, service: Service, addresses: ClientAddress) -> None:
        self._server = Server(service)
        self._admission = service.part(Admission)
        self._addresses = addresses
        http = service.settings.http
        self._own = {urlsplit(http.public_url).netloc, urlsplit(http.web_url).netloc}
        about = f"{service.part(Addresses).root_url}/.well-known/oauth-protected-resource"
        self._challenge = f'Bearer resource_metadata="{about}"'

    async def view(self) -> Answer:
        """Answer the request at hand."""
        if request.method == "OPTIONS":
            return written(_PREFLIGHT)
        try:
            return written(await self._answered())
        except Refusal as refusal:
            return written(json_response(CODEC, refusal.status, refusal.body(), refusal.headers))
        except TimeoutError:
            return too_slow()

    async def _answered(self) -> Response:
        if request.method != "POST":
            raise MethodNotAllowed(_ALLOWED)
        self._check_origin(request.headers.get("Origin"))
        identity = await self._admitted()
        version = request.headers.get("MCP-Protocol-Version", VERSIONS[0])
        if version not in VERSIONS:
            raise BadRequest(
                f"This version of MCP is not spoken here; {' and '.join(VERSIONS)} are",
                "invalid_parameter",
                field="MCP-Protocol-Version",
            )
        body = await read_body()
        if len(body) > MAX_BODY:
            raise TooLarge("Payload too large. Maximum size is 1MB.", "payload_too_large")
        peer = request.scope.get("client")
        client = self._addresses.of(peer and peer[0], request.scope["headers"])
        return await self._server.answer(body, identity, client)

    def _check_origin(self, origin: str | None) -> None:
        """Refuse pages of others: one whose name was made to lead here could speak for a person's browser.

        Raises:
            Forbidden: a browser says that a page asks which is neither ours nor on its own machine.
        """
        if origin is None:
            return
        try:
            parts = urlsplit(origin)
            known = parts.netloc in self._own or parts.hostname in _LOOPBACK
        except ValueError:
            known = False
        if not known:
            raise Forbidden("Origin not allowed")

    async def _admitted(self) -> Identity:
        """Whoever the access token stands for.

        Raises:
            Unauthorized: no token, or one that works no more; the challenge says where to get one.
            Forbidden: ``insufficient_scope``.
        """
        try:
            identity = await self._admission.delegate(bearer(request.headers.get("Authorization")) or "")
            require_scope(identity, Scope.READ)
        except Unauthorized as refused:
            raise Unauthorized(refused.message, headers={"WWW-Authenticate": self._challenge}) from None
        except Forbidden as refused:
            needed = f'{self._challenge}, error="insufficient_scope", scope="{Scope.READ.value}"'
            headers = {"WWW-Authenticate": needed}
            raise Forbidden(refused.message, refused.code, headers=headers, extra=refused.extra) from None
        return identity
