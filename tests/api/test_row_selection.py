"""`fields` and `omit_nulls` of list reads: declared once, and the same for each."""

import pytest
from pydantic import TypeAdapter

from service_core.kernel.errors import BadRequest
from service_core.kernel.request_parsing import parse_query_parameters_leniently
from service_core.kernel.row_selection import RowSelection, row_list_field_of_answer
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
    rows = parse(fields=fields).select_fields_of_rows(ROWS, "rows")["rows"]
    assert [list(row.items()) for row in rows] == [[("name", None), ("id", 1)], [("name", "b"), ("id", 2)]]


def test_null_fields_are_left_out_on_request():
    selected = parse(omit_nulls="true").select_fields_of_rows(ROWS, "rows")
    assert selected == {"rows": [{"id": 1, "size": 2}, {"id": 2, "name": "b"}], "total": 2}
    assert parse(omit_nulls="1", fields="name").select_fields_of_rows(ROWS, "rows")["rows"] == [
        {},
        {"name": "b"},
    ]


def test_unknown_field_is_refused_with_the_names_of_a_row():
    with pytest.raises(BadRequest) as refused:
        parse(fields="name,luck").select_fields_of_rows(ROWS, "rows")
    assert (refused.value.code, refused.value.field) == ("invalid_parameter", "fields")
    assert refused.value.extra["allowed"] == ["id", "name", "size"]
    assert parse(fields="luck").select_fields_of_rows({"rows": []}, "rows") == {"rows": []}


def test_rows_of_different_kinds_have_the_fields_that_they_know():
    answer = {"rows": [{"id": 1, "name": "a"}, {"id": 2, "spend": 3}]}
    assert parse(fields="id,spend").select_fields_of_rows(answer, "rows") == {
        "rows": [{"id": 1}, {"id": 2, "spend": 3}]
    }
    assert parse(fields="name").select_fields_of_rows(answer, "rows") == {"rows": [{"name": "a"}, {}]}


def test_cursor_is_not_bound_to_the_selection():
    assert parse(fields="id", omit_nulls="1").cursor_parameters() == parse().cursor_parameters()


def is_list_read(op):
    pages = "next_cursor" in getattr(op.answer, "model_fields", ())
    return op.method == "GET" and (pages or op.id.startswith("list_"))


async def test_every_list_read_accepts_a_selection_of_its_rows(tmp_path):
    async with run_deployment("memory", tmp_path) as served:
        operations = served.service.ports.registry.operations
        selecting = {op.path: op for op in operations if op.query and issubclass(op.query, RowSelection)}
        assert {op.path for op in operations if is_list_read(op)} - set(selecting) == set()
        assert {"/traffic", "/attribution", "/ledger", "/search", "/event-names", "/links"} <= set(selecting)
        for op in selecting.values():
            row_list = row_list_field_of_answer(op.path, op.answer)
            assert row_list in TypeAdapter(op.answer).json_schema()["properties"], op.path


async def test_rows_of_events_and_people_are_selected(tmp_path):
    async with run_deployment("memory", tmp_path) as served:
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
