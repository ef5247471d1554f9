"""Every tool over a range takes start_date and end_date, or date_range."""

import pytest

from tests.mcp.test_tools import TOOLS_BY_NAME

DATES = {"start_date": "2026-07-01", "end_date": "2026-07-07"}
FROM_TO = {"date_range": {"from": "2026-07-01", "to": "2026-07-07"}}
PRESET = {"date_range": {"preset": "last_7_days"}}
OTHER_ARGUMENTS = {
    "get_overview": {},
    "list_events": {},
    "get_funnel": {"steps": ["a", "b"]},
    "analytics_query": {"metrics": ["visitors"]},
    "get_metrics": {"metrics": ["visitors"]},
    "get_commerce_metrics": {},
}


def range_of(answer):
    """The range of an answer, wherever its route has it."""
    if "start_date" in answer:
        return {"from": answer["start_date"], "to": answer["end_date"]}
    return answer.get("range") or answer["meta"]["resolved"]["date_range"]


def test_both_forms_of_a_range_are_in_the_schema_of_every_tool_that_has_one():
    forms = {"start_date", "end_date", "date_range"}
    for name, tool in TOOLS_BY_NAME.items():
        schema = tool.arguments_schema
        assert forms & set(schema["properties"]) in (set(), forms), name
        assert not forms & set(schema.get("required", ())), name


@pytest.mark.parametrize("name", OTHER_ARGUMENTS)
async def test_forms_of_a_range_are_answered_alike(mcp_client, name):
    rest = OTHER_ARGUMENTS[name]
    by_dates = await mcp_client.call(name, **rest, **DATES)
    assert range_of(by_dates) == range_of(await mcp_client.call(name, **rest, **FROM_TO))
    preset = range_of(await mcp_client.call(name, **rest, **PRESET))
    assert preset["from"][:10] in ("2026-07-01", "2026-07-02")  # midnight of the workspace in UTC


async def test_all_time_begins_with_the_first_event(mcp_client):
    by_query = await mcp_client.call(
        "analytics_query", metrics=["visitors"], date_range={"preset": "all_time"}
    )
    by_overview = await mcp_client.call("get_overview", date_range={"preset": "all_time"})
    assert range_of(by_overview) == range_of(by_query)


REFUSED = [
    ("get_overview", DATES | PRESET, "conflicting_date_range", "start_date"),
    ("analytics_query", {"metrics": ["visitors"]} | DATES | PRESET, "conflicting_date_range", "start_date"),
    ("get_overview", {"date_range": {"preset": "fortnight"}}, "invalid_date_range", "date_range"),
    ("get_overview", {"date_range": {"from": "2026-07-01"}}, "invalid_date_range", "date_range"),
    ("get_overview", {"date_range": {"start": "2026-07-01"}}, "unknown_field", "date_range.start"),
    ("get_overview", {"date_range": {"preset": 7}}, "invalid_parameter", "date_range.preset"),
    ("get_overview", {"date_range": {}}, "invalid_date_range", "date_range"),
    ("get_overview", {}, "missing_field", "start_date"),
    ("analytics_query", {"metrics": ["visitors"], "start_date": "2026-07-01"}, "missing_field", "end_date"),
]


async def test_wrong_ranges_are_results_with_the_field(mcp_client):
    for name, arguments, code, field in REFUSED:
        refused = await mcp_client.call_expecting_error(name, **arguments)
        assert (refused["code"], refused["field"]) == (code, field), (name, arguments, refused)
