"""`POST /query` as an Arrow stream: the values of the JSON answer, typed."""

import threading
from datetime import UTC, date, datetime
from decimal import Decimal

import nanoarrow
import orjson
import polars as pl
import pytest

from service_core.api.http_messages import ApiRequest
from service_core.testing.standard_dataset import SHOP, standard_events
from tests.analytics.deployment import run_deployment

ARROW = "application/vnd.apache.arrow.stream"
WEEK = {"from": "2026-03-02", "to": "2026-03-08"}


@pytest.fixture
async def shop(tmp_path):
    """A client of a workspace with the standard events."""
    async with run_deployment("duckdb", tmp_path) as deployment:
        client = await deployment.workspace(SHOP)
        await client.knows(*standard_events())
        yield client


async def ask_for_arrow(shop, plan):
    headers = {"authorization": f"Bearer {shop.key}", "accept": ARROW}
    response = await shop.service.dispatch(
        ApiRequest("POST", "/v1/query", headers=headers, body=orjson.dumps(plan))
    )
    assert (response.status, response.headers["Content-Type"]) == (200, ARROW), response.body
    return response


def json_value(value):
    match value:
        case datetime(tzinfo=None):
            return value.strftime("%Y-%m-%dT%H:%M")
        case datetime():
            return value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")
        case date():
            return value.isoformat()
        case Decimal():
            return float(value)
        case _:
            return value


@pytest.mark.parametrize("interval", [None, "day"])
async def test_every_metric_has_the_values_of_json(shop, interval):
    ids = [metric["id"] for metric in (await shop.get("/metrics/catalog"))["metrics"]]
    measured = set()
    for some in (ids[start : start + 10] for start in range(0, len(ids), 10)):
        plan = {"metrics": some, "date_range": WEEK} | ({"interval": interval} if interval else {})
        expected = (await shop.post("/query", plan))["rows"]
        frame = pl.read_ipc_stream((await ask_for_arrow(shop, plan)).body)
        got = [{name: json_value(value) for name, value in row.items()} for row in frame.to_dicts()]
        assert got == expected
        measured |= {name for row in expected for name in some if row[name]}
    assert {"visitors", "revenue", "bounce_rate", "aov", "attributed_conversions"} <= measured


async def test_columns_have_types_and_unknown_values_are_null(shop):
    metrics = ["visitors", "revenue", "bounce_rate", "attributed_conversions"]
    plan = {"metrics": metrics, "interval": "day", "dimensions": ["channel"], "date_range": WEEK}
    frame = pl.read_ipc_stream((await ask_for_arrow(shop, plan)).body)
    assert dict(frame.schema) == {
        "bucket": pl.Datetime("ms", "UTC"),
        "date": pl.Date,
        "partial": pl.Boolean,
        "channel": pl.String,
        "visitors": pl.Int64,
        "revenue": pl.Decimal(38, 2),
        "bounce_rate": pl.Float64,
        "attributed_conversions": pl.Float64,
    }
    spend = pl.read_ipc_stream(
        (await ask_for_arrow(shop, {"metrics": ["ad_spend"], "interval": "hour", "date_range": WEEK})).body
    )
    assert spend.schema["date"] == pl.Datetime("ms")
    assert spend["ad_spend"].null_count() == len(spend) == 100


async def test_headers_say_what_is_missing_and_how_to_read_it(shop):
    plan = {"metrics": ["visitors"], "dimensions": ["page_path"], "date_range": WEEK, "limit": 1}
    response = await ask_for_arrow(shop, plan)
    headers = response.headers
    assert (headers["X-Complete"], headers["X-Truncated"]) == ("true", "true")
    assert (headers["X-Currency"], headers["X-Timezone"]) == (
        shop.workspace.currency,
        shop.workspace.timezone,
    )
    assert {"X-Currency", "X-Timezone"} <= set(headers["Access-Control-Expose-Headers"].split(", "))
    following = await ask_for_arrow(shop, plan | {"cursor": headers["X-Next-Cursor"]})
    rows = nanoarrow.ArrayStream.from_readable(following.body).read_all().to_pylist()
    assert rows == pl.read_ipc_stream(following.body).to_dicts() != []
    unknown = await ask_for_arrow(shop, {"metrics": ["ad_spend"], "date_range": WEEK})
    assert unknown.headers["X-Unavailable"] == "ad_spend=no_ad_platform"


async def test_stream_is_encoded_outside_the_event_loop(shop, monkeypatch):
    dispatcher = shop.service._dispatcher
    encode, threads = dispatcher._encode_arrow, []

    def note_thread_and_encode(table):
        threads.append(threading.current_thread())
        return encode(table)

    monkeypatch.setattr(dispatcher, "_encode_arrow", note_thread_and_encode)
    await ask_for_arrow(shop, {"metrics": ["visitors"], "date_range": WEEK})
    assert threads != [threading.main_thread()]


async def test_answer_without_rows_keeps_its_columns(shop):
    never = [{"dimension": "page_path", "value": "/never"}]
    plan = {"metrics": ["visitors"], "dimensions": ["page_path"], "filters": never, "date_range": WEEK}
    frame = pl.read_ipc_stream((await ask_for_arrow(shop, plan)).body)
    assert dict(frame.schema) == {"page_path": pl.String, "visitors": pl.Int64}
    assert frame.is_empty()
