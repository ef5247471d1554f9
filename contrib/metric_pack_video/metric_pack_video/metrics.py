"""What is counted: every metric and dimension of the pack, once."""

from service_core.plugin import (
    Additivity,
    Dimension,
    Metric,
    MetricUnit,
    Predicate,
    Ratio,
    Relation,
    count,
    distinct,
)

VIDEO = Dimension(
    id="video",
    label="Video",
    description="The property `video` of the event.",
    columns={Relation.EVENTS: "data:video"},
)

_STARTED = Predicate("event_name", value="video_play")
_PLAYS = count(Relation.EVENTS, _STARTED)
_COMPLETED = count(Relation.EVENTS, Predicate("event_name", value="video_complete"))
_ACCEPTED = (VIDEO.id, "channel", "utm_campaign", "country", "device_type", "page_path")

METRICS = (
    Metric(
        id="video_plays",
        label="Video plays",
        unit=MetricUnit.COUNT,
        category="video",
        additivity=Additivity.ADDITIVE,
        measure=_PLAYS,
        dimensions=_ACCEPTED,
        description="Events named `video_play`.",
    ),
    Metric(
        id="video_viewers",
        label="Video viewers",
        unit=MetricUnit.COUNT,
        category="video",
        additivity=Additivity.DISTINCT,
        measure=distinct("person", Relation.EVENTS, _STARTED),
        dimensions=_ACCEPTED,
        description="Distinct persons with an event named `video_play`.",
    ),
    Metric(
        id="video_completion_rate",
        label="Video completion rate",
        unit=MetricUnit.RATIO,
        category="video",
        additivity=Additivity.RATIO,
        measure=Ratio(_COMPLETED, _PLAYS),
        dimensions=_ACCEPTED,
        description="Events named `video_complete`, divided by those named `video_play`.",
    ),
)
