"""The conformance kit of redirect caches: a cache of the port ``redirect_cache`` in front of the links, as in a deployment.

Override the fixture ``cache`` with the adapter and inherit the tests; pytest needs ``asyncio_mode = "auto"``::

    class TestMyCache(RedirectCacheConformance):
        @pytest.fixture
        async def cache(self):
            cache = open_my_cache()
            yield cache
            await cache.aclose()

The class of a look-up without a cache inherits `RedirectLookupConformance` and overrides ``commit_redirect`` and ``lookup``.
"""

import asyncio
from collections.abc import Awaitable, Callable
from uuid import UUID, uuid4

import pytest

from service_core.workspace.links.ports import CachedRedirect, RedirectCache, RedirectLookup
from service_core.workspace.links.redirect import Redirect
from service_core.workspace.links.redirect_lookup import CachedRedirects

CommitRedirect = Callable[[str, str | None], Awaitable[None]]
"""Commits a destination for a slug; None deletes its link."""

HOST = "go.example.com"
_WORKSPACE, _LINK = UUID(int=1), UUID(int=2)


class PausableRedirectLookup:
    """Implements `RedirectLookup` in memory, with answers that a test can hold back.

    Attributes:
        redirects: committed redirects by key.
        may_answer: while it is cleared, `find` waits after it has read the redirect.
        has_read: set once `find` has read a redirect.
    """

    def __init__(self) -> None:
        self.redirects: dict[str, Redirect] = {}
        self.may_answer = asyncio.Event()
        self.may_answer.set()
        self.has_read = asyncio.Event()

    async def find(self, key: str) -> Redirect | None:
        """Returns the redirect that the key had when the call began, after waiting until answers are allowed."""
        redirect = self.redirects.get(key)
        self.has_read.set()
        await self.may_answer.wait()
        return redirect


def make_redirect(destination_url: str) -> Redirect:
    """Returns a redirect whose fields other than the destination are always the same."""
    return Redirect(
        workspace_id=_WORKSPACE, link_id=_LINK, lyr="k7m2q9xa", destination_url=destination_url,
        ios_url="itms-apps://apps.apple.com/app/id1", android_url=None, utm={"utm_source": "ä&b=c"},
    )  # fmt: skip


class RedirectLookupConformance:
    """Tests of `find` over committed changes; override the fixture ``cache``. Each test has a new slug."""

    @pytest.fixture
    def cache(self) -> RedirectCache:
        """Returns the cache under test."""
        raise pytest.UsageError("override the fixture `cache` with the adapter under test")

    @pytest.fixture
    def committed(self) -> PausableRedirectLookup:
        """Returns the redirects behind the cache."""
        return PausableRedirectLookup()

    @pytest.fixture
    def lookup(self, committed: PausableRedirectLookup, cache: RedirectCache) -> RedirectLookup:
        """Returns the look-up that a link host uses."""
        return CachedRedirects(committed, cache)

    @pytest.fixture
    def commit_redirect(self, committed: PausableRedirectLookup, cache: RedirectCache) -> CommitRedirect:
        """Returns a function that changes a redirect as the write pipeline does: in the cache before the commit."""

        async def commit_redirect(slug: str, destination: str | None) -> None:
            key, redirect = f"{HOST}/{slug}", None if destination is None else make_redirect(destination)
            await cache.set(key, redirect)
            if redirect is None:
                committed.redirects.pop(key, None)
            else:
                committed.redirects[key] = redirect

        return commit_redirect

    @pytest.fixture
    def slug(self) -> str:
        """Returns a slug that was never looked up."""
        return uuid4().hex

    async def test_find_returns_none_for_a_slug_without_a_link(
        self, lookup: RedirectLookup, slug: str
    ) -> None:
        """A slug without a link gives None, also the second time."""
        assert await lookup.find(f"{HOST}/{slug}") is None
        assert await lookup.find(f"{HOST}/{slug}") is None

    async def test_find_returns_the_committed_redirect_twice_alike(
        self, lookup: RedirectLookup, commit_redirect: CommitRedirect, slug: str
    ) -> None:
        """The committed redirect is found, and the same again."""
        await commit_redirect(slug, "https://example.com/a")
        first = await lookup.find(f"{HOST}/{slug}")
        assert first is not None
        assert first.destination_url == "https://example.com/a"
        assert await lookup.find(f"{HOST}/{slug}") == first

    async def test_find_returns_a_link_created_after_a_miss(
        self, lookup: RedirectLookup, commit_redirect: CommitRedirect, slug: str
    ) -> None:
        """A link that is created after a lookup without result is found."""
        assert await lookup.find(f"{HOST}/{slug}") is None
        await commit_redirect(slug, "https://example.com/a")
        assert await lookup.find(f"{HOST}/{slug}") is not None

    async def test_find_returns_a_changed_destination_in_the_next_lookup(
        self, lookup: RedirectLookup, commit_redirect: CommitRedirect, slug: str
    ) -> None:
        """Each of ten changes is in the next lookup."""
        for n in range(10):
            await commit_redirect(slug, f"https://example.com/{n}")
            found = await lookup.find(f"{HOST}/{slug}")
            assert found is not None
            assert found.destination_url == f"https://example.com/{n}"

    async def test_find_follows_repeated_deletes_and_restores_at_once(
        self, lookup: RedirectLookup, commit_redirect: CommitRedirect, slug: str
    ) -> None:
        """A deleted link gives None in the next lookup, and is found again when restored."""
        for _ in range(3):
            await commit_redirect(slug, "https://example.com/a")
            assert await lookup.find(f"{HOST}/{slug}") is not None
            await commit_redirect(slug, None)
            assert await lookup.find(f"{HOST}/{slug}") is None

    async def test_find_distinguishes_hosts_and_letter_case_of_slugs(
        self, lookup: RedirectLookup, commit_redirect: CommitRedirect, slug: str
    ) -> None:
        """A slug in another letter case or on another host gives None."""
        await commit_redirect(f"{slug}a", "https://example.com/a")
        assert await lookup.find(f"{HOST}/{slug}A") is None
        assert await lookup.find(f"other.example.com/{slug}a") is None

    async def test_fifty_concurrent_lookups_return_the_same_redirect(
        self, lookup: RedirectLookup, commit_redirect: CommitRedirect, slug: str
    ) -> None:
        """Fifty concurrent lookups return the same redirect."""
        await commit_redirect(slug, "https://example.com/a")
        found = await asyncio.gather(*(lookup.find(f"{HOST}/{slug}") for _ in range(50)))
        assert {redirect and redirect.destination_url for redirect in found} == {"https://example.com/a"}


class RedirectCacheConformance(RedirectLookupConformance):
    """Tests of a cache: a value read before a change never replaces the change."""

    async def test_get_returns_none_for_a_key_never_cached(self, cache: RedirectCache, slug: str) -> None:
        """A key that was never cached gives None."""
        assert await cache.get(f"{HOST}/{slug}") is None

    async def test_add_does_not_overwrite_a_cached_redirect_or_deletion(
        self, cache: RedirectCache, slug: str
    ) -> None:
        """`add` keeps the cached redirect, and a cached deletion that `set` wrote."""
        key, old, new = (
            f"{HOST}/{slug}",
            make_redirect("https://example.com/old"),
            make_redirect("https://example.com/new"),
        )
        await cache.add(key, old)
        await cache.add(key, new)
        assert await cache.get(key) == CachedRedirect(old)
        await cache.set(key, None)
        await cache.add(key, old)
        assert await cache.get(key) == CachedRedirect(None)

    async def test_lookup_read_before_a_delete_does_not_restore_the_link(
        self,
        lookup: RedirectLookup,
        commit_redirect: CommitRedirect,
        committed: PausableRedirectLookup,
        slug: str,
    ) -> None:
        """A slow lookup that read before a delete does not put the old redirect back."""
        key = f"{HOST}/{slug}"
        committed.redirects[key] = make_redirect("https://example.com/a")
        committed.may_answer.clear()
        slow = asyncio.create_task(lookup.find(key))
        await committed.has_read.wait()
        await commit_redirect(slug, None)
        committed.may_answer.set()
        assert await slow is not None
        assert await lookup.find(key) is None
