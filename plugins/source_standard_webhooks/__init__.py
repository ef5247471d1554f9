"""Events from any product that signs its webhooks by Standard Webhooks: ``touchpoint connection add standard_webhooks``."""

from collections.abc import Iterable

from plugins.source_standard_webhooks.adapter import StandardWebhooks
from service_core.plugin import PluginData, PluginInfo, WebhookSource, hook


@hook
def plugin_info() -> PluginInfo:
    """Returns the declaration of the plugin."""
    return PluginInfo(
        "Standard Webhooks",
        icon="W",
        reads=(PluginData.EVENTS, PluginData.PERSONAL_DATA, PluginData.CREDENTIALS),
    )


@hook
def webhook_sources() -> Iterable[WebhookSource]:
    """Returns the source."""
    return (StandardWebhooks(),)
