"""The endpoint answers in the zone of the workspace; the kit of plugins."""

from types import SimpleNamespace

import pytest

import workspace_clock
from service_core.testing.ingestion_stubs import NOON, make_workspace
from service_core.testing.plugin import PluginConformance


class TestPlugin(PluginConformance):
    @pytest.fixture
    def plugin(self):
        return workspace_clock


async def test_clock_has_the_zone_of_the_workspace():
    """Noon in UTC is nine in the evening in Tokyo."""
    caller = SimpleNamespace(workspace=make_workspace(timezone="Asia/Tokyo"), now=NOON)
    clock = await workspace_clock.get_clock.handler(caller=caller)
    assert (clock.timezone, clock.local_time.hour) == ("Asia/Tokyo", 21)
