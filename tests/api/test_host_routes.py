"""The described routes of hosts are those that the hosts serve."""

from hosts.edge.app import DOMAIN_CHECK_PATH
from hosts.edge.app_associations import APPLE_PATH, GOOGLE_PATH
from hosts.ingest.browser_routes import PATHS
from hosts.ingest.webhooks import ROUTE_TEMPLATE
from hosts.oauth.app import _OAuthEndpoints
from service_core.api.host_routes.ingest import INGEST_ROUTES
from service_core.api.host_routes.links import LINK_ROUTES
from service_core.api.host_routes.models import Host
from service_core.api.host_routes.oauth import OAUTH_ROUTES


def described_paths(group):
    return {route.path for route in group.routes}


def test_every_route_of_the_ingest_host_is_described():
    assert described_paths(INGEST_ROUTES) == {*PATHS, ROUTE_TEMPLATE, "/track"}
    assert {route.host for route in INGEST_ROUTES.routes} == {Host.INGEST}


def test_every_route_of_the_link_host_is_described():
    assert described_paths(LINK_ROUTES) == {"/{slug}", APPLE_PATH, GOOGLE_PATH, DOMAIN_CHECK_PATH}


def test_every_route_of_the_authorization_server_is_described():
    served = {
        (method, path)
        for path, handlers in _OAuthEndpoints.routes(_OAuthEndpoints.__new__(_OAuthEndpoints)).items()
        for method in handlers
    }
    assert {(route.method, route.path) for route in OAUTH_ROUTES.routes} == served


def test_every_body_and_success_has_an_example():
    for group in (INGEST_ROUTES, LINK_ROUTES, OAUTH_ROUTES):
        for route in group.routes:
            assert route.body is None or route.body.example is not None
            contents = [content for response in route.responses.values() for content in response.contents]
            assert all(content.example is not None for content in contents), route.id
