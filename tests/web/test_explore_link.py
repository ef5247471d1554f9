"""The Explore page of a saved query shows that query, or is not offered."""

from datetime import UTC, datetime
from urllib.parse import parse_qs, urlsplit
from zoneinfo import ZoneInfo

import pytest
from werkzeug.datastructures import MultiDict

from hosts.web.explore_link import explore_link_of_plan
from hosts.web.view_state import read_view_state

SEGMENT = "01890a5d-ac96-774b-bcce-b302099a8057"


@pytest.fixture
def state():
    return read_view_state(MultiDict(), ZoneInfo("UTC"), datetime(2026, 3, 9, tzinfo=UTC))


def test_link_has_the_segment_and_the_filters_of_the_query(state):
    plan = {
        "metrics": ["visitors"],
        "segment_id": SEGMENT,
        "filters": [{"dimension": "country", "op": "in", "value": ["DE", "FR"]}],
    }
    sent = parse_qs(urlsplit(explore_link_of_plan(plan, state)).query)
    assert sent["segment"] == [SEGMENT]
    assert sent["f"] == ["country:is:DE", "country:is:FR"]


@pytest.mark.parametrize(
    "changed",
    [
        {"dimensions": ["property:plan"]},
        {"filters": [{"dimension": "property:plan", "op": "eq", "value": "pro"}]},
        {"filters": [{"dimension": "country", "op": "is_set"}]},
        {"filters": [{"dimension": "campaign", "op": "eq", "value": 7}]},
        {"filters": [{"dimension": "country", "value": "DE"}, {"dimension": "country", "value": "FR"}]},
    ],
)
def test_query_that_the_page_would_show_otherwise_has_no_link(state, changed):
    assert explore_link_of_plan({"metrics": ["visitors"]} | changed, state) is None
