"""Redirects in Redis: several machines agree, and a server that is away stops no click."""

import asyncio
from contextlib import asynccontextmanager
from uuid import uuid4

import pytest

from service_core.extensions.registry import collect_plugins_into_registry
from service_core.kernel.errors import StartupError
from service_core.testing.redirects import PausableRedirectLookup, make_redirect
from service_core.workspace.links.ports import CachedRedirect, RedirectCacheUnavailable
from service_core.workspace.links.redirect_lookup import CachedRedirects
from tests.hosts.edge.conftest import serve_edge

KEY = "go.example.com/spring"
HERE = make_redirect("https://example.com/a")


@asynccontextmanager
async def open_redirect_cache(url, folder, **given):
    query = "&".join(f"{name}={value}" for name, value in ({"timeout_seconds": 5} | given).items())
    memory = collect_plugins_into_registry().open_adapter(
        "redirect_cache", f"{url}/0?{query}", base_folder=folder
    )
    try:
        yield memory
    finally:
        await memory.aclose()


async def test_change_by_one_machine_is_visible_to_all(redis_url, tmp_path):
    prefix = uuid4().hex
    async with (
        open_redirect_cache(redis_url, tmp_path, prefix=prefix) as one,
        open_redirect_cache(redis_url, tmp_path, prefix=prefix) as two,
    ):
        await one.add(KEY, HERE)
        assert await two.get(KEY) == CachedRedirect(HERE)
        await two.set(KEY, None)
        assert await one.get(KEY) == CachedRedirect(None)


async def test_deployments_with_different_prefixes_are_isolated(redis_url, tmp_path):
    async with (
        open_redirect_cache(redis_url, tmp_path, prefix=uuid4().hex) as one,
        open_redirect_cache(redis_url, tmp_path, prefix=uuid4().hex) as two,
    ):
        await one.set(KEY, HERE)
        assert await two.get(KEY) is None


async def test_every_value_expires(redis_server, tmp_path):
    async with open_redirect_cache(redis_server.url, tmp_path, max_age_seconds=3600) as memory:
        await memory.add(KEY, HERE)
        await memory.set("go.example.com/summer", None)
    for slug in ("spring", "summer"):
        assert (
            0
            < int(redis_server.first_line_of_reply("TTL", f"touchpoint:edge:go.example.com/{slug}")[1:])
            <= 3600
        )


async def test_value_of_another_version_is_ignored(redis_server, tmp_path):
    async with open_redirect_cache(redis_server.url, tmp_path) as memory:
        redis_server.first_line_of_reply("SET", f"touchpoint:edge:{KEY}", "{}")
        assert await memory.get(KEY) is None


async def test_unavailable_server_is_detected_and_reconnected(redis_server, tmp_path):
    table = PausableRedirectLookup()
    table.redirects[KEY] = HERE
    async with open_redirect_cache(redis_server.url, tmp_path) as memory:
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


async def test_timeout_for_a_hanging_server_is_set_by_the_url(redis_server, tmp_path):
    async with open_redirect_cache(redis_server.url, tmp_path, timeout_seconds=0.1) as memory:
        redis_server.suspend()
        async with asyncio.timeout(30):
            with pytest.raises(RedirectCacheUnavailable):
                await memory.get(KEY)
        redis_server.resume()


async def test_links_redirect_and_changes_are_refused_while_redis_is_unavailable(redis_server, tmp_path):
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
def test_invalid_url_stops_the_start(url, word, tmp_path):
    with pytest.raises(StartupError, match=word):
        collect_plugins_into_registry().open_adapter("redirect_cache", url, base_folder=tmp_path)
