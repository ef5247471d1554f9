"""Redirects of trackable links over HTTP."""

import asyncio
import json
import sqlite3
from contextlib import closing
from uuid import UUID

import pytest
from pydantic import ValidationError

from hosts.edge import click_writer
from hosts.edge.app import create_edge_app
from hosts.edge.redirect_dependencies import redirect_dependencies
from service_core.kernel.errors import ServiceUnavailable
from service_core.kernel.settings import Settings
from service_core.workspace.links.ports import ClickCount
from tests.hosts.edge.conftest import CHROME, GUARD_SECONDS, IPHONE, PIXEL, EdgeClient, serve_edge
from tests.hosts.http.conftest import run_server
from tests.workspace.conftest import WorkspaceApi

GOOGLEBOT = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"
SLACK = "Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)"
IMESSAGE = "facebookexternalhit/1.1 Facebot Twitterbot/1.0"
WHATSAPP = "WhatsApp/2.23.20.0"


async def create_reel_link(edge, **fields):
    return (await edge.office.link(slug="spring", **fields))["data"]


async def test_slug_redirects_to_its_destination_with_the_tag(edge):
    made = await create_reel_link(edge, destination_url="https://example.com/a#top", utm_source="insta")
    answer = await edge.follow("/spring")
    assert answer.location == f"https://example.com/a?lyr={made['tracking_identifier']}&utm_source=insta#top"
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["referrer-policy"] == "no-referrer-when-downgrade"
    assert answer.body == b""


@pytest.mark.parametrize(
    "path",
    ["/other", "/", "/spring/", "/Spring", "/spring/x", "/%2e%2e", "/a b", "/" + "a" * 65, "//evil.example"],
)
async def test_unknown_slug_returns_a_not_found_page(edge, path):
    await create_reel_link(edge)
    answer = await edge.follow(path.replace(" ", "%20"))
    assert (answer.status, answer.headers["content-type"]) == (404, "text/html; charset=utf-8")
    assert b"<h1>Link not found</h1>" in answer.body
    assert "location" not in answer.headers


async def test_slug_belongs_to_its_domain(edge):
    await create_reel_link(edge)
    assert (await edge.follow("/spring", host="evil.example")).status == 404
    assert (await edge.follow("/spring", host="go.example.com.evil.example")).status == 404
    assert (await edge.follow("/spring", host="GO.example.com:8443")).status == 302


async def test_links_accept_only_get_and_head(edge):
    await create_reel_link(edge)
    for method in ("POST", "DELETE", "OPTIONS"):
        answer = await edge.follow("/spring", method=method)
        assert (answer.status, answer.headers["allow"]) == (405, "GET, HEAD")
    assert await edge.clicks() == (0, 0)


async def test_changed_and_deleted_links_apply_immediately(edge):
    made = await create_reel_link(edge)
    for n in range(5):
        patch = {"link": {"destination_url": f"https://example.com/{n}"}}
        await edge.office.ask("PATCH", f"/links/{made['id']}", patch)
        assert (await edge.follow("/spring")).location.startswith(f"https://example.com/{n}?lyr=")
    gone = (await edge.office.ask("DELETE", f"/links/{made['id']}")).json
    assert (await edge.follow("/spring")).status == 404
    undone = (await edge.office.ask("POST", f"/audit/{gone['audit_id']}/undo")).json["data"]
    assert undone["id"] == made["id"]
    assert await edge.wait_for_counts(5, 1)
    lyr = made["tracking_identifier"]
    assert (await edge.follow("/spring")).location == f"https://example.com/4?lyr={lyr}"


async def test_link_created_after_a_miss_works_immediately(edge):
    assert (await edge.follow("/spring")).status == 404
    await create_reel_link(edge)
    assert (await edge.follow("/spring")).status == 302


async def test_dry_run_changes_no_redirect(edge):
    made = await create_reel_link(edge)
    await edge.office.ask("DELETE", f"/links/{made['id']}?dry_run=true")
    patch = {"link": {"destination_url": "https://example.com/b"}, "dry_run": True}
    await edge.office.ask("PATCH", f"/links/{made['id']}", patch)
    assert (await edge.follow("/spring")).location.startswith("https://example.com/a?")


async def test_redirect_target_depends_on_the_device(edge):
    made = await create_reel_link(
        edge, target="app", ios_url="https://apps.apple.com/app/id1",
        android_url="https://play.google.com/store/apps/details?id=com.example", utm_source="insta",
    )  # fmt: skip
    lyr = made["tracking_identifier"]
    assert (await edge.follow("/spring")).location == f"https://example.com/a?lyr={lyr}&utm_source=insta"
    assert (await edge.follow("/spring", agent=IPHONE)).location == (
        f"https://apps.apple.com/app/id1?lyr={lyr}&utm_source=insta"
    )
    assert (await edge.follow("/spring?gclid=Cj0", agent=PIXEL)).location == (
        f"https://play.google.com/store/apps/details?id=com.example&gclid=Cj0&lyr={lyr}&utm_source=insta&"
        f"referrer=lyr%3D{lyr}%26utm_source%3Dinsta%26tp_click_id%3DCj0%26tp_click_id_type%3Dgclid"
    )
    assert (await edge.follow("/spring", agent=None)).location.startswith("https://example.com/a?")


async def test_head_redirects_without_recording_a_click(edge):
    await create_reel_link(edge)
    followed, looked = await edge.follow("/spring"), await edge.follow("/spring", method="HEAD")
    assert (looked.status, looked.location) == (302, followed.location)
    assert await edge.wait_for_counts(1, 1)
    missing = await edge.follow("/other", method="HEAD")
    assert (missing.status, missing.body) == (404, b"")


@pytest.mark.parametrize(
    "request_of",
    [
        {"agent": GOOGLEBOT}, {"agent": SLACK}, {"agent": IMESSAGE}, {"agent": WHATSAPP},
        {"Sec_Purpose": "prefetch"}, {"Purpose": "preview"}, {"X_Moz": "prefetch"},
    ],
    ids=str,
)  # fmt: skip
async def test_bots_prefetches_and_previews_are_not_counted(edge, request_of):
    await create_reel_link(edge)
    assert (await edge.follow("/spring", **request_of)).status == 302
    await edge.follow("/spring")
    assert await edge.wait_for_counts(1, 1)


async def test_unique_click_is_per_network_agent_and_hour(edge):
    await create_reel_link(edge)
    for client, agent in (
        ("203.0.113.7", CHROME), ("203.0.113.99", CHROME), ("203.0.113.7", IPHONE), ("203.0.112.7", CHROME),
        ("2001:db8:7::1", CHROME), ("2001:db8:7:9::2", CHROME), ("2001:db8:8::1", CHROME),
    ):  # fmt: skip
        await edge.follow("/spring", client=client, agent=agent)
    assert await edge.wait_for_counts(7, 5)
    edge.office.later(hours=1)
    await edge.follow("/spring", client="203.0.113.7")
    assert await edge.wait_for_counts(8, 6)


async def test_every_link_counts_its_own_clicks(edge):
    first = await create_reel_link(edge)
    second = (await edge.office.link(slug="summer"))["data"]
    direct = (await edge.office.link())["data"]
    await asyncio.gather(
        *(edge.follow("/spring") for _ in range(20)), *(edge.follow("/summer") for _ in range(5))
    )
    assert await edge.wait_for_counts(20, 1, first["id"])
    assert await edge.wait_for_counts(5, 1, second["id"])
    assert await edge.clicks(direct["id"]) == (None, None)
    patched = (await edge.office.ask("PATCH", f"/links/{first['id']}", {"link": {"name": "Other"}})).json
    assert (patched["data"]["clicks"], patched["data"]["unique_clicks"]) == (20, 1)


async def test_app_association_files_are_served(tmp_path):
    one, other = (":".join([part] * 32) for part in ("14", "6D"))
    apps = [f"com.example.app/{one}", f"com.example.app/{other}", f"com.example.other/{one}"]
    links = {"domain": "go.example.com", "ios_apps": ["ABCDE12345.com.example.app"], "android_apps": apps}
    async with serve_edge(tmp_path, links=links) as edge:
        apple = await edge.follow("/.well-known/apple-app-site-association")
        google = await edge.follow("/.well-known/assetlinks.json")
    assert apple.headers["content-type"] == google.headers["content-type"] == "application/json"
    assert apple.body == (
        b'{"applinks":{"details":[{"appIDs":["ABCDE12345.com.example.app"],"components":[{"/":"/*"}]}]}}'
    )
    assert json.loads(google.body)[0] == {
        "relation": ["delegate_permission/common.handle_all_urls"],
        "target": {
            "namespace": "android_app",
            "package_name": "com.example.app",
            "sha256_cert_fingerprints": [one, other],
        },
    }


@pytest.mark.parametrize(
    "links",
    [
        {"ios_apps": ["com.example.app"]},
        {"android_apps": ["com.example.app"]},
        {"android_apps": ["com.example.app/14:6D"]},
    ],
)
def test_invalid_app_id_stops_the_start(links):
    with pytest.raises(ValidationError, match="pattern"):
        Settings.model_validate({"links": links})


async def test_association_files_are_not_found_without_apps(edge):
    for name in ("apple-app-site-association", "assetlinks.json"):
        assert (await edge.follow(f"/.well-known/{name}")).status == 404


async def test_failed_click_write_does_not_stop_the_redirect_and_is_retried(edge, monkeypatch):
    await create_reel_link(edge)
    store, failures = edge.office.service.ports.workspace, []
    record = store.clicks.record_clicks

    async def away(clicks):
        failures.append(len(clicks))
        if len(failures) < 3:
            raise OSError("the disk is away")
        await record(clicks)

    monkeypatch.setattr(store.clicks, "record_clicks", away)
    assert (await edge.follow("/spring")).status == 302
    assert await edge.wait_for_counts(1, 1)
    assert len(failures) == 3


async def test_unavailable_store_returns_a_try_again_page(edge, monkeypatch):
    async def away(*_):
        raise ServiceUnavailable("away", "data_unverified")

    monkeypatch.setattr(edge.office.service.ports.workspace.unique_keys, "find_live_by_unique_key", away)
    answer = await edge.follow("/spring")
    assert (answer.status, answer.headers["retry-after"]) == (503, "5")


async def test_pending_clicks_are_stored_on_shutdown(tmp_path):
    async with serve_edge(tmp_path) as edge:
        made = await create_reel_link(edge)
        await asyncio.gather(*(edge.follow("/spring") for _ in range(50)))
    async with serve_edge(tmp_path) as edge:
        counts = await edge.office.service.ports.workspace.clicks.count_clicks(UUID(made["workspace_id"]))
    assert counts == {UUID(made["id"]): ClickCount(50, 1)}


async def test_shutdown_waits_for_a_click_that_is_being_written(tmp_path, monkeypatch):
    workspace_api, store_answers = WorkspaceApi(tmp_path), asyncio.Event()
    ports, settings = workspace_api.service.ports, workspace_api.service.settings
    clicks = ports.workspace.clicks
    record = clicks.record_clicks

    async def record_when_the_store_answers(batch):
        await store_answers.wait()
        await record(batch)

    monkeypatch.setattr(clicks, "record_clicks", record_when_the_store_answers)
    async with workspace_api.service:
        async with redirect_dependencies(settings, ports, lambda peer, _: peer) as dependencies:
            await workspace_api.open()
            async with run_server(create_edge_app(dependencies), "hypercorn") as live:
                edge = EdgeClient(workspace_api, f"127.0.0.1:{live.port}", dependencies)
                made = await create_reel_link(edge)
                assert (await edge.follow("/spring")).status == 302
            asyncio.get_running_loop().call_later(0.2, store_answers.set)
        counts = await clicks.count_clicks(UUID(made["workspace_id"]))
    assert counts == {UUID(made["id"]): ClickCount(1, 1)}


async def test_clicks_above_the_queue_bound_are_reported_once_when_the_store_is_back(
    edge, monkeypatch, caplog
):
    await create_reel_link(edge)
    clicks, is_away = edge.office.service.ports.workspace.clicks, True
    record = clicks.record_clicks

    async def record_unless_away(batch):
        if is_away:
            raise OSError("the disk is away")
        await record(batch)

    monkeypatch.setattr(clicks, "record_clicks", record_unless_away)
    monkeypatch.setattr(click_writer, "MAX_QUEUED", 2)
    for _ in range(5):
        assert (await edge.follow("/spring")).status == 302
    is_away = False
    assert await edge.wait_for_counts(2, 1)
    await edge.follow("/spring")
    assert await edge.wait_for_counts(3, 1)
    lost = [entry.clicks for entry in caplog.records if "were not kept" in entry.message]
    assert lost == [3]


async def test_click_records_request_fields_and_marks_bots(edge, tmp_path):
    made = await create_reel_link(edge)
    referrer = "https://insta.example/p?token=abc&x=1"
    await edge.follow("/spring?gclid=Cj0&utm_source=x", agent=PIXEL, client="203.0.113.7", Referer=referrer)
    await edge.follow("/spring", agent=GOOGLEBOT, client="::ffff:203.0.113.8")
    assert await edge.wait_for_counts(1, 1)
    async with asyncio.timeout(GUARD_SECONDS):
        while len(rows := association_app_options(tmp_path)) < 2:
            await asyncio.sleep(0.01)
    assert sorted(rows) == [
        (
            made["tracking_identifier"], 0, PIXEL, "203.0.113.7", "203.0.113.0/24", None, "mobile",
            "https://insta.example/p?token=redacted&x=1", '{"gclid": "Cj0"}',
        ),
        (
            made["tracking_identifier"], 1, GOOGLEBOT, "203.0.113.8", "203.0.113.0/24", None, "other", None, "{}",
        ),
    ]  # fmt: skip


def association_app_options(folder):
    """Clicks as they lie in the store."""
    columns = "lyr, is_bot, user_agent, ip, network, country, device_type, referrer, click_ids"
    with closing(sqlite3.connect(folder / "workspace.db")) as connection:
        return connection.execute(f"SELECT {columns} FROM clicks").fetchall()
