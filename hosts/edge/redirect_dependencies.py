"""Builds the dependencies of the link host from ports."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

from hosts.composition.ports import Ports, start_adapters
from hosts.edge.app import RedirectDependencies, ResolveClientAddress
from hosts.edge.app_associations import build_association_files
from hosts.edge.click_writer import ClickWriter
from service_core.kernel.settings import Settings
from service_core.workspace.links.clicks import ClickEnricher
from service_core.workspace.links.domains.link_hosts import is_verified_link_host
from service_core.workspace.links.models import shared_link_domain
from service_core.workspace.links.redirect_lookup import CachedRedirects, DatabaseRedirects


@asynccontextmanager
async def redirect_dependencies(
    settings: Settings, ports: Ports, resolve_client_address: ResolveClientAddress
) -> AsyncIterator[RedirectDependencies]:
    """Gives the dependencies of the link host while it serves.

    Args:
        settings: the deployment.
        ports: its ports, the workspace store running.
        resolve_client_address: finds the client's address.
    """
    domain = shared_link_domain(settings)
    async with start_adapters([ports.redirect_cache, ports.geo, ports.devices]):
        if domain is not None:  # without one, a process that may see no click saves the memory
            await asyncio.to_thread(ports.devices.parse, "Mozilla/5.0")
        click_writer = ClickWriter(ports.workspace.clicks)
        try:
            yield RedirectDependencies(
                host=None if domain is None else domain.host,
                is_link_domain=partial(is_verified_link_host, ports.workspace.unique_keys),
                routes=CachedRedirects(DatabaseRedirects(ports.workspace.unique_keys), ports.redirect_cache),
                enricher=ClickEnricher(ports.devices, ports.geo),
                click_writer=click_writer,
                clock=ports.clock,
                resolve_client_address=resolve_client_address,
                association_files=build_association_files(settings.links),
            )
        finally:
            await click_writer.aclose()
