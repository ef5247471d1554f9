"""The application of the role ``api``; it loads the web framework, which no other role needs."""

from hosts.asgi import App
from hosts.client_address import ClientAddressResolver
from hosts.composition.compose import Service
from hosts.http.app import create_api_app
from hosts.mcp.app import create_mcp_blueprint
from hosts.oauth.app import create_oauth_blueprint
from hosts.web.documentation import create_documentation_blueprint, create_llms_txt_blueprint
from hosts.web.pages import create_root_redirect_blueprint, create_web_blueprint
from service_core.delivery.imports.upload import ImportUploads
from service_core.documentation.site import Documentation


def create_api_host_app(service: Service) -> App:
    """Returns the application at the API's address: web pages, and the API for every other path."""
    addresses = ClientAddressResolver(service.settings.ingest.trusted_proxies)
    shown = [
        create_root_redirect_blueprint(service),
        create_web_blueprint(service, addresses),
        create_oauth_blueprint(service, addresses),
        create_mcp_blueprint(service, addresses),
        create_llms_txt_blueprint(service.component(Documentation)),
        create_documentation_blueprint(
            service.component(Documentation), service.settings.http.effective_app_url
        ),
    ]
    uploads = service.ports.build_from_adapters(ImportUploads, settings=service.settings)
    return create_api_app(
        service.dispatch,
        addresses=addresses,
        pages=shown,
        uploads=uploads,
        app_url=service.settings.http.effective_app_url,
    )
