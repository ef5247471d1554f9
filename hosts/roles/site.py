"""What the role ``api`` answers; it loads the web framework, which no other role needs."""

from hosts.client_address import ClientAddress
from hosts.composition.compose import Service
from hosts.guard import App
from hosts.http.app import api_app
from hosts.mcp.app import mcp
from hosts.oauth.app import oauth
from hosts.web.handbook import handbook_pages
from hosts.web.pages import entrance, pages
from service_core.handbook.book import Handbook


def site(service: Service) -> App:
    """Everything the API's address answers: pages where a page stands, the gateway everywhere else."""
    addresses = ClientAddress(service.settings.ingest.trusted_proxies)
    shown = [
        entrance(service),
        pages(service, addresses),
        oauth(service, addresses),
        mcp(service, addresses),
        handbook_pages(service.part(Handbook)),
    ]
    return api_app(service.dispatch, addresses=addresses, pages=shown)
