"""Answers of at most 16 MB: pages are cut at a row and go on, other reads are refused with a hint."""

from typing import Annotated

import pytest

from service_core.access.models import Caller
from service_core.api.answer_size import MAX_ANSWER_BYTES
from service_core.kernel.file_response import FileResponse
from service_core.kernel.operations import RateLimitClass, Scope, operation
from service_core.kernel.paging import (
    OffsetCursor,
    cursor_scope_digest,
    decode_offset_cursor,
    encode_offset_cursor,
)
from service_core.kernel.schemas import BodyModel, Clamp, QueryModel, ResponseModel
from tests.fixtures.sample_api import SampleApi

ROW_BYTES = 100_000
ROWS = 400
"""Of 100 kB each: 40 MB."""


class RowsQuery(QueryModel):
    limit: Annotated[int, Clamp(1, 1000)] = 1000
    cursor: str | None = None


class Rows(ResponseModel):
    rows: list[str]
    next_cursor: str | None


class Size(BodyModel):
    size: int = 0


def binding(query, caller):
    return cursor_scope_digest(caller.workspace.secret, query.cursor_parameters())


@operation("GET /rows", tag="rows")
async def list_rows(query: RowsQuery, *, caller: Caller) -> Rows:
    """List rows."""
    digest = binding(query, caller)
    offset = decode_offset_cursor(query.cursor, digest).offset if query.cursor else 0
    rows = [f"{number:{ROW_BYTES}}" for number in range(offset, min(ROWS, offset + query.limit))]
    following = OffsetCursor(offset + len(rows), caller.now)
    more = following.offset < ROWS
    return Rows(rows=rows, next_cursor=encode_offset_cursor(following, digest) if more else None)


@operation("GET /blob", tag="rows")
async def get_blob(*, caller: Caller) -> dict[str, str]:
    """Answer with more than 16 MB."""
    return {"blob": "x" * (MAX_ANSWER_BYTES + 1)}


@operation("GET /fixed-rows", tag="rows")
async def list_fixed_rows(query: RowsQuery, *, caller: Caller) -> Rows:
    """Answer with the same rows whatever the limit."""
    return Rows(rows=["x" * MAX_ANSWER_BYTES] * 2, next_cursor=None)


@operation("POST /blob", scope=Scope.WRITE_REPORTS, rate_limit=RateLimitClass.MUTATION, tag="rows")
async def change_blob(body: Size, *, caller: Caller) -> dict[str, str]:
    """Change something, and say so at length."""
    return {"blob": "x" * (MAX_ANSWER_BYTES + 1)}


@operation("GET /file", tag="rows")
async def get_file(*, caller: Caller) -> FileResponse:
    """Stream a file."""

    async def chunks():
        for _ in range(17):
            yield b"x" * 1_000_000

    return FileResponse("rows.csv", "text/csv; charset=utf-8", 17_000_000, chunks)


@pytest.fixture
async def rows_api():
    operations = (list_rows, get_blob, list_fixed_rows, change_blob, get_file)
    return await SampleApi(operations).open()


async def test_large_page_is_cut_at_a_row_and_pages_give_every_row(rows_api):
    rows, cursor, pages = [], "", 0
    while cursor is not None:
        answer = await rows_api.ask("GET", f"/v1/rows?limit=1000&cursor={cursor}")
        assert answer.status == 200, answer.json
        assert len(answer.body) <= MAX_ANSWER_BYTES
        rows += [int(row) for row in answer.json["rows"]]
        cursor, pages = answer.json["next_cursor"], pages + 1
    assert rows == list(range(ROWS))
    assert pages == 3


async def test_cursor_of_a_cut_page_stays_bound_to_the_limit_that_was_sent(rows_api):
    cursor = (await rows_api.ask("GET", "/v1/rows?limit=1000")).json["next_cursor"]
    refused = await rows_api.ask("GET", f"/v1/rows?limit=999&cursor={cursor}")
    assert (refused.status, refused.json["code"]) == (400, "invalid_cursor")


@pytest.mark.parametrize("path", ["/v1/blob", "/v1/fixed-rows"])
async def test_answer_that_pages_cannot_make_smaller_is_refused_with_a_hint(rows_api, path):
    refused = await rows_api.ask("GET", path)
    assert (refused.status, refused.json["code"]) == (400, "answer_too_large")
    assert "export" in refused.json["hint"]


async def test_answer_to_an_applied_write_is_never_refused(rows_api):
    answer = await rows_api.ask("POST", "/v1/blob", key="editor", body=b"{}")
    assert (answer.status, len(answer.body) > MAX_ANSWER_BYTES) == (200, True)


async def test_files_are_streams_without_the_limit(rows_api):
    answer = await rows_api.ask("GET", "/v1/file")
    assert (answer.status, answer.headers["Content-Length"]) == (200, "17000000")
