"""What OpenAPI says of a read is what a client meets: which parameters it needs, and what it answers."""

from datetime import datetime
from types import NoneType
from typing import get_args

import pytest
from jsonschema import Draft202012Validator

from service_core.api.openapi import build_openapi
from service_core.builtin import operations
from service_core.ingestion.models import COLUMNS, WIRE_COLUMNS
from tests.analytics.deployment import run_deployment

ROOT = "/v1"
DAYS = {"start_date": "2026-07-01", "end_date": "2026-07-07"}
REQUIRED_PARAMETERS = {
    "experiment": "checkout",
    **DAYS,
    "dimension": "country",
    "q": "visitors",
    "steps": "page_view,purchase",
    "step": "1",
    "start": "/",
}
"""A value for everything a read may need."""
EITHER = {"/ads": {"start_date", "end_date"}}
"""Of two forms, one that is needed where the other is not sent: no parameter by itself is."""

DOCUMENT = build_openapi(operations(), public_url="https://t.example")
PATHS, SCHEMAS = DOCUMENT["paths"], DOCUMENT["components"]["schemas"]
READS = {
    path.removeprefix(ROOT): ways["get"]
    for path, ways in PATHS.items()
    if path.startswith(ROOT) and "{" not in path and "get" in ways and "signup" not in path
}


@pytest.fixture
async def workspace_client(tmp_path):
    async with run_deployment("memory", tmp_path) as served:
        yield await served.workspace()


def required_parameters(read):
    return {parameter["name"] for parameter in read.get("parameters", ()) if parameter["required"]}


def test_some_reads_need_parameters_and_others_have_a_default():
    request = {path: required_parameters(read) for path, read in READS.items()}
    assert request["/overview"] == request["/users"] == request["/ledger"] == {"start_date", "end_date"}
    assert request["/funnel"] == {"steps"}
    assert request["/dimension-values"] == {"dimension"}
    assert request["/search"] == request["/docs/search"] == {"q"}
    assert request["/retention"] == request["/ltv"] == request["/events/properties"] == set()


async def test_read_needs_its_required_parameters(workspace_client):
    for path, read in READS.items():
        names = required_parameters(read) | EITHER.get(path, set())
        await workspace_client.get(path, **{name: REQUIRED_PARAMETERS[name] for name in names})
        for left_out in names:
            sent = {name: REQUIRED_PARAMETERS[name] for name in names - {left_out}}
            status, _ = await workspace_client.refused("GET", path, **sent)
            assert status == 400, (path, left_out)


def test_declared_bucket_sizes_are_accepted():
    assert SCHEMAS["Overview"]["properties"]["aggregation_level"]["enum"] == ["hour", "day", "week", "month"]
    sizes, absent = SCHEMAS["ResolvedQuery"]["properties"]["interval"]["anyOf"]
    assert (sizes["enum"], absent) == (["hour", "day", "week", "month", "quarter"], {"type": "null"})


def schema_errors(answer):
    """What the document has against an answer of `/events`."""
    schema = {"$ref": "#/components/schemas/EventListResponse", "components": DOCUMENT["components"]}
    return [fault.json_path for fault in Draft202012Validator(schema).iter_errors(answer)]


def event_with_every_column():
    """A value for every column that may be absent."""
    values = {str: "x", int: 7}
    kinds = {f.name: get_args(f.type) for f in COLUMNS[: len(WIRE_COLUMNS)]}
    absent = {name: values.get(kinds[name][0], {"crm": "1"}) for name in kinds if NoneType in kinds[name]}
    return absent | {"currency": "JPY"}


async def test_event_rows_match_the_declared_columns(workspace_client):
    workspace_client.story.add_event("nothing", at="2026-07-01T10:00", visitor="V1")
    workspace_client.story.add_event(
        "everything",
        at="2026-07-01T11:00",
        visitor="V1",
        **event_with_every_column(),
        bot_reasons=("rate",),
        event_data={"n": [1, None]},
    )
    await workspace_client.knows()
    answer = await workspace_client.get("/events", **DAYS)
    assert [row["event_name"] for row in answer["events"]] == ["everything", "nothing"]
    assert None not in answer["events"][0].values()
    assert schema_errors(answer) == []
    described = SCHEMAS["EventRow"]["properties"]
    assert tuple(described) == WIRE_COLUMNS
    assert "required" not in SCHEMAS["EventRow"]  # `fields` chooses some of them
    assert all(column["description"] for column in described.values())
    assert {name for name, column in described.items() if {"type": "null"} in column.get("anyOf", ())} == {
        *event_with_every_column()
    }
    times = [name for name, column in described.items() if column.get("format") == "date-time"]
    assert times == [f.name for f in COLUMNS if f.type is datetime]


async def test_schema_check_detects_an_undeclared_column(workspace_client):
    workspace_client.story.add_event("sale", at="2026-07-01T10:00", visitor="V1", revenue=1250)
    await workspace_client.knows()
    answer = await workspace_client.get("/events", **DAYS)
    for spoilt in (
        {"visitor_id": None},
        {"revenue": "12.50"},
        {"is_bot": 0},
        {"ip": "203.0.113.7"},
        {"external_ids": {"crm": 1}},
    ):
        assert schema_errors(answer | {"events": [answer["events"][0] | spoilt]}), spoilt
