"""The reading of ad platforms, put together once."""

from collections.abc import Mapping

from hosts.composition.ports import Ports
from service_core.commerce.ads.ports import AdPlatform, Movable
from service_core.commerce.ads.reading import AdReading
from service_core.extension.registry import Registry
from service_core.kernel.errors import StartupError
from service_core.kernel.settings import AdsSettings


def ad_reading_of(ports: Ports, registry: Registry, settings: AdsSettings) -> AdReading:
    """The reading of ad platforms over the ports of a deployment.

    Raises:
        StartupError: the settings name a platform that is not installed, or one that knows no other address.
    """
    store = ports.workspace
    return AdReading(
        _platforms(registry.ad_platforms, settings.apis),
        connections=store,
        secrets=ports.connection_secrets,
        store=store,
        turns=store,
        clock=ports.clock,
        first_days=settings.first_days,
    )


def _platforms(known: Mapping[str, AdPlatform], addresses: Mapping[str, str]) -> Mapping[str, AdPlatform]:
    """The platforms, each read at the address the settings name for it."""
    return dict(known) | {name: _at(name, known.get(name), address) for name, address in addresses.items()}


def _at(name: str, platform: AdPlatform | None, address: str) -> AdPlatform:
    if not isinstance(platform, Movable):
        raise StartupError(
            f"ads.apis names {name}, "
            + ("which no plugin brings." if platform is None else "whose plugin knows no other address.")
        )
    return platform.at(address.rstrip("/"))
