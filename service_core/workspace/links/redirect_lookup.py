"""Finding the way of a slug: from the table the links stand in, with or without a memory machines share.

The table is the mapping. A change of a link commits with its audit entry and its idempotency record,
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
    """An `RedirectLookup` that reads links where they are kept, every time: nothing it knows can be old.

    Args:
        holders: finds the link that holds a slug.
    """

    def __init__(self, holders: UniqueKeyLookup) -> None:
        self._holders = holders

    async def find(self, key: str) -> Redirect | None:
        """The route of ``<host>/<slug>``."""
        host, slug = key.split("/", 1)
        held = await self._holders.find_by_unique_key(TrackingLink, slug_key(LinkDomain(host).id, slug))
        return Redirect.from_link(held[1]) if held else None


class NoRedirectCache:
    """The `RedirectCache` of a deployment whose machines share none: the table is asked every time."""

    async def get(self, key: str) -> CachedRedirect | None:  # noqa: ARG002 - as the port
        """None, for any key."""
        return None

    async def add(self, key: str, route: Redirect | None) -> None:
        """Nothing."""

    async def set(self, key: str, route: Redirect | None) -> None:
        """Nothing: the table is rewritten by the transaction itself."""


class CachedRedirects:
    """An `RedirectLookup` that asks a memory first and the table when the memory knows nothing, or is away.

    Args:
        table: what is true.
        memory: told of every change before it commits, so it never says what was true before.
    """

    def __init__(self, table: RedirectLookup, memory: RedirectCache) -> None:
        self._table = table
        self._memory = memory

    async def find(self, key: str) -> Redirect | None:
        """The route of ``<host>/<slug>``."""
        try:
            known = await self._memory.get(key)
        except RedirectCacheUnavailable:
            return await self._table.find(key)
        if known is not None:
            return known.redirect
        route = await self._table.find(key)
        with suppress(RedirectCacheUnavailable):
            await self._memory.add(key, route)
        return route


async def write_to_cache(
    cache: RedirectCache, host: str | None, prior: State | None, new: State | None
) -> None:
    """Tell the memory what a change makes of a link's slug.

    Args:
        memory: what machines share.
        host: of the link's domain; None when nothing redirects it.
        prior: the link before.
        new: the link after.

    Raises:
        Unavailable503: ``links_unavailable``; the change must not commit.
    """
    state = new or prior
    if host is None or state is None:
        return
    route = Redirect.from_link(TrackingLink.model_validate(new)) if new else None
    try:
        await cache.set(f"{host}/{state['slug']}", route)
    except RedirectCacheUnavailable as fault:
        raise ServiceUnavailable(
            "Redirects cannot be rewritten at the moment",
            "links_unavailable",
            hint="Nothing was changed; try again.",
        ) from fault
