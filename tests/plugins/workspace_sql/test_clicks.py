"""Clicks and tags of links on each database: kept once, counted exactly, forgotten in part."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from uuid import uuid4

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service_core.access.ip_prefixes import truncate_to_ipv4_24_or_ipv6_48
from service_core.changes.actor import Actor
from service_core.kernel.ids import new_id
from service_core.workspace.links.clicks import Click
from service_core.workspace.links.models import UTM_PARAMETERS, LinkDomain, TrackingLink
from service_core.workspace.links.ports import ClickCount
from service_core.workspace.links.redirect_lookup import DatabaseRedirects
from tests.plugins.workspace_sql.conftest import NOW

HERE, HOST = "203.0.113.7", "go.example.com"


def make_click(workspace, link_id, *, at=NOW, ip=HERE, agent="Firefox", bot=False, lyr="k7m2q9xa"):
    return Click(
        id=new_id(), workspace_id=workspace.id, link_id=link_id, lyr=lyr, clicked_at=at, user_agent=agent, ip=ip,
        network=truncate_to_ipv4_24_or_ipv6_48(ip), country="DE", device_type="desktop", referrer="https://example.com/ä",
        click_ids={"gclid": "Cj0"}, is_bot=bot,
    )  # fmt: skip


@pytest.fixture
def workspace(initialized_deployment):
    return initialized_deployment.workspace


@pytest.fixture
def link_id():
    return uuid4()


@pytest.fixture
def create_link(directory, workspace):
    async def create_link(**changes):
        link = TrackingLink(
            id=new_id(), workspace_id=workspace.id, name="Reel", domain_id=LinkDomain(HOST).id,
            destination_url="https://example.com/", tracking_identifier="k7m2q9xa", slug="spring", target="web",
            ios_url=None, android_url=None, **dict.fromkeys(UTM_PARAMETERS), created_at=NOW, updated_at=NOW,
            created_via="api", created_by=Actor(type="key", id=new_id(), client_id=None),
        ).model_copy(update=changes)  # fmt: skip
        async with directory.transactions.write(workspace.id) as unit:
            await unit.resources.save(link)
        return link

    return create_link


async def test_click_is_unique_for_its_link_network_agent_and_hour(directory, workspace, link_id):
    other = uuid4()
    await directory.clicks.record_clicks(
        [
            make_click(workspace, link_id),
            make_click(workspace, link_id, ip="203.0.113.99"),
            make_click(workspace, link_id, agent="Chrome"),
            make_click(workspace, link_id, agent=None, ip=None),
            make_click(workspace, link_id, at=NOW + timedelta(hours=1)),
            make_click(workspace, link_id, bot=True, agent="Googlebot"),
            make_click(workspace, other),
        ]
    )
    await directory.clicks.record_clicks(
        [make_click(workspace, link_id), make_click(workspace, other, agent="Chrome")]
    )
    counts = {link_id: ClickCount(6, 4), other: ClickCount(2, 2)}
    assert await directory.clicks.count_clicks(workspace.id) == counts
    assert await directory.clicks.count_clicks(workspace.id, [other]) == {other: ClickCount(2, 2)}
    assert await directory.clicks.count_clicks(workspace.id, []) == {}


async def test_repeated_click_record_counts_once(directory, workspace, link_id):
    clicks = [make_click(workspace, link_id) for _ in range(300)]
    await directory.clicks.record_clicks(clicks[:200])
    await directory.clicks.record_clicks(clicks)
    assert await directory.clicks.count_clicks(workspace.id) == {link_id: ClickCount(300, 1)}


async def test_bot_clicks_are_not_counted(directory, workspace, link_id):
    await directory.clicks.record_clicks([make_click(workspace, link_id, bot=True)])
    assert await directory.clicks.count_clicks(workspace.id) == {}


async def test_concurrent_hosts_count_every_click(open_directory, directory, workspace, link_id):
    async with open_directory() as second:
        stores = [directory, second] * 10
        await asyncio.gather(
            *(
                store.clicks.record_clicks(
                    [make_click(workspace, link_id, agent=f"Agent {n % 5}") for n in range(20)]
                )
                for store in stores
            )
        )
    assert await directory.clicks.count_clicks(workspace.id) == {link_id: ClickCount(400, 5)}


async def test_ip_address_is_deleted_and_its_network_kept(directory, workspace, link_id):
    late = NOW + timedelta(days=1)
    await directory.clicks.record_clicks(
        [make_click(workspace, link_id), make_click(workspace, link_id, at=late, lyr="late0000")]
    )
    found = await directory.recent_link_clicks.latest_human_click_by_tag(workspace.id, HERE, NOW)
    assert found == {"k7m2q9xa": NOW, "late0000": late}
    assert await directory.recent_link_clicks.latest_human_click_by_tag(
        workspace.id, HERE, NOW + timedelta(seconds=1)
    ) == {"late0000": late}
    await directory.clicks.purge_click_ips(late)
    assert await directory.recent_link_clicks.latest_human_click_by_tag(workspace.id, HERE, NOW) == {
        "late0000": late
    }
    assert await directory.clicks.count_clicks(workspace.id) == {link_id: ClickCount(2, 2)}


async def test_clicks_by_address_exclude_bots_and_other_workspaces(directory, workspace, link_id):
    await directory.credentials.create_workspace(replace(workspace, id=uuid4(), public_id="k3Jx9QmZ2aPr"))
    (other,) = [each for each in await directory.credentials.list_workspaces() if each.id != workspace.id]
    await directory.clicks.record_clicks(
        [make_click(workspace, link_id, bot=True), make_click(other, link_id)]
    )
    assert await directory.recent_link_clicks.latest_human_click_by_tag(workspace.id, HERE, NOW) == {}


async def test_tag_finds_its_link_after_deletion(directory, workspace, create_link):
    link = await create_link(target="app", utm_source="insta", utm_term="")
    found = await directory.links.links_by_tag(workspace.id, ["k7m2q9xa", "unknown0"])
    assert set(found) == {"k7m2q9xa"}
    tagged = found["k7m2q9xa"]
    assert (tagged.id, tagged.name, tagged.targets_app, tagged.utm) == (
        link.id,
        "Reel",
        True,
        {"utm_source": "insta"},
    )
    async with directory.transactions.write(workspace.id) as unit:
        await unit.resources.remove(link, NOW)
    assert await directory.links.links_by_tag(workspace.id, ["k7m2q9xa"]) == found
    assert await directory.links.links_by_tag(uuid4(), ["k7m2q9xa"]) == {}
    live = await create_link(id=new_id(), created_at=NOW - timedelta(days=1))
    assert (await directory.links.links_by_tag(workspace.id, ["k7m2q9xa"]))["k7m2q9xa"].id == live.id


async def test_link_changes_are_visible_to_other_processes_immediately(
    open_directory, directory, workspace, create_link
):
    async with open_directory() as second:
        edge = DatabaseRedirects(second.unique_keys)
        link = await create_link()
        for n in range(10):
            await create_link(id=link.id, destination_url=f"https://example.com/{n}")
            assert (await edge.find(f"{HOST}/spring")).destination_url == f"https://example.com/{n}"
        async with directory.transactions.write(workspace.id) as unit:
            await unit.resources.remove(link, NOW)
        assert await edge.find(f"{HOST}/spring") is None


CLICKS = st.lists(
    st.tuples(st.integers(0, 2), st.sampled_from(["203.0.113.7", "203.0.112.1"]), st.sampled_from("ab"), st.integers(0, 2), st.booleans()),
    max_size=40,
)  # fmt: skip


@settings(max_examples=10)
@given(clicks=CLICKS, cut=st.integers(0, 40))
async def test_click_counts_match_their_definition(directory, workspace, clicks, cut):
    links = [uuid4() for _ in range(3)]
    made = [
        make_click(workspace, links[link], ip=ip, agent=agent, at=NOW + timedelta(hours=hour), bot=bot)
        for link, ip, agent, hour, bot in clicks
    ]
    for part in (made[:cut], made[cut:]):
        if part:
            await directory.clicks.record_clicks(part)
    people = [one for one in clicks if not one[4]]
    expected = {
        links[n]: ClickCount(
            sum(one[0] == n for one in people), len({one[1:4] for one in people if one[0] == n})
        )
        for n in {one[0] for one in people}
    }
    assert await directory.clicks.count_clicks(workspace.id, links) == expected
