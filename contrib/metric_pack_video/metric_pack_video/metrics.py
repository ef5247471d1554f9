"""Metrics and dimensions of a video player."""

from service_core.plugin import (
    Additivity,
    Dimension,
    Metric,
    MetricUnit,
    Predicate,
    Ratio,
    Relation,
    count_distinct,
    count_rows,
    property_column,
)

VIDEO_DIMENSION = Dimension(
    id="video",
    label="Video",
    description="The property `video` of the event.",
    columns={Relation.EVENTS: property_column("video")},
)

_IS_PLAY_EVENT = Predicate("event_name", value="video_play")
_PLAY_COUNT = count_rows(Relation.EVENTS, _IS_PLAY_EVENT)
_COMPLETION_COUNT = count_rows(Relation.EVENTS, Predicate("event_name", value="video_complete"))
_ACCEPTED_DIMENSIONS = (VIDEO_DIMENSION.id, "channel", "utm_campaign", "country", "device_type", "page_path")

VIDEO_METRICS = (
    Metric(
        id="video_plays",
        label="Video plays",
        unit=MetricUnit.COUNT,
        category="video",
        additivity=Additivity.ADDITIVE,
        measure=_PLAY_COUNT,
        dimensions=_ACCEPTED_DIMENSIONS,
        description="Events named `video_play`.",
    ),
    Metric(
        id="video_viewers",
        label="Video viewers",
        unit=MetricUnit.COUNT,
        category="video",
        additivity=Additivity.DISTINCT,
        measure=count_distinct("person", Relation.EVENTS, _IS_PLAY_EVENT),
        dimensions=_ACCEPTED_DIMENSIONS,
        description="Distinct persons with an event named `video_play`.",
    ),
    Metric(
        id="video_completion_rate",
        label="Video completion rate",
        unit=MetricUnit.RATIO,
        category="video",
        additivity=Additivity.RATIO,
        measure=Ratio(_COMPLETION_COUNT, _PLAY_COUNT),
        dimensions=_ACCEPTED_DIMENSIONS,
        description="Events named `video_complete`, divided by those named `video_play`.",
    ),
)
