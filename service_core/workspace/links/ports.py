"""What redirect links need from outside: where slugs lead, a memory shared by machines, and a book of clicks."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple, Protocol
from uuid import UUID

from service_core.workspace.links.clicks import Click
from service_core.workspace.links.redirect import Redirect


class RedirectLookup(Protocol):
    """Where the slugs of link domains lead; asked for every click."""

    async def find(self, key: str) -> Redirect | None:
        """The route of ``<host>/<slug>`` as the last committed change left it; None leads nowhere."""


class RedirectCacheUnavailable(Exception):
    """The shared memory did not answer in time; nothing is known of what it holds."""


class CachedRedirect(NamedTuple):
    """What is remembered of a key; without a route it is known to lead nowhere."""

    redirect: Redirect | None


class RedirectCache(Protocol):
    """Routes that several machines remember together, each for a short while.

    Every method raises `RedirectCacheUnavailable` when the memory is away.
    """

    async def get(self, key: str) -> CachedRedirect | None:
        """What is remembered of a key; None when nothing is."""

    async def add(self, key: str, route: Redirect | None) -> None:
        """Remember what was read; what is remembered already stays."""

    async def set(self, key: str, route: Redirect | None) -> None:
        """Remember this from now on, whatever was remembered before.

        Called inside the transaction that changes the link, before it commits.
        """


@dataclass(frozen=True, slots=True)
class ClickCount:
    """Clicks of people on one link, and those that were the first of their visitor in an hour."""

    clicks: int = 0
    unique_clicks: int = 0


class ClickStore(Protocol):
    """Clicks on redirect links, and how many each link has had; both outlive the link."""

    async def record_clicks(self, clicks: Sequence[Click]) -> None:
        """Keep clicks durably, in one step; one that is kept already (same id) counts no more."""

    async def count_clicks(
        self, workspace_id: UUID, link_ids: Collection[UUID] | None = None
    ) -> Mapping[UUID, ClickCount]:
        """Counts of the links of a workspace that were clicked; None asks for all of them."""

    async def purge_click_ips(self, before: datetime) -> None:
        """Empty the addresses of clicks before an instant, and let go of what no count needs any more."""
