"""Finds registrable domains with the public suffix list that the package contains."""

from collections.abc import Iterable

from service_core.plugin import Adapter, AdapterSettings, PluginData, PluginInfo, PublicSuffixList, hook


def _open(_: AdapterSettings) -> PublicSuffixList:
    from plugins.domains_publicsuffix.adapter import PackagedSuffixList

    return PackagedSuffixList()


@hook
def plugin_info() -> PluginInfo:
    """The declaration of the plugin."""
    return PluginInfo("Public suffix list", icon=".", reads=(PluginData.EVENTS,))


@hook
def adapters() -> Iterable[Adapter]:
    """Returns the adapter for the packaged list."""
    return (
        Adapter(
            port="domains",
            scheme="publicsuffix",
            open=_open,
            summary="Registrable domains of referrers by the packaged public suffix list.",
        ),
    )
