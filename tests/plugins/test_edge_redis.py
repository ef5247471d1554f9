"""Redirects in Redis: several machines agree, and a server that is away stops no click."""

import asyncio
from contextlib import asynccontextmanager
from uuid import uuid4

import pytest

from service_core.extensions.registry import load_plugins
from service_core.kernel.errors import StartupError
from service_core.testing.redirects import CommittedRedirects, route_to
from service_core.workspace.links.ports import CachedRedirect, RedirectCacheUnavailable
from service_core.workspace.links.redirect_lookup import CachedRedirects
from tests.hosts.edge.conftest import serve_edge

KEY = "go.example.com/spring"
HERE = route_to("https://example.com/a")


@asynccontextmanager
async def memory_of(url, folder, **given):
    query = "&".join(f"{name}={value}" for name, value in ({"timeout_seconds": 5} | given).items())
    memory = load_plugins().open_adapter("edge", f"{url}/0?{query}", folder=folder)
    try:
        yield memory
    finally:
        await memory.aclose()


async def test_what_one_machine_changes_every_machine_knows(redis_url, tmp_path):
    prefix = uuid4().hex
    async with (
        memory_of(redis_url, tmp_path, prefix=prefix) as one,
        memory_of(redis_url, tmp_path, prefix=prefix) as two,
    ):
        await one.add(KEY, HERE)
        assert await two.get(KEY) == CachedRedirect(HERE)
        await two.set(KEY, None)
        assert await one.get(KEY) == CachedRedirect(None)


async def test_deployments_with_prefixes_of_their_own_remember_apart(redis_url, tmp_path):
    async with (
        memory_of(redis_url, tmp_path, prefix=uuid4().hex) as one,
        memory_of(redis_url, tmp_path, prefix=uuid4().hex) as two,
    ):
        await one.set(KEY, HERE)
        assert await two.get(KEY) is None


async def test_every_value_is_forgotten_by_itself(redis_server, tmp_path):
    async with memory_of(redis_server.url, tmp_path, max_age_seconds=3600) as memory:
        await memory.add(KEY, HERE)
        await memory.set("go.example.com/summer", None)
    for slug in ("spring", "summer"):
        assert 0 < int(redis_server.run_command("TTL", f"touchpoint:edge:go.example.com/{slug}")[1:]) <= 3600


async def test_a_value_of_another_version_counts_as_unknown(redis_server, tmp_path):
    async with memory_of(redis_server.url, tmp_path) as memory:
        redis_server.run_command("SET", f"touchpoint:edge:{KEY}", "{}")
        assert await memory.get(KEY) is None


async def test_a_server_that_is_away_is_noticed_and_found_again(redis_server, tmp_path):
    table = CommittedRedirects()
    table.links[KEY] = HERE
    async with memory_of(redis_server.url, tmp_path) as memory:
        edge = CachedRedirects(table, memory)
        assert await edge.find(KEY) == HERE
        redis_server.kill()
        assert await edge.find(KEY) == HERE
        with pytest.raises(RedirectCacheUnavailable):
            await memory.get(KEY)
        with pytest.raises(RedirectCacheUnavailable):
            await memory.set(KEY, None)
        redis_server.start()
        async with asyncio.timeout(30):
            while True:
                try:
                    await memory.set(KEY, None)
                    break
                except RedirectCacheUnavailable:
                    await asyncio.sleep(0.01)
        assert await edge.find(KEY) is None


async def test_a_server_that_hangs_is_waited_for_as_long_as_the_url_says(redis_server, tmp_path):
    async with memory_of(redis_server.url, tmp_path, timeout_seconds=0.1) as memory:
        redis_server.suspend()
        async with asyncio.timeout(30):
            with pytest.raises(RedirectCacheUnavailable):
                await memory.get(KEY)
        redis_server.resume()


async def test_links_go_on_and_changes_are_refused_while_it_is_away(redis_server, tmp_path):
    links = {"domain": "go.example.com", "redirect_cache": f"{redis_server.url}/0?timeout_seconds=5"}
    async with serve_edge(tmp_path, links=links) as edge:
        made = (await edge.office.link(slug="spring"))["data"]
        assert (await edge.follow("/spring")).status == 302
        redis_server.kill()
        assert (await edge.follow("/spring")).status == 302
        refused = await edge.office.ask("DELETE", f"/links/{made['id']}")
        assert (refused.status, refused.json["code"]) == (503, "links_unavailable")
        assert [link["id"] for link in await edge.office.links()] == [made["id"]]
        direct = await edge.office.link()
        assert direct["data"]["kind"] == "direct"
        redis_server.start()
        assert (await edge.office.ask("DELETE", f"/links/{made['id']}")).status == 200
        assert (await edge.follow("/spring")).status == 404


@pytest.mark.parametrize(
    ("url", "word"),
    [
        ("redis://", "name a server"),
        ("redis:///0", "name a server"),
        ("redis://host/x", "number of a database"),
        ("redis://host/0?max_age_seconds=0", "max_age_seconds"),
        ("redis://host/0?other=1", "other"),
    ],
)
def test_a_url_that_does_not_fit_stops_the_start(url, word, tmp_path):
    with pytest.raises(StartupError, match=word):
        load_plugins().open_adapter("edge", url, folder=tmp_path)
