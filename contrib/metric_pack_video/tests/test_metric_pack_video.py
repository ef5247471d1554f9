"""The metrics have golden values; the kit of plugins."""

import metric_pack_video
import pytest

from service_core.testing.event_builder import EventBuilder, whole_utc_days
from service_core.testing.golden_metric import rounded_metric_value
from service_core.testing.plugin import PluginConformance

DAYS = whole_utc_days("2026-07-01", "2026-07-02")


class TestPlugin(PluginConformance):
    @pytest.fixture
    def plugin(self):
        return metric_pack_video


@pytest.mark.parametrize(
    ("metric_id", "value"), [("video_plays", 3), ("video_viewers", 2), ("video_completion_rate", 0.333333)]
)
async def test_plays_of_two_viewers_have_golden_values(metric_id, value):
    """Ada plays twice and sees one video to its end, Bob plays once."""
    story = EventBuilder()
    story.add_event("video_play", at="2026-07-01T12:00", visitor="A1")
    story.add_event("video_complete", at="2026-07-01T12:05", visitor="A1")
    story.add_event("video_play", at="2026-07-01T20:00", visitor="A1", session="s2")
    story.add_event("video_play", at="2026-07-02T12:00", visitor="B1")
    (metric,) = [each for each in metric_pack_video.metrics() if each.id == metric_id]
    assert await rounded_metric_value(metric, story, DAYS) == value
