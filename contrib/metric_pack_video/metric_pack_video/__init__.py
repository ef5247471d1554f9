"""Metrics of a video player, from the events ``video_play`` and ``video_complete``."""

from collections.abc import Iterable

from metric_pack_video.metrics import VIDEO_DIMENSION, VIDEO_METRICS
from service_core.plugin import Dimension, Metric, hook


@hook
def metrics() -> Iterable[Metric]:
    """Returns plays, viewers, and the share of plays that reach the end."""
    return VIDEO_METRICS


@hook
def dimensions() -> Iterable[Dimension]:
    """Returns the dimension of the video."""
    return (VIDEO_DIMENSION,)
