"""Links in the ingest process as `touchpoint serve` starts it: two listeners, and clicks that survive its end."""

import asyncio
from datetime import UTC, datetime
from uuid import UUID

import pytest

from hosts.composition.compose import compose
from hosts.composition.load import load_settings
from hosts.ingest.child import IngestChild
from service_core.testing.loopback import held_port
from service_core.workspace.links.ports import ClickCount
from tests.hosts.edge.conftest import Edge
from tests.workspace.conftest import Office


@pytest.fixture
async def office(tmp_path):
    office = Office(tmp_path)
    own = f"127.0.0.1:{held_port(office)}"
    config = tmp_path / "touchpoint.toml"
    config.write_text(
        f'[links]\ndomain = "go.example.com"\n[http]\nlinks = "{own}"\n[storage]\nevents = "memory://"\n'
    )
    office.service = compose(load_settings(config), tmp_path)
    office.config, office.own, office.now = config, own, datetime.now(UTC)
    async with office.service:
        yield await office.open()


async def clicks_of(office, link):
    """The count of a link, None before its first click."""
    workspace_id, link_id = UUID(link["workspace_id"]), UUID(link["id"])
    return (await office.service.ports.workspace.click_counts(workspace_id)).get(link_id)


async def test_links_are_followed_at_both_addresses_and_no_click_is_lost(office):
    link = (await office.link(slug="spring"))["data"]
    child = await IngestChild.start(office.config, listen="127.0.0.1:0")
    mounted, own = Edge(office, child.address), Edge(office, office.own)
    hours = {datetime.now(UTC).hour}
    answers = await asyncio.gather(*(edge.follow("/spring") for edge in (mounted, own) for _ in range(20)))
    hours.add(datetime.now(UTC).hour)
    assert {answer.status for answer in answers} == {302}
    assert (await own.follow("/track", method="POST")).status == 405
    assert (await mounted.follow("/track", host="ingest.example", method="POST")).status == 401
    assert await child.stop() == 0
    found = await clicks_of(office, link)
    assert found == ClickCount(40, found.unique_clicks)
    assert 1 <= found.unique_clicks <= len(hours)  # unique once an hour
