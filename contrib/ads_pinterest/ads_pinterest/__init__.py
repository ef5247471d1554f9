"""Spend on Pinterest: ``touchpoint connection add pinterest``."""

from collections.abc import Iterable

from ads_pinterest.platform import Pinterest
from service_core.plugin import AdPlatform, PluginData, PluginInfo, hook


@hook
def plugin_info() -> PluginInfo:
    """The declaration: it calls the API of Pinterest with a token."""
    return PluginInfo(
        label="Pinterest", icon="P", hosts=("api.pinterest.com",), reads=(PluginData.CREDENTIALS,)
    )


@hook
def ad_platforms() -> Iterable[AdPlatform]:
    """Pinterest."""
    return (Pinterest(),)
