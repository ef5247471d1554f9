"""Clicks on redirect links."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final
from uuid import UUID

from service_core.access.ip_prefixes import truncate_to_ipv4_24_or_ipv6_48
from service_core.ingestion.bot_detection import classify_bot
from service_core.ingestion.campaign import parse_campaign_and_install_referrer
from service_core.ingestion.event_source import BROWSER, reported_or_connection_ip
from service_core.ingestion.page_urls import MAX_URL_LENGTH, redact_secret_query_values
from service_core.ingestion.ports import GeoLocator, UserAgentParser
from service_core.ingestion.validation import text_of_string_or_number
from service_core.kernel.ids import new_id
from service_core.workspace.links.link_url import parse_query
from service_core.workspace.links.redirect import Redirect

MAX_USER_AGENT_LENGTH: Final = 512
HOUR_SECONDS: Final = 3600


@dataclass(frozen=True, slots=True)
class Click:
    """One request that was redirected.

    Attributes:
        ip: address of the client; purged after seven days.
        network: the address truncated to its /24 or /48 prefix.
        click_ids: click ids of the request by their type.
        is_bot: a bot, a prefetch or a preview; stored and not counted.
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
    def hour_since_epoch(self) -> int:
        """Hours between 1970-01-01 UTC and the click."""
        return int(self.clicked_at.timestamp()) // HOUR_SECONDS

    @property
    def visitor_hash(self) -> str:
        """Hash of network and user agent, by which unique clicks are counted."""
        return hashlib.sha256(f"{self.network}\n{self.user_agent}".encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class ClickRequest:
    """The parts of a redirect request that a click records.

    Attributes:
        query: query string as received.
        address: IP address of the client.
        headers: headers by which browsers announce a prefetch, names in lower case.
    """

    query: str
    user_agent: str | None = None
    address: str | None = None
    referrer: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


class ClickEnricher:
    """Builds clicks, with device, country and bot detection.

    Args:
        user_agent_parser: looks up the device of a user agent.
        geo: looks up the location of an address.
    """

    def __init__(self, user_agent_parser: UserAgentParser, geo: GeoLocator) -> None:
        self._devices = user_agent_parser
        self._geo = geo

    def build_click(self, redirect: Redirect, request: ClickRequest, clicked_at: datetime) -> Click:
        """Returns the click of a redirected request, with the full IP address; ``clicked_at`` has a time zone."""
        agent, referrer = (
            text_of_string_or_number(request.user_agent),
            text_of_string_or_number(request.referrer),
        )
        address = reported_or_connection_ip(None, request.address, BROWSER)
        device = self._devices.parse(agent) if agent else None
        place = self._geo.locate(address) if address else None
        is_bot, _ = classify_bot(device, request.headers)
        return Click(
            id=new_id(),
            workspace_id=redirect.workspace_id,
            link_id=redirect.link_id,
            lyr=redirect.lyr,
            clicked_at=clicked_at,
            user_agent=agent[:MAX_USER_AGENT_LENGTH] if agent else None,
            ip=address,
            network=truncate_to_ipv4_24_or_ipv6_48(address),
            country=place.country if place else None,
            device_type=device.device_type if device else None,
            referrer=redact_secret_query_values(referrer[:MAX_URL_LENGTH]) if referrer else None,
            click_ids=parse_campaign_and_install_referrer(dict(parse_query(request.query))).click_ids,
            is_bot=is_bot,
        )
