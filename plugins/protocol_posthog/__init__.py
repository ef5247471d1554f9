"""The capture API of PostHog: ``/batch/``, ``/e/`` and ``/capture/``."""

from collections.abc import Iterable

from plugins.protocol_posthog.history import PostHogHistory
from plugins.protocol_posthog.protocol import PostHogProtocol
from service_core.plugin import ImportSource, IngestProtocol, PluginData, PluginInfo, hook


@hook
def plugin_info() -> PluginInfo:
    """The declaration of the plugin."""
    return PluginInfo("PostHog", icon="H", reads=(PluginData.EVENTS, PluginData.PERSONAL_DATA))


@hook
def ingest_protocols() -> Iterable[IngestProtocol]:
    """The protocol of PostHog."""
    return (PostHogProtocol(),)


@hook
def import_sources() -> Iterable[ImportSource]:
    """The history of the product."""
    return (PostHogHistory(),)
