"""Links in the ingest process as `touchpoint serve` starts it: two listeners, and clicks that survive its end."""

import asyncio
from datetime import UTC, datetime
from uuid import UUID

import pytest

from hosts.composition.compose import compose
from hosts.composition.load_settings import load_settings_with_environment
from hosts.ingest.ingest_process import IngestProcess
from service_core.testing.reserved_port import reserve_loopback_port
from service_core.workspace.links.ports import ClickCount
from tests.hosts.edge.conftest import EdgeClient
from tests.workspace.conftest import WorkspaceApi


@pytest.fixture
async def workspace_api(tmp_path):
    workspace_api = WorkspaceApi(tmp_path)
    own = f"127.0.0.1:{reserve_loopback_port(workspace_api)}"
    config = tmp_path / "touchpoint.toml"
    config.write_text(
        f'[links]\ndomain = "go.example.com"\n[http]\nredirects = "{own}"\n[storage]\nevents = "memory://"\n'
    )
    workspace_api.service = compose(load_settings_with_environment(config), tmp_path)
    workspace_api.config, workspace_api.own, workspace_api.now = config, own, datetime.now(UTC)
    async with workspace_api.service:
        yield await workspace_api.open()


async def read_click_counts(workspace_api, link):
    """The count of a link, None before its first click."""
    workspace_id, link_id = UUID(link["workspace_id"]), UUID(link["id"])
    return (await workspace_api.service.ports.workspace.clicks.count_clicks(workspace_id)).get(link_id)


async def test_links_redirect_at_both_addresses_without_losing_clicks(workspace_api):
    link = (await workspace_api.link(slug="spring"))["data"]
    child = await IngestProcess.start_and_wait_until_listening(workspace_api.config, listen="127.0.0.1:0")
    mounted, own = EdgeClient(workspace_api, child.address), EdgeClient(workspace_api, workspace_api.own)
    hours = {datetime.now(UTC).hour}
    answers = await asyncio.gather(*(edge.follow("/spring") for edge in (mounted, own) for _ in range(20)))
    hours.add(datetime.now(UTC).hour)
    assert {answer.status for answer in answers} == {302}
    assert (await own.follow("/track", method="POST")).status == 405
    assert (await mounted.follow("/track", host="ingest.example", method="POST")).status == 401
    assert await child.terminate_or_kill_after_timeout() == 0
    found = await read_click_counts(workspace_api, link)
    assert found == ClickCount(40, found.unique_clicks)
    assert 1 <= found.unique_clicks <= len(hours)  # unique once an hour
