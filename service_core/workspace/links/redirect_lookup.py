"""Looks up redirects of slugs, in the database or in a cache that machines share.

The stored links are the redirects. A change of a link commits with its audit entry and its idempotency record,
so there is no second write that could be lost.
"""

from contextlib import suppress

from service_core.changes.ports import UniqueKeyLookup
from service_core.changes.resource import State
from service_core.kernel.errors import ServiceUnavailable
from service_core.workspace.links.models import LinkDomain, TrackingLink, slug_key
from service_core.workspace.links.ports import (
    CachedRedirect,
    RedirectCache,
    RedirectCacheUnavailable,
    RedirectLookup,
)
from service_core.workspace.links.redirect import Redirect


class DatabaseRedirects:
    """An `RedirectLookup` that reads the database each time, so that it is never stale.

    Args:
        unique_keys: finds the link that has a slug.
    """

    def __init__(self, unique_keys: UniqueKeyLookup) -> None:
        self._unique_keys = unique_keys

    async def find(self, key: str) -> Redirect | None:
        """Returns the redirect of ``<host>/<slug>``; None when there is none."""
        host, slug = key.split("/", 1)
        workspace_and_link = await self._unique_keys.find_live_by_unique_key(
            TrackingLink, slug_key(LinkDomain(host).id, slug)
        )
        return Redirect.from_link(workspace_and_link[1]) if workspace_and_link else None


class NoRedirectCache:
    """The `RedirectCache` of a deployment without a shared cache: it stores nothing."""

    async def get(self, key: str) -> CachedRedirect | None:  # noqa: ARG002 - as the port
        """Returns None, for any key."""
        return None

    async def add(self, key: str, redirect: Redirect | None) -> None:
        """Does nothing."""

    async def set(self, key: str, redirect: Redirect | None) -> None:
        """Does nothing."""


class CachedRedirects:
    """A `RedirectLookup` with a cache. Without a cached value, or without the cache, it uses the database.

    Args:
        database: looks up redirects in the database.
        cache: updated by each change before it commits, so it is never stale.
    """

    def __init__(self, database: RedirectLookup, cache: RedirectCache) -> None:
        self._database = database
        self._cache = cache

    async def find(self, key: str) -> Redirect | None:
        """Returns the redirect of ``<host>/<slug>``; None when there is none."""
        try:
            cached = await self._cache.get(key)
        except RedirectCacheUnavailable:
            return await self._database.find(key)
        if cached is not None:
            return cached.redirect
        redirect = await self._database.find(key)
        with suppress(RedirectCacheUnavailable):
            await self._cache.add(key, redirect)
        return redirect


async def write_changed_redirect_to_cache(
    cache: RedirectCache, host: str | None, prior: State | None, new: State | None
) -> None:
    """Writes the redirect of a changed link into the cache.

    Args:
        cache: the shared cache.
        host: host of the link's domain; None when the link has no redirect.
        prior: state of the link before; None for a new link.
        new: state of the link after; None for a deleted link.

    Raises:
        ServiceUnavailable: ``links_unavailable``; the change must be rolled back.
    """
    state = new or prior
    if host is None or state is None:
        return
    redirect = Redirect.from_link(TrackingLink.model_validate(new)) if new else None
    try:
        await cache.set(f"{host}/{state['slug']}", redirect)
    except RedirectCacheUnavailable as fault:
        raise ServiceUnavailable(
            "Redirects cannot be rewritten at the moment",
            "links_unavailable",
            hint="Nothing was changed; try again.",
        ) from fault
