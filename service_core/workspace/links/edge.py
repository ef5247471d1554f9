"""Finding the way of a slug: from the table the links stand in, with or without a memory machines share.

The table is the mapping. A change of a link commits with its audit entry and its idempotency record,
so there is no second write that could be lost.
"""

from collections.abc import Callable
from contextlib import suppress
from typing import Final

from service_core.changes.ports import Holders
from service_core.changes.resource import State
from service_core.intake.recent import Recent
from service_core.kernel.errors import Unavailable503
from service_core.workspace.links.model import Link, LinkDomain, slug_key
from service_core.workspace.links.ports import EdgeDown, EdgeMap, EdgeMemory, Recalled
from service_core.workspace.links.route import Route

REMEMBERED: Final = 10_000


class LinkTable:
    """An `EdgeMap` that reads links where they are kept, again whenever one of them changed.

    Args:
        holders: finds the link that holds a slug.
        generation: changes with every link, in whichever process; cheap.
    """

    def __init__(self, holders: Holders, generation: Callable[[], int]) -> None:
        self._holders = holders
        self._now = generation
        self._generation: int | None = None
        self._known: Recent[str, Recalled] = Recent(REMEMBERED)

    async def find(self, key: str) -> Route | None:
        """The route of ``<host>/<slug>``."""
        generation = self._now()
        if generation != self._generation:
            self._generation, self._known = generation, Recent(REMEMBERED)
        known = self._known.get(key)
        return known.route if known else await self._read(key)

    async def _read(self, key: str) -> Route | None:
        memory, host, slug = self._known, *key.split("/", 1)
        held = await self._holders.holder(Link, slug_key(LinkDomain(host).id, slug))
        route = Route.of(held[1]) if held else None
        memory.put(key, Recalled(route))  # of the generation that was asked: a newer one has a new memory
        return route


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


async def announce(
    memory: EdgeMemory, domain: LinkDomain | None, prior: State | None, new: State | None
) -> None:
    """Tell the memory what a change makes of a link's slug.

    Raises:
        Unavailable503: ``links_unavailable``; the change must not commit.
    """
    state = new or prior
    if domain is None or state is None or state["domain_id"] is None:
        return
    route = Route.of(Link.model_validate(new)) if new else None
    try:
        await memory.rewrite(f"{domain.host}/{state['slug']}", route)
    except EdgeDown as fault:
        raise Unavailable503(
            "Redirects cannot be rewritten at the moment",
            "links_unavailable",
            hint="Nothing was changed; try again.",
        ) from fault
