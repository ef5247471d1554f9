"""Two people at once: of those who saw the same state one changes it, on each database."""

import asyncio
from collections import Counter

import pytest

from tests.workspace.saved.conftest import SavedReportsApi


@pytest.fixture
async def api_client(tmp_path, workspace_url):
    made = SavedReportsApi(tmp_path, storage={"events": "memory://", "workspace": workspace_url})
    async with made.service:
        yield await made.open()


async def send_concurrently(api_client, *requests):
    """The answers to requests sent together, in a minute of their own."""
    api_client.later(minutes=1)
    return await asyncio.gather(*(api_client.send(*request) for request in requests))


async def test_one_of_20_concurrent_patches_succeeds(api_client):
    board = await api_client.board()
    target, seen = f"/dashboards/{board['id']}", {"expected_updated_at": board["updated_at"]}
    bodies = [{"dashboard": {"name": f"N{number}", **seen}} for number in range(20)]
    found = await send_concurrently(api_client, *(("PATCH", target, body) for body in bodies))
    assert Counter(answer.json.get("code") for answer in found) == {None: 1, "stale_update": 19}
    (won,) = (answer.json["data"] for answer in found if "data" in answer.json)
    assert (await api_client.ask("GET", target)).json == won


async def test_concurrent_patch_and_reorder_of_one_version_exclude_each_other(api_client):
    reports = [await api_client.plan(f"R{number}") for number in range(3)]
    board = await api_client.board(*reports)
    target, seen = f"/dashboards/{board['id']}", {"expected_updated_at": board["updated_at"]}
    turned = {"report_ids": [report["id"] for report in reversed(reports)], **seen}
    requests = [
        ("POST", f"{target}/reorder", turned),
        ("PATCH", target, {"dashboard": {"name": "N", **seen}}),
    ]
    found = await send_concurrently(api_client, *requests * 4)
    assert Counter(answer.status for answer in found) == {200: 1, 409: 7}
    assert len((await api_client.ask("GET", f"/audit?resource_id={board['id']}")).json["entries"]) == 2


async def test_concurrent_deletes_delete_a_report_once(api_client):
    report = await api_client.chart()
    board = await api_client.board(report)
    found = await send_concurrently(api_client, *[("DELETE", f"/reports/{report['id']}")] * 8)
    assert Counter(answer.status for answer in found) == {200: 1, 404: 7}
    (card,) = (await api_client.ask("GET", f"/dashboards/{board['id']}")).json["cards"]
    assert card["report"] is None
