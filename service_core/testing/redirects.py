"""The conformance kit of redirect mappings: a memory of the port ``edge`` in front of links, as a deployment uses it.

Name the memory in a fixture and inherit the rest; pytest needs ``asyncio_mode = "auto"``::

    class TestMyMemory(EdgeMapConformance):
        @pytest.fixture
        async def memory(self):
            memory = open_my_memory()
            yield memory
            await memory.aclose()

Another `RedirectLookup` overrides ``publish`` and ``edge``.
"""

import asyncio
from collections.abc import Awaitable, Callable
from uuid import UUID, uuid4

import pytest

from service_core.workspace.links.ports import CachedRedirect, RedirectCache, RedirectLookup
from service_core.workspace.links.redirect import Redirect
from service_core.workspace.links.redirect_lookup import CachedRedirects

Publish = Callable[[str, str | None], Awaitable[None]]
"""Slug and destination -> a committed change of its link; None deletes it."""

HOST = "go.example.com"
_WORKSPACE, _LINK = UUID(int=1), UUID(int=2)


class CommittedRedirects:
    """An `RedirectLookup` in memory: the links as they were committed.

    Attributes:
        links: key -> route.
        gate: closed by a test, it holds up who has read and not answered yet.
    """

    def __init__(self) -> None:
        self.links: dict[str, Redirect] = {}
        self.gate = asyncio.Event()
        self.gate.set()
        self.read = asyncio.Event()

    async def find(self, key: str) -> Redirect | None:
        """The route of a key."""
        route = self.links.get(key)
        self.read.set()
        await self.gate.wait()
        return route


def route_to(destination: str) -> Redirect:
    """A route that differs by its destination alone."""
    return Redirect(
        workspace_id=_WORKSPACE, link_id=_LINK, lyr="k7m2q9xa", destination_url=destination,
        ios_url="itms-apps://apps.apple.com/app/id1", android_url=None, utm={"utm_source": "ä&b=c"},
    )  # fmt: skip


class EdgeMapConformance:
    """Every rule of the mapping; override the fixture ``memory``. Each test has a slug of its own."""

    @pytest.fixture
    def memory(self) -> RedirectCache:
        """The memory under test."""
        raise pytest.UsageError("override the fixture `memory` with the adapter under test")

    @pytest.fixture
    def table(self) -> CommittedRedirects:
        """The links behind the memory."""
        return CommittedRedirects()

    @pytest.fixture
    def edge(self, table: CommittedRedirects, memory: RedirectCache) -> RedirectLookup:
        """What a link host asks."""
        return CachedRedirects(table, memory)

    @pytest.fixture
    def publish(self, table: CommittedRedirects, memory: RedirectCache) -> Publish:
        """Changes links as the write pipeline does: the memory hears of it before the commit."""

        async def publish(slug: str, destination: str | None) -> None:
            key, route = f"{HOST}/{slug}", None if destination is None else route_to(destination)
            await memory.set(key, route)
            if route is None:
                table.links.pop(key, None)
            else:
                table.links[key] = route

        return publish

    @pytest.fixture
    def slug(self) -> str:
        """A slug nobody has asked for yet."""
        return uuid4().hex

    async def test_a_slug_without_a_link_leads_nowhere(self, edge: RedirectLookup, slug: str) -> None:
        assert await edge.find(f"{HOST}/{slug}") is None
        assert await edge.find(f"{HOST}/{slug}") is None

    async def test_a_link_is_found_with_all_it_says(
        self, edge: RedirectLookup, publish: Publish, slug: str
    ) -> None:
        await publish(slug, "https://example.com/a")
        first = await edge.find(f"{HOST}/{slug}")
        assert first is not None
        assert first.destination_url == "https://example.com/a"
        assert await edge.find(f"{HOST}/{slug}") == first

    async def test_a_link_made_after_somebody_asked_is_found(
        self, edge: RedirectLookup, publish: Publish, slug: str
    ) -> None:
        assert await edge.find(f"{HOST}/{slug}") is None
        await publish(slug, "https://example.com/a")
        assert await edge.find(f"{HOST}/{slug}") is not None

    async def test_a_change_holds_from_the_next_question_on(
        self, edge: RedirectLookup, publish: Publish, slug: str
    ) -> None:
        for n in range(10):
            await publish(slug, f"https://example.com/{n}")
            found = await edge.find(f"{HOST}/{slug}")
            assert found is not None
            assert found.destination_url == f"https://example.com/{n}"

    async def test_a_deleted_link_leads_nowhere_at_once_and_again_when_restored(
        self, edge: RedirectLookup, publish: Publish, slug: str
    ) -> None:
        for _ in range(3):
            await publish(slug, "https://example.com/a")
            assert await edge.find(f"{HOST}/{slug}") is not None
            await publish(slug, None)
            assert await edge.find(f"{HOST}/{slug}") is None

    async def test_hosts_and_spellings_are_told_apart(
        self, edge: RedirectLookup, publish: Publish, slug: str
    ) -> None:
        await publish(f"{slug}a", "https://example.com/a")
        assert await edge.find(f"{HOST}/{slug}A") is None
        assert await edge.find(f"other.example.com/{slug}a") is None

    async def test_50_questions_at_once_have_one_answer(
        self, edge: RedirectLookup, publish: Publish, slug: str
    ) -> None:
        await publish(slug, "https://example.com/a")
        found = await asyncio.gather(*(edge.find(f"{HOST}/{slug}") for _ in range(50)))
        assert {route and route.destination_url for route in found} == {"https://example.com/a"}


class EdgeMemoryConformance(EdgeMapConformance):
    """The rules of a memory besides: what was read never takes the place of what was changed."""

    async def test_a_memory_knows_nothing_of_what_nobody_told_it(
        self, memory: RedirectCache, slug: str
    ) -> None:
        assert await memory.get(f"{HOST}/{slug}") is None

    async def test_what_is_learnt_stays_beside_what_is_known(self, memory: RedirectCache, slug: str) -> None:
        key, old, new = (
            f"{HOST}/{slug}",
            route_to("https://example.com/old"),
            route_to("https://example.com/new"),
        )
        await memory.add(key, old)
        await memory.add(key, new)
        assert await memory.get(key) == CachedRedirect(old)
        await memory.set(key, None)
        await memory.add(key, old)
        assert await memory.get(key) == CachedRedirect(None)

    async def test_an_answer_read_before_a_delete_does_not_bring_the_link_back(
        self, edge: RedirectLookup, publish: Publish, table: CommittedRedirects, slug: str
    ) -> None:
        key = f"{HOST}/{slug}"
        table.links[key] = route_to("https://example.com/a")
        table.gate.clear()
        slow = asyncio.create_task(edge.find(key))
        await table.read.wait()
        await publish(slug, None)
        table.gate.set()
        assert await slow is not None
        assert await edge.find(key) is None
