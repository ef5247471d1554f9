"""A metric pack from outside: installed with pip, its metrics have one value wherever metrics are asked for."""

import json
import subprocess
import sys
from urllib.request import Request, urlopen

import pytest

from hosts.demo.demo_service import serve_in_subprocess
from service_core import builtin
from service_core.extensions.registry import collect_plugins_into_registry
from service_core.testing.event_builder import campaign_columns
from tests.analytics.deployment import STORES, run_deployment

RANGE = {"from": "2026-07-01", "to": "2026-07-02"}
PACK = ["video_plays", "video_viewers", "video_completion_rate"]


@pytest.fixture(scope="module")
def site(install):
    return install("metric_pack_video")


@pytest.fixture(params=list(STORES))
async def workspace_client(request, site, tmp_path, monkeypatch):
    """Ada, on two devices, sees the tour twice and once to its end; Bob begins the demo, a day later."""
    monkeypatch.syspath_prepend(str(site))
    async with run_deployment(
        request.param, tmp_path, collect_plugins_into_registry([("builtin", builtin)])
    ) as served:
        workspace_client = await served.workspace()
        tour, demo = {"event_data": {"video": "tour"}}, {"event_data": {"video": "demo"}}
        ada = {"strong_id": "U-ada", "country": "DE", **campaign_columns("google", "cpc", "spring")}
        workspace_client.story.add_event("video_play", at="2026-07-01T12:00", visitor="A1", **ada, **tour)
        workspace_client.story.add_event("video_complete", at="2026-07-01T12:05", visitor="A1", **ada, **tour)
        workspace_client.story.add_event("video_play", at="2026-07-01T20:00", visitor="A2", **ada, **tour)
        workspace_client.story.add_event(
            "video_play", at="2026-07-02T12:00", visitor="B1", country="US", **demo
        )
        workspace_client.story.add_event("page_view", at="2026-07-02T12:01", visitor="B1", country="US")
        await workspace_client.knows()
        yield workspace_client


async def test_catalog_lists_the_metrics_of_the_pack(workspace_client):
    catalog = await workspace_client.get("/metrics/catalog")
    found = {metric["id"]: metric for metric in catalog["metrics"] if metric["category"] == "video"}
    assert list(found) == PACK
    assert found["video_completion_rate"]["change_unit"] == "ratio"
    assert found["video_plays"] == {
        "id": "video_plays",
        "label": "Video plays",
        "description": "Events named `video_play`.",
        "unit": "count",
        "category": "video",
        "availability": {"available": True, "reason": None},
        "dimensions": ["video", "channel", "utm_campaign", "country", "device_type", "page_path"],
        "requires_attribution": False,
        "additivity": "additive",
        "change_unit": "ratio",
        "version": 1,
        "has_receipt": True,
    }
    assert {"id": "video", "label": "Video", "description": "The property `video` of the event."} in (
        catalog["dimensions"]
    )


async def test_pack_metrics_have_golden_values_alone_in_bulk_and_compared(workspace_client):
    request = {"metrics": [*PACK, "visitors"], "date_range": RANGE}
    bulk = {
        metric["id"]: metric["value"]
        for metric in (await workspace_client.post("/metrics", request))["metrics"]
    }
    assert bulk == {
        "video_plays": 3, "video_viewers": 2, "video_completion_rate": 0.333333, "visitors": 3,
    }  # fmt: skip
    for metric in PACK:
        alone = await workspace_client.post("/metrics", {"metrics": [metric], "date_range": RANGE})
        assert alone["metrics"][0]["value"] == bulk[metric]
    second = {"from": "2026-07-02", "to": "2026-07-02"}
    compared = await workspace_client.post(
        "/metrics", {"metrics": PACK[:1], "date_range": second, "compare": True}
    )
    assert (compared["metrics"][0]["value"], compared["metrics"][0]["previous_value"]) == (1, 2)


async def test_pack_metrics_split_by_pack_and_core_dimensions(workspace_client):
    by_video = await workspace_client.post(
        "/query", {"metrics": PACK, "dimensions": ["video"], "date_range": RANGE}
    )
    assert by_video["rows"] == [
        {"video": "tour", "video_plays": 2, "video_viewers": 1, "video_completion_rate": 0.5},
        {"video": "demo", "video_plays": 1, "video_viewers": 1, "video_completion_rate": 0},
    ]
    plan = {"metrics": ["video_plays"], "dimensions": ["utm_campaign"], "date_range": RANGE}
    plan["filters"] = [{"dimension": "video", "op": "starts_with", "value": "T"}]
    assert (await workspace_client.post("/query", plan))["rows"] == [
        {"utm_campaign": "spring", "video_plays": 2}
    ]


async def test_pack_metrics_have_a_time_series(workspace_client):
    answer = await workspace_client.post(
        "/query", {"metrics": PACK[:2], "interval": "day", "date_range": RANGE}
    )
    assert [(row["video_plays"], row["video_viewers"]) for row in answer["rows"]] == [(2, 1), (1, 1)]
    assert answer["totals"] == {"video_plays": 3, "video_viewers": 2}


async def test_pack_dimension_lists_its_values(workspace_client):
    days = {"start_date": "2026-07-01", "end_date": "2026-07-02"}
    values = (await workspace_client.get("/dimension-values", dimension="video", **days))["values"]
    assert {(each["value"], each["count"]) for each in values} >= {("tour", 2), ("demo", 1)}


def test_service_with_the_pack_starts_and_accepts_events(site, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(site))
    config = tmp_path / "shop" / "touchpoint.toml"
    done = subprocess.run(
        [sys.executable, "-m", "hosts.cli", "init", config.parent, "--json"],
        capture_output=True, text=True, check=True, timeout=200,
    )  # fmt: skip
    keys = json.loads(done.stdout)
    body = json.dumps({"event": "video_play", "anonymous_id": "A1"}).encode()
    with serve_in_subprocess(config, "127.0.0.1:0", "127.0.0.1:0") as service:
        request = Request(f"{service.ingest}/track", body, {"X-API-Key": keys["write_key"]})
        with urlopen(request) as answer:
            assert json.load(answer)["success"]
        catalog = Request(
            f"{service.api}/v1/metrics/catalog", headers={"Authorization": f"Bearer {keys['agent_key']}"}
        )
        with urlopen(catalog) as answer:
            assert {metric["id"] for metric in json.load(answer)["metrics"]} >= set(PACK)


def test_installed_package_has_the_page_with_its_template_and_style_sheet(site):
    installed = site / "metric_pack_video"
    assert (installed / "templates" / "video.html").is_file()
    assert (installed / "static" / "video.css").is_file()
