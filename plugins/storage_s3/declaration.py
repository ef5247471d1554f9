"""The declaration of the plugin."""

from service_core.plugin import PluginData, PluginInfo, hook


@hook
def plugin_info() -> PluginInfo:
    """The declaration of the plugin."""
    return PluginInfo("S3", icon="B", reads=(PluginData.EVENTS, PluginData.PERSONAL_DATA))
