"""Finding the way of a slug: from the table the links stand in, with or without a memory machines share.

The table is the mapping. A change of a link commits with its audit entry and its idempotency record,
so there is no second write that could be lost.
"""

from contextlib import suppress

from service_core.changes.ports import Holders
from service_core.changes.resource import State
from service_core.kernel.errors import Unavailable503
from service_core.workspace.links.model import Link, LinkDomain, slug_key
from service_core.workspace.links.ports import EdgeDown, EdgeMap, EdgeMemory, Recalled
from service_core.workspace.links.route import Route


class LinkTable:
    """An `EdgeMap` that reads links where they are kept, every time: nothing it knows can be old.

    Args:
        holders: finds the link that holds a slug.
    """

    def __init__(self, holders: Holders) -> None:
        self._holders = holders

    async def find(self, key: str) -> Route | None:
        """The route of ``<host>/<slug>``."""
        host, slug = key.split("/", 1)
        held = await self._holders.holder(Link, slug_key(LinkDomain(host).id, slug))
        return Route.of(held[1]) if held else None


class NoMemory:
    """The `EdgeMemory` of a deployment whose machines share none: the table is asked every time."""

    async def recall(self, key: str) -> Recalled | None:  # noqa: ARG002 - as the port
        """None, for any key."""
        return None

    async def learn(self, key: str, route: Route | None) -> None:
        """Nothing."""

    async def rewrite(self, key: str, route: Route | None) -> None:
        """Nothing: the table is rewritten by the transaction itself."""


class SharedMap:
    """An `EdgeMap` that asks a memory first and the table when the memory knows nothing, or is away.

    Args:
        table: what is true.
        memory: told of every change before it commits, so it never says what was true before.
    """

    def __init__(self, table: EdgeMap, memory: EdgeMemory) -> None:
        self._table = table
        self._memory = memory

    async def find(self, key: str) -> Route | None:
        """The route of ``<host>/<slug>``."""
        try:
            known = await self._memory.recall(key)
        except EdgeDown:
            return await self._table.find(key)
        if known is not None:
            return known.route
        route = await self._table.find(key)
        with suppress(EdgeDown):
            await self._memory.learn(key, route)
        return route


async def announce(memory: EdgeMemory, host: str | None, prior: State | None, new: State | None) -> None:
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
    route = Route.of(Link.model_validate(new)) if new else None
    try:
        await memory.rewrite(f"{host}/{state['slug']}", route)
    except EdgeDown as fault:
        raise Unavailable503(
            "Redirects cannot be rewritten at the moment",
            "links_unavailable",
            hint="Nothing was changed; try again.",
        ) from fault
