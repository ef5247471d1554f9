"""Parses user agents: ``devices.user_agent_parser = "useragent://"``."""

from collections.abc import Iterable

from plugins.devices_useragent.settings import UserAgentSettings
from service_core.plugin import Adapter, UserAgentParser, hook


def _open(settings: UserAgentSettings) -> UserAgentParser:
    from plugins.devices_useragent.adapter import DeviceDetectorAdapter

    return DeviceDetectorAdapter(cache_size=settings.cache_size)


@hook
def adapters() -> Iterable[Adapter]:
    """Returns the user agent adapter."""
    return (
        Adapter(
            port="devices",
            scheme="useragent",
            open=_open,
            settings=UserAgentSettings,
            summary="Browser, system, device type and bot signs from the user agent.",
        ),
    )
