"""The reading of ad platforms, put together once."""

from collections.abc import Mapping

from hosts.composition.ports import Ports
from service_core.commerce.ads.ports import AdPlatform, SupportsBaseUrl
from service_core.commerce.ads.spend_sync import AdSpendSync
from service_core.extensions.registry import Registry
from service_core.kernel.errors import StartupError
from service_core.kernel.settings import AdsSettings


def build_ad_sync(ports: Ports, registry: Registry, settings: AdsSettings) -> AdSpendSync:
    """The reading of ad platforms over the ports of a deployment.

    Raises:
        StartupError: the settings name a platform that is not installed, or one that knows no other address.
    """
    store = ports.workspace
    return AdSpendSync(
        _platforms_at_configured_urls(registry.ad_platforms, settings.apis),
        connections=store,
        secrets=ports.connection_secrets,
        store=store,
        leases=store,
        clock=ports.clock,
        first_days=settings.first_days,
    )


def _platforms_at_configured_urls(
    known: Mapping[str, AdPlatform], addresses: Mapping[str, str]
) -> Mapping[str, AdPlatform]:
    """The platforms, each read at the address the settings name for it."""
    return dict(known) | {
        name: _with_base_url(name, known.get(name), address) for name, address in addresses.items()
    }


def _with_base_url(name: str, platform: AdPlatform | None, address: str) -> AdPlatform:
    if not isinstance(platform, SupportsBaseUrl):
        raise StartupError(
            f"ads.apis names {name}, "
            + ("which no plugin brings." if platform is None else "whose plugin knows no other address.")
        )
    return platform.with_base_url(address.rstrip("/"))
