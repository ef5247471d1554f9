"""A click on a redirect link: what is kept of it, and what makes two of them one visitor's (semantics 14.4)."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final
from uuid import UUID

from service_core.access.networks import coarse
from service_core.intake.accept import scalar
from service_core.intake.addresses import MAX_ADDRESS, redacted
from service_core.intake.bots import verdict
from service_core.intake.campaign import campaign
from service_core.intake.ports import Devices, Geo
from service_core.intake.transport import BROWSER, end_user_address
from service_core.kernel.ids import new_id
from service_core.workspace.links.route import Route
from service_core.workspace.links.tagging import pairs_of

LONGEST_AGENT: Final = 512
HOUR_SECONDS: Final = 3600


@dataclass(frozen=True, slots=True)
class Click:
    """One request that was redirected.

    Attributes:
        ip: kept for seven days.
        network: the address cut to its /24 or /48, kept.
        click_ids: type -> value, of the request.
        is_bot: a program, a prefetch or a preview; kept and not counted.
    """

    id: UUID
    workspace_id: UUID
    link_id: UUID
    lyr: str
    clicked_at: datetime
    user_agent: str | None
    ip: str | None
    network: str | None
    country: str | None
    device_type: str | None
    referrer: str | None
    click_ids: Mapping[str, str]
    is_bot: bool

    @property
    def hour(self) -> int:
        """The UTC hour it fell in, counted since 1970."""
        return int(self.clicked_at.timestamp()) // HOUR_SECONDS

    @property
    def visitor(self) -> str:
        """A digest of who clicked, as far as one click tells: network and agent."""
        return hashlib.sha256(f"{self.network}\n{self.user_agent}".encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Asked:
    """What the request of a click said.

    Attributes:
        query: as received.
        address: of the client.
        headers: those by which browsers announce a prefetch, names in lower case.
    """

    query: str
    user_agent: str | None = None
    address: str | None = None
    referrer: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


class ClickEnricher:
    """Makes the row of a click: what device it was, where, and whether a program made it.

    Args:
        devices: user agent -> device.
        geo: address -> place.
    """

    def __init__(self, devices: Devices, geo: Geo) -> None:
        self._devices = devices
        self._geo = geo

    def click(self, route: Route, asked: Asked, at: datetime) -> Click:
        """The click of a request that was redirected at an aware instant."""
        agent, referrer = scalar(asked.user_agent), scalar(asked.referrer)
        address = end_user_address(None, asked.address, BROWSER)
        device = self._devices.describe(agent) if agent else None
        place = self._geo.locate(address) if address else None
        is_bot, _ = verdict(device, asked.headers)
        return Click(
            id=new_id(),
            workspace_id=route.workspace_id,
            link_id=route.link_id,
            lyr=route.lyr,
            clicked_at=at,
            user_agent=agent[:LONGEST_AGENT] if agent else None,
            ip=address,
            network=coarse(address),
            country=place.country if place else None,
            device_type=device.device_type if device else None,
            referrer=redacted(referrer[:MAX_ADDRESS]) if referrer else None,
            click_ids=campaign(dict(pairs_of(asked.query))).clicks,
            is_bot=is_bot,
        )
