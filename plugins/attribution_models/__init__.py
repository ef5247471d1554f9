"""Eight attribution models: six rules for single paths, two fitted to all paths."""

from collections.abc import Iterable

from plugins.attribution_models.models import MODELS
from service_core.plugin import AttributionModel, PluginData, PluginInfo, hook


@hook
def plugin_info() -> PluginInfo:
    """The declaration of the plugin."""
    return PluginInfo("Attribution models", icon="%", reads=(PluginData.EVENTS,))


@hook
def attribution_models() -> Iterable[AttributionModel]:
    """Returns the built-in attribution models."""
    return MODELS
