"""Static pages, served with headers that let nothing foreign run, load or frame them."""

from importlib.resources import files
from typing import Final

from quart import Blueprint, Response

HEADERS: Final = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-cache",
}

_TYPES: Final = {"html": "text/html", "css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}


def pages() -> Blueprint:
    """The blueprint of the web application, mounted under ``/app``."""
    blueprint = Blueprint("web", __name__, url_prefix="/app")
    static = {
        page.name: page.read_bytes()
        for page in (files("hosts.web") / "static").iterdir()
        if page.name.rpartition(".")[2] in _TYPES
    }

    @blueprint.get("/")
    async def overview() -> Response:
        return _served(static, "overview.html")

    @blueprint.get("/<name>")
    async def asset(name: str) -> Response:
        return _served(static, name)

    return blueprint


def _served(static: dict[str, bytes], name: str) -> Response:
    body = static.get(name)
    if body is None:
        return Response("Not found", status=404, headers=HEADERS, mimetype="text/plain")
    return Response(body, headers=HEADERS, mimetype=_TYPES[name.rpartition(".")[2]])
