"""`POST /query` as CSV and NDJSON."""

import csv
import io

import orjson
import pytest

from service_core.api.http_messages import ApiRequest
from service_core.api.render_table import choose_media_type, encode_table
from service_core.kernel.answer_table import AnswerTable
from tests.analytics.deployment import run_deployment

PLAN = {
    "metrics": ["visitors", "bounce_rate", "ad_spend"],
    "dimensions": ["page_path"],
    "date_range": {"from": "2026-07-01", "to": "2026-07-07"},
}
EVENTS = {**PLAN, "metrics": ["events", "active_users_1d"], "dimensions": ["event_name"]}
CSV, NDJSON = "text/csv", "application/x-ndjson"
ARROW = "application/vnd.apache.arrow.stream"
FORMULAS = ("=1+2", "+49", "-1", "@SUM(A1)", "\tx", "\rx")


@pytest.fixture
async def shop(tmp_path):
    """A workspace with an event of every name that a spreadsheet would run, and one with a comma and quotes."""
    async with run_deployment("memory", tmp_path) as deployment:
        client = await deployment.workspace()
        for name in (*FORMULAS, 'a "b", c', "page_view", "page_view"):
            client.story.add_event(name, at="2026-07-02T15:00", visitor="V1")
        await client.knows()
        yield client


async def ask_as(shop, accept, plan):
    headers = {"authorization": f"Bearer {shop.key}", "accept": accept}
    return await shop.service.dispatch(
        ApiRequest("POST", "/v1/query", headers=headers, body=orjson.dumps(plan))
    )


async def test_csv_has_the_rows_of_json_in_their_order(shop):
    expected = (await shop.post("/query", EVENTS | {"format": "compact"}))["rows"]
    got = await ask_as(shop, CSV, EVENTS)
    assert (got.status, got.headers["Content-Type"]) == (200, "text/csv; charset=utf-8")
    header, *rows = csv.reader(io.StringIO(got.body.decode(), newline=""))
    assert header == ["event_name", "events", "active_users_1d"]
    assert [[name.removeprefix("'"), int(events), int(users)] for name, events, users in rows] == expected
    assert got.body.count(b"\r\n") == len(rows) + 1
    assert got.headers["X-Complete"] == "true"
    assert (got.headers["X-Currency"], got.headers["X-Timezone"]) == (
        shop.workspace.currency,
        shop.workspace.timezone,
    )
    assert "X-Unavailable" not in got.headers


async def test_csv_cells_that_a_spreadsheet_would_run_get_an_apostrophe(shop):
    got = await ask_as(shop, CSV, EVENTS)
    _, *rows = csv.reader(io.StringIO(got.body.decode(), newline=""))
    names = {row[0] for row in rows}
    assert names == {*(f"'{name}" for name in FORMULAS), 'a "b", c', "page_view"}


async def test_ndjson_has_the_rows_of_json_and_a_last_record_with_the_rest(shop):
    comparing = EVENTS | {"compare": "previous_period", "interval": "week"}
    expected = await shop.post("/query", comparing)
    got = await ask_as(shop, NDJSON, comparing)
    assert (got.status, got.headers["Content-Type"]) == (200, NDJSON)
    *rows, last = map(orjson.loads, got.body.splitlines())
    assert rows == expected["rows"]
    assert last["totals"] == expected["totals"]
    assert last["comparison"] == expected["comparison"]
    assert last["meta"] | {"query_ms": 0} == expected["meta"] | {"query_ms": 0}


async def test_csv_says_which_metrics_are_unknown_and_where_rows_go_on(shop):
    plan = {**EVENTS, "metrics": ["events"], "limit": 5}
    got = await ask_as(shop, CSV, plan)
    assert got.headers["X-Truncated"] == "true"
    following = await ask_as(shop, CSV, plan | {"cursor": got.headers["X-Next-Cursor"]})
    assert following.headers["X-Truncated"] == "false"
    assert (got.body.count(b"\r\n"), following.body.count(b"\r\n")) == (1 + 5, 1 + len(FORMULAS) + 2 - 5)
    unknown = {key: value for key, value in PLAN.items() if key != "dimensions"}
    got = await ask_as(shop, CSV, unknown)
    assert got.headers["X-Unavailable"] == "ad_spend=no_ad_platform"
    assert got.body.splitlines()[1].endswith(b",")
    exposed = got.headers["Access-Control-Expose-Headers"].split(", ")
    assert {"X-Complete", "X-Truncated", "X-Unavailable", "Retry-After"} <= set(exposed)


@pytest.mark.parametrize("accept", [CSV, ARROW])
async def test_format_without_place_for_a_comparison_is_refused(shop, accept):
    got = await ask_as(shop, accept, EVENTS | {"compare": True})
    answer = orjson.loads(got.body)
    assert (got.status, answer["code"], answer["field"]) == (400, "invalid_parameter", "compare")


async def test_errors_and_other_operations_stay_json(shop):
    got = await ask_as(shop, CSV, {**EVENTS, "metrics": ["mood"]})
    assert (got.status, orjson.loads(got.body)["code"]) == (400, "unknown_metric")
    headers = {"authorization": f"Bearer {shop.key}", "accept": CSV}
    usage = await shop.service.dispatch(ApiRequest("GET", "/v1/usage", headers=headers))
    assert usage.headers["Content-Type"] == "application/json"


@pytest.mark.parametrize(
    ("accept", "chosen"),
    [
        ("", "application/json"),
        ("*/*", "application/json"),
        ("text/html", "application/json"),
        ("TEXT/CSV", "text/csv; charset=utf-8"),
        ("text/*;q=0.5, */*;q=0.1", "text/csv; charset=utf-8"),
        ("text/csv;q=0.1, application/json", "application/json"),
        ("application/x-ndjson, text/csv;q=0.9", NDJSON),
        (f"{ARROW}, */*;q=0.5", ARROW),
        ("text/csv;q=soon, */*;q=0.1", "application/json"),
    ],
)
def test_header_accept_chooses_the_format(accept, chosen):
    assert choose_media_type(accept) == chosen


def test_numbers_and_booleans_are_plain_cells():
    table = AnswerTable(
        ("a", "b", "c", "d"), (), [(1e-06, -5, True, None), (1234567890123.25, 0.1, False, "")]
    )
    body = encode_table(table, "text/csv; charset=utf-8", None, None)
    assert body == b"a,b,c,d\r\n0.000001,-5,true,\r\n1234567890123.25,0.1,false,\r\n"
