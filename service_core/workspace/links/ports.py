"""Ports of redirect links: look-up, shared cache and clicks."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple, Protocol
from uuid import UUID

from service_core.workspace.links.clicks import Click
from service_core.workspace.links.redirect import Redirect


class RedirectLookup(Protocol):
    """Looks up redirects; called for every click."""

    async def find(self, key: str) -> Redirect | None:
        """Returns the redirect of ``<host>/<slug>`` as of the last committed change; None when there is none."""


class RedirectCacheUnavailable(Exception):
    """The cache did not answer in time; its content is unknown."""


class CachedRedirect(NamedTuple):
    """A cached look-up; its redirect is None for a key that is known to have none."""

    redirect: Redirect | None


class RedirectCache(Protocol):
    """Redirects in a cache that machines share, each with a short time to live.

    Every method raises `RedirectCacheUnavailable` when the cache cannot be reached.
    """

    async def get(self, key: str) -> CachedRedirect | None:
        """Returns the cached look-up of a key; None when it is not cached."""

    async def add(self, key: str, redirect: Redirect | None) -> None:
        """Stores a look-up unless the key is cached already."""

    async def set(self, key: str, redirect: Redirect | None) -> None:
        """Stores a look-up and replaces what was cached.

        Called inside the transaction that changes the link, before it commits.
        """


@dataclass(frozen=True, slots=True)
class ClickCount:
    """Clicks on one link without bots, and hourly unique clicks: the first per visitor and hour."""

    clicks: int = 0
    unique_clicks: int = 0


class ClickStore(Protocol):
    """Clicks on redirect links and their counts; both are kept after a link is deleted."""

    async def record_clicks(self, clicks: Sequence[Click]) -> None:
        """Stores clicks in one transaction; a click whose id is stored already is ignored."""

    async def count_clicks(
        self, workspace_id: UUID, link_ids: Collection[UUID] | None = None
    ) -> Mapping[UUID, ClickCount]:
        """Returns the counts of clicked links by link id; ``link_ids`` of None means every link of the workspace."""

    async def purge_click_ips(self, before: datetime) -> None:
        """Clears the IP addresses of clicks before an instant, and deletes visitor hashes that no count needs any more."""
