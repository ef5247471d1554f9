"""Golden vectors of both models, and their kit."""

from datetime import UTC, datetime, timedelta

import attribution_participation
import pytest
from attribution_participation import FIRST_AND_LAST, PARTICIPATION

from service_core.plugin import PathTouch, TouchPath, compute_credit_share_per_touch
from service_core.testing.attribution_model import AttributionModelConformance
from service_core.testing.plugin import PluginConformance

NOON = datetime(2026, 7, 1, 12, tzinfo=UTC)


class TestModels(AttributionModelConformance):
    @pytest.fixture(params=[FIRST_AND_LAST, PARTICIPATION], ids=lambda model: model.id)
    def model(self, request):
        return request.param


class TestPlugin(PluginConformance):
    @pytest.fixture
    def plugin(self):
        return attribution_participation


def test_first_and_last_touch_get_halves():
    """Of three touches the middle one gets nothing."""
    path = [PathTouch(NOON - timedelta(days=day), is_direct=False) for day in (3, 2, 1)]
    rule = FIRST_AND_LAST.to_credit_rule(timedelta(days=30))
    assert [float(share) for share in compute_credit_share_per_touch(rule, path, NOON)] == [0.5, 0, 0.5]


def test_key_counts_once_for_each_converted_path():
    """A key that stands twice in a path counts once for each of its conversions."""
    search, social = ("search",), ("social",)
    paths = [TouchPath((search, social, search), 3, 10), TouchPath((social,), 1, 5)]
    assert PARTICIPATION.fit(paths) == {search: 3, social: 4}
