"""Metrics and a page of a video player, from the events ``video_play`` and ``video_complete``."""

from collections.abc import Iterable

from metric_pack_video.metrics import VIDEO_DIMENSION, VIDEO_METRICS
from metric_pack_video.page import VIDEO_PAGE
from service_core.plugin import Dimension, Metric, PluginData, PluginInfo, WebPage, hook


@hook
def plugin_info() -> PluginInfo:
    """The declaration: metrics computed from events."""
    return PluginInfo(label="Video metrics", icon="▶", reads=(PluginData.EVENTS,))


@hook
def metrics() -> Iterable[Metric]:
    """Returns plays, viewers, and the share of plays that reach the end."""
    return VIDEO_METRICS


@hook
def dimensions() -> Iterable[Dimension]:
    """Returns the dimension of the video."""
    return (VIDEO_DIMENSION,)


@hook
def pages() -> Iterable[WebPage]:
    """Returns the page of the videos."""
    return (VIDEO_PAGE,)
