"""The parts of the authorization server, put together from a composed deployment."""

from hosts.composition.compose import Service
from service_core.access.oauth.addresses import Addresses
from service_core.access.oauth.consent import Consents
from service_core.access.oauth.exchange import Exchange
from service_core.access.oauth.register import Registrar


def addresses_of(service: Service) -> Addresses:
    """The deployment as OAuth sees it."""
    return Addresses(service.settings.http.public_url)


def consents_of(service: Service) -> Consents:
    """Reads authorization requests and carries answers back."""
    store = service.ports.workspace
    return Consents(store, store, addresses_of(service), service.ports.clock)


def exchange_of(service: Service) -> Exchange:
    """The token endpoint."""
    store = service.ports.workspace
    return Exchange(store, store, store, addresses_of(service), service.ports.clock)


def registrar_of(service: Service) -> Registrar:
    """The registration endpoint."""
    return Registrar(service.ports.workspace, service.ports.limits, service.ports.clock)
