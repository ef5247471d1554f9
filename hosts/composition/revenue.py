"""What becomes of messages of revenue providers, and the reading of those that can be asked, put together once."""

from collections.abc import Mapping

import orjson

from hosts.composition.ports import Ports
from service_core.access.workspaces import Workspaces
from service_core.commerce.providers.keeping import Keeping
from service_core.commerce.providers.polling import ProviderReading
from service_core.commerce.providers.ports import Pollable, RevenueProvider
from service_core.kernel.errors import StartupError
from service_core.kernel.settings import Settings


def keeping_of(ports: Ports, settings: Settings) -> Keeping:
    """What becomes of a message, sent or asked for."""
    store, names = ports.workspace, settings.connections.visitor_names
    return Keeping(store, store, ports.queue, orjson.loads, names)


def provider_reading_of(ports: Ports, settings: Settings) -> ProviderReading:
    """The reading of revenue providers over the ports of a deployment.

    Raises:
        StartupError: the settings name a provider that is not installed, or one that cannot be asked.
    """
    store = ports.workspace
    return ProviderReading(
        _pollable(ports.revenue_providers, settings.revenue.apis),
        Workspaces(store),
        store,
        keeping_of(ports, settings),
        settings.revenue.left_out,
        connections=store,
        secrets=ports.connection_secrets,
        turns=store,
        clock=ports.clock,
    )


def _pollable(known: Mapping[str, RevenueProvider], addresses: Mapping[str, str]) -> Mapping[str, Pollable]:
    """Those that can be asked, each at the address the settings name for it."""
    found = {name: provider for name, provider in known.items() if isinstance(provider, Pollable)}
    for name, address in addresses.items():
        if name not in found:
            reason = "whose plugin asks nobody" if name in known else "which no plugin brings"
            raise StartupError(f"revenue.apis names {name}, {reason}.")
        found[name] = found[name].at(address.rstrip("/"))
    return found
