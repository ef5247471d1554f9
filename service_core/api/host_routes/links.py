"""The routes of the link host: redirects of trackable links, and the files that associate apps."""

from typing import Any, Final

from service_core.api.host_routes.models import (
    HTML,
    JSON,
    Content,
    Host,
    HostResponse,
    HostRoute,
    HostRoutes,
    path_parameter,
    query_parameter,
)

_TAG: Final = "link host"
_PAGE_EXAMPLE: Final = '<!doctype html><html lang="en"><title>Link not found</title></html>'
_APP_SITE_EXAMPLE: Final = {
    "applinks": {"details": [{"appIDs": ["A1B2C3D4E5.shop.example"], "components": [{"/": "/*"}]}]}
}
_ASSET_LINKS_EXAMPLE: Final = [
    {
        "relation": ["delegate_permission/common.handle_all_urls"],
        "target": {
            "namespace": "android_app",
            "package_name": "example.shop",
            "sha256_cert_fingerprints": ["14:6D:E9:83:C5:73:06:50"],
        },
    }
]


def _page(description: str) -> HostResponse:
    """Returns a response that is a page for people."""
    return HostResponse(description, (Content(HTML, {"type": "string"}, _PAGE_EXAMPLE),))


_NOT_FOUND: Final = _page("No such link or file on this host.")
_WRONG_METHOD: Final = _page("A link can only be followed.")
_UNAVAILABLE: Final = _page("The link cannot be looked up at the moment.")


def _association_route(path: str, id_: str, vendor: str, schema: dict[str, Any], example: Any) -> HostRoute:
    return HostRoute(
        "GET", path, Host.LINKS, id_, _TAG,
        f"Return the app association file for {vendor}",
        "Names the apps of the settings that open links of the domain.",
        {
            200: HostResponse("The file.", (Content(JSON, schema, example),)),
            404: _NOT_FOUND, 405: _WRONG_METHOD, 503: _UNAVAILABLE,
        },
    )  # fmt: skip


_ROUTES: Final = (
    HostRoute(
        "GET", "/{slug}", Host.LINKS, "follow_link", _TAG,
        "Redirect to the target of a trackable link",
        "Records a click and adds the parameters of the link to its target. `HEAD` redirects without recording.",
        {
            302: HostResponse("The target.", headers={"Location": "URL of the target, with the parameters of the link."}),
            404: _NOT_FOUND, 405: _WRONG_METHOD, 503: _UNAVAILABLE, "default": _UNAVAILABLE,
        },
        parameters=(path_parameter("slug", "Slug of the link.", "summer-sale", "^[A-Za-z0-9_-]{1,64}$"),),
    ),
    _association_route(
        "/.well-known/apple-app-site-association", "get_ios_app_association", "iOS",
        {"type": "object"}, _APP_SITE_EXAMPLE,
    ),
    _association_route(
        "/.well-known/assetlinks.json", "get_android_app_association", "Android",
        {"type": "array", "items": {"type": "object"}}, _ASSET_LINKS_EXAMPLE,
    ),
    HostRoute(
        "GET", "/.well-known/touchpoint-domain", Host.LINKS, "check_link_domain", _TAG,
        "Tell whether a host is a link domain",
        "A reverse proxy asks before it requests a certificate.",
        {200: _page("The host is a link domain."), 404: _page("It is not."), 405: _WRONG_METHOD, 503: _UNAVAILABLE},
        parameters=(query_parameter("domain", "Host name.", "go.shop.example", required=True),),
    ),
)  # fmt: skip

LINK_ROUTES: Final = HostRoutes(_ROUTES, {})
"""The routes of the link host."""
