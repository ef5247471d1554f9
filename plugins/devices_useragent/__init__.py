"""Parses user agents: ``devices.user_agent_parser = "useragent://"``."""

from collections.abc import Iterable

from plugins.devices_useragent.settings import UserAgentSettings
from service_core.plugin import Adapter, PluginData, PluginInfo, UserAgentParser, hook


def _open(settings: UserAgentSettings) -> UserAgentParser:
    from plugins.devices_useragent.adapter import DeviceDetectorAdapter

    return DeviceDetectorAdapter(cache_size=settings.cache_size)


@hook
def plugin_info() -> PluginInfo:
    """The declaration of the plugin."""
    return PluginInfo("User agents", icon="U", reads=(PluginData.EVENTS,))


@hook
def adapters() -> Iterable[Adapter]:
    """Returns the user agent adapter."""
    summary = "Browser, system, device type and bot signs from the user agent."
    return (Adapter("devices", "useragent", _open, UserAgentSettings, summary),)
