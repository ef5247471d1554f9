"""TXT records of the public DNS: ``links.dns_resolver = "dns://"`` uses the resolvers of the machine."""

from collections.abc import Iterable

from plugins.dns_resolver.settings import ResolverSettings
from service_core.plugin import Adapter, PluginData, PluginInfo, TxtRecords, hook


def _open(settings: ResolverSettings) -> TxtRecords:
    from plugins.dns_resolver.adapter import NameServers

    return NameServers(settings)


@hook
def plugin_info() -> PluginInfo:
    """The declaration of the plugin."""
    return PluginInfo("DNS", icon="D", reads=(PluginData.WORKSPACES,))


@hook
def adapters() -> Iterable[Adapter]:
    """Returns the adapter for any name server."""
    summary = "Text records asked of name servers: the machine's own, or one that the URL names."
    return (Adapter("dns", "dns", _open, ResolverSettings, summary),)
