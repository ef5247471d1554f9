"""What the plugin declares about itself."""

from service_core.plugin import PluginData, PluginInfo, hook


@hook
def plugin_info() -> PluginInfo:
    """Label, hosts and data of the plugin."""
    return PluginInfo("Ingest queue in SQLite", icon="Q", reads=(PluginData.EVENTS, PluginData.PERSONAL_DATA))
