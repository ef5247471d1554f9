"""`fields` and `omit_nulls` of list reads: declared once, and the same for each."""

import pytest
from pydantic import TypeAdapter

from service_core.kernel.errors import BadRequest
from service_core.kernel.request_parsing import parse_query_parameters_leniently
from service_core.kernel.row_selection import RowSelection
from tests.analytics.deployment import run_deployment

ROWS = {"rows": [{"id": 1, "name": None, "size": 2}, {"id": 2, "name": "b", "size": None}], "total": 2}


def parse(**sent):
    pairs = [
        (name, text)
        for name, texts in sent.items()
        for text in ([texts] if isinstance(texts, str) else texts)
    ]
    return parse_query_parameters_leniently(RowSelection, pairs)


def test_rows_keep_all_fields_without_a_selection():
    assert parse().selects_all


@pytest.mark.parametrize("fields", ["name,id", ["name", "id"], " name , id,"])
def test_rows_have_the_fields_in_the_order_sent(fields):
    rows = parse(fields=fields).select(ROWS)["rows"]
    assert [list(row.items()) for row in rows] == [[("name", None), ("id", 1)], [("name", "b"), ("id", 2)]]


def test_null_fields_are_left_out_on_request():
    selected = parse(omit_nulls="true").select(ROWS)
    assert selected == {"rows": [{"id": 1, "size": 2}, {"id": 2, "name": "b"}], "total": 2}
    assert parse(omit_nulls="1", fields="name").select(ROWS)["rows"] == [{}, {"name": "b"}]


def test_unknown_field_is_refused_with_the_names_of_a_row():
    with pytest.raises(BadRequest) as refused:
        parse(fields="name,luck").select(ROWS)
    assert (refused.value.code, refused.value.field) == ("invalid_parameter", "fields")
    assert refused.value.extra["allowed"] == ["id", "name", "size"]
    assert parse(fields="luck").select({"rows": []}) == {"rows": []}


def test_cursor_is_not_bound_to_the_selection():
    assert parse(fields="id", omit_nulls="1").cursor_parameters() == parse().cursor_parameters()


async def test_every_list_read_with_a_selection_names_the_field_of_its_rows(tmp_path):
    async with run_deployment("memory", tmp_path) as served:
        operations = served.service.ports.registry.operations
        selecting = [op for op in operations if op.query is not None and issubclass(op.query, RowSelection)]
        assert {op.path for op in selecting} >= {
            "/events",
            "/users",
            "/retention",
            "/ltv",
            "/ads",
            "/subscriptions",
        }
        for op in selecting:
            assert op.query.row_list in TypeAdapter(op.answer).json_schema()["properties"], op.path
        client = await served.workspace()
        client.story.add_event("page_view", at="2026-07-08T10:00", visitor="V")
        await client.knows()
        dates = {"start_date": "2026-07-08", "end_date": "2026-07-08"}
        [full] = (await client.get("/events", **dates))["events"]
        [short] = (await client.get("/events", **dates, omit_nulls="true"))["events"]
        assert short == {name: value for name, value in full.items() if value is not None}
        [named] = (await client.get("/events", **dates, fields="event_name,utm_source"))["events"]
        assert named == {"event_name": "page_view", "utm_source": None}
        assert (await client.refused("GET", "/users", **dates, fields="luck")) == (400, "invalid_parameter")
        people = (await client.get("/users", **dates, fields="visitor_id"))["users"]
        assert people == [{"visitor_id": "V"}]
