"""Who gets to see a public page: whoever has its address, while the link works (contract 5.8)."""

import asyncio
import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from service_core.access.model import Workspace
from service_core.access.ports import LimiterDown, RateLimiter
from service_core.changes.ports import Holders, Units
from service_core.intake.bots import verdict
from service_core.intake.ports import Devices
from service_core.kernel.clock import Clock
from service_core.kernel.errors import Gone, NotFound, TooMany
from service_core.kernel.ids import ONE_TIME_TOKEN, digest
from service_core.workspace.share_links.model import ShareLink, Status, share_key
from service_core.workspace.share_links.objects import OBJECTS, Published
from service_core.workspace.share_links.ports import ShareViews

ASKED_AT_MOST: Final = 300
"""Requests of a network in a minute: a person does not notice, and whoever guesses gets nowhere."""

MINUTE: Final = 60


@dataclass(frozen=True, slots=True)
class Publication:
    """A live object whose link works."""

    link: ShareLink
    workspace: Workspace
    subject: Published


@dataclass(frozen=True, slots=True)
class Gate:
    """Lets people in.

    Attributes:
        holders: finds links by their token.
        units: reads what they publish.
        limiter: counts those who ask.
        clock: gives the present.
    """

    holders: Holders
    units: Units
    limiter: RateLimiter
    clock: Clock

    async def admit(self, network: str | None) -> None:
        """Count a request of a network; while it is not known, or the limit store is away, nobody is held up.

        Raises:
            TooMany: ``rate_limited``.
        """
        if network is None:
            return
        try:
            allowance = await self.limiter.spend(f"share:{network}", ASKED_AT_MOST, MINUTE)
        except LimiterDown:
            return
        if not allowance.allowed:
            raise TooMany(
                "Too many requests. Try again in a minute.",
                "rate_limited",
                headers={"Retry-After": str(MINUTE)},
            )

    async def find(self, token: str) -> Publication:
        """What a token publishes.

        Raises:
            NotFound: no link has this token, or its object was deleted.
            Gone: the link is revoked or expired; only who has the token learns that.
        """
        if not ONE_TIME_TOKEN.fullmatch(token):
            raise NotFound
        sought = digest(token)
        held = await self.holders.holder(ShareLink, share_key(sought))
        if held is None or not hmac.compare_digest(held[1].digest, sought):
            raise NotFound
        workspace, link = held
        if link.at(self.clock()).status is not Status.ACTIVE:
            raise Gone("This page is not shared any more")
        async with self.units.look(workspace.id) as unit:
            subject = await unit.resources.get(OBJECTS[link.object_type], link.object_id)
        if subject is None:
            raise NotFound
        return Publication(link, workspace, subject)


@dataclass(frozen=True, slots=True)
class Visitors:
    """Counts the people who look at public pages.

    Attributes:
        views: where they are counted.
        devices: tells people from programs.
        clock: gives the present.
    """

    views: ShareViews
    devices: Devices
    clock: Clock

    async def looked(self, link: ShareLink, headers: Mapping[str, str]) -> None:
        """Count a view, unless a program, a prefetch or a preview sent the request.

        Args:
            link: whose page it was.
            headers: of the request, names in lower case.
        """
        agent = headers.get("user-agent")
        # The first description compiles the patterns, for half a second: others are served meanwhile.
        device = await asyncio.to_thread(self.devices.describe, agent) if agent else None
        is_program, _ = verdict(device, headers)
        if not is_program:
            await self.views.count_view(link.id, self.clock())
