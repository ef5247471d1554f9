"""What OpenAPI says of a read is what a client meets: which parameters it needs, and what it answers."""

import pytest

from service_core.builtin import operations
from service_core.gateway.openapi import describe
from tests.insight.served import serving

ROOT = "/v1"
DAYS = {"start_date": "2026-07-01", "end_date": "2026-07-07"}
ENOUGH = {**DAYS, "dimension": "country", "q": "visitors", "steps": "page_view,purchase"}
"""A value for everything a read may need."""

PATHS = describe(operations(), public_url="https://t.example")["paths"]
READS = {
    path.removeprefix(ROOT): ways["get"]
    for path, ways in PATHS.items()
    if path.startswith(ROOT) and "{" not in path and "get" in ways and "signup" not in path
}


@pytest.fixture
async def shop(tmp_path):
    async with serving("memory", tmp_path) as served:
        yield await served.workspace()


def needed(read):
    return {parameter["name"] for parameter in read.get("parameters", ()) if parameter["required"]}


def test_some_reads_need_parameters_and_others_have_a_default():
    asked = {path: needed(read) for path, read in READS.items()}
    assert asked["/overview"] == asked["/users"] == asked["/ledger"] == {"start_date", "end_date"}
    assert asked["/funnel"] == {"steps"}
    assert asked["/dimension-values"] == {"dimension"}
    assert asked["/search"] == asked["/docs/search"] == {"q"}
    assert asked["/retention"] == asked["/ltv"] == asked["/events/properties"] == set()


async def test_a_read_answers_with_what_it_needs_and_is_refused_without(shop):
    for path, read in READS.items():
        names = needed(read)
        await shop.get(path, **{name: ENOUGH[name] for name in names})
        for left_out in names:
            sent = {name: ENOUGH[name] for name in names - {left_out}}
            status, _ = await shop.refused("GET", path, **sent)
            assert status == 400, (path, left_out)


def test_a_size_of_buckets_is_one_that_the_read_has():
    schemas = describe(operations(), public_url="https://t.example")["components"]["schemas"]
    assert schemas["Overview"]["properties"]["aggregation_level"]["enum"] == ["hour", "day", "week", "month"]
    sizes, absent = schemas["Resolved"]["properties"]["interval"]["anyOf"]
    assert (sizes["enum"], absent) == (["hour", "day", "week", "month", "quarter"], {"type": "null"})
