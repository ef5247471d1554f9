"""What becomes of messages of revenue providers, and the reading of those that can be asked, put together once."""

from collections.abc import Mapping

import orjson

from hosts.composition.ports import Ports
from service_core.access.workspace_cache import WorkspaceCache
from service_core.commerce.providers.message_store import MessageStore
from service_core.commerce.providers.poll import ProviderSync
from service_core.commerce.providers.ports import PollableProvider, RevenueProvider
from service_core.kernel.errors import StartupError
from service_core.kernel.settings import Settings


def build_provider_message_store(ports: Ports, settings: Settings) -> MessageStore:
    """What becomes of a message, sent or asked for."""
    store, names = ports.workspace, settings.connections.visitor_names
    return MessageStore(store, store, ports.queue, orjson.loads, names)


def build_provider_sync(ports: Ports, settings: Settings) -> ProviderSync:
    """The reading of revenue providers over the ports of a deployment.

    Raises:
        StartupError: the settings name a provider that is not installed, or one that cannot be asked.
    """
    store = ports.workspace
    return ProviderSync(
        _pollable_providers(ports.revenue_providers, settings.revenue.apis),
        WorkspaceCache(store),
        store,
        build_provider_message_store(ports, settings),
        settings.revenue.left_out,
        connections=store,
        secrets=ports.connection_secrets,
        leases=store,
        clock=ports.clock,
    )


def _pollable_providers(
    known: Mapping[str, RevenueProvider], addresses: Mapping[str, str]
) -> Mapping[str, PollableProvider]:
    """Those that can be asked, each at the address the settings name for it."""
    found = {name: provider for name, provider in known.items() if isinstance(provider, PollableProvider)}
    for name, address in addresses.items():
        if name not in found:
            reason = "whose plugin asks nobody" if name in known else "which no plugin brings"
            raise StartupError(f"revenue.apis names {name}, {reason}.")
        found[name] = found[name].with_base_url(address.rstrip("/"))
    return found
