"""Access to public pages by the token in their URL, rate limits and view counts."""

import asyncio
import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from service_core.access.models import Workspace
from service_core.access.ports import RateLimiter, RateLimiterUnavailable
from service_core.changes.ports import Transactions, UniqueKeyLookup
from service_core.ingestion.bot_detection import classify_bot
from service_core.ingestion.ports import UserAgentParser
from service_core.kernel.clock import Clock
from service_core.kernel.errors import Gone, NotFound, TooManyRequests
from service_core.kernel.ids import ONE_TIME_TOKEN_PATTERN, sha256_hex
from service_core.workspace.share_links.models import ShareLink, ShareLinkStatus, share_token_key
from service_core.workspace.share_links.ports import ShareLinkViews
from service_core.workspace.share_links.shareable_types import SHAREABLE_TYPES, ShareableRecord

MAX_REQUESTS_PER_MINUTE: Final = 300
"""Requests per network and minute, so that tokens cannot be guessed."""

MINUTE_SECONDS: Final = 60


@dataclass(frozen=True, slots=True)
class SharedObject:
    """A shared object whose link is active."""

    link: ShareLink
    workspace: Workspace
    record: ShareableRecord


@dataclass(frozen=True, slots=True)
class ShareLinkAccess:
    """Resolves the tokens of share links.

    Attributes:
        unique_keys: finds links by the hash of their token.
        transactions: reads the shared objects.
        limiter: counts requests per network.
        clock: returns the present.
    """

    unique_keys: UniqueKeyLookup
    transactions: Transactions
    limiter: RateLimiter
    clock: Clock

    async def count_request_and_check_limit(self, network: str | None) -> None:
        """Counts a request of a network; an unknown network and an unreachable limit store are not limited.

        Raises:
            TooManyRequests: ``rate_limited``.
        """
        if network is None:
            return
        try:
            allowance = await self.limiter.consume(
                f"share:{network}", MAX_REQUESTS_PER_MINUTE, MINUTE_SECONDS
            )
        except RateLimiterUnavailable:
            return
        if not allowance.allowed:
            raise TooManyRequests(
                "Too many requests. Try again in a minute.",
                "rate_limited",
                headers={"Retry-After": str(MINUTE_SECONDS)},
            )

    async def resolve_token_of_active_link(self, token: str) -> SharedObject:
        """Returns the object that a token shares.

        Raises:
            NotFound: no link has this token, or its object was deleted.
            Gone: the link is revoked or expired.
        """
        if not ONE_TIME_TOKEN_PATTERN.fullmatch(token):
            raise NotFound
        token_digest = sha256_hex(token)
        workspace_and_link = await self.unique_keys.find_live_by_unique_key(
            ShareLink, share_token_key(token_digest)
        )
        if workspace_and_link is None or not hmac.compare_digest(workspace_and_link[1].digest, token_digest):
            raise NotFound
        workspace, link = workspace_and_link
        if link.as_of(self.clock()).status is not ShareLinkStatus.ACTIVE:
            raise Gone("This page is not shared any more")
        async with self.transactions.read(workspace.id) as transaction:
            record = await transaction.resources.get(SHAREABLE_TYPES[link.object_type], link.object_id)
        if record is None:
            raise NotFound
        return SharedObject(link, workspace, record)


@dataclass(frozen=True, slots=True)
class ViewCounter:
    """Counts the views of public pages.

    Attributes:
        views: stores the counts.
        devices: parses user agents, to detect bots.
        clock: returns the present.
    """

    views: ShareLinkViews
    devices: UserAgentParser
    clock: Clock

    async def count_view_unless_bot(self, link: ShareLink, headers: Mapping[str, str]) -> None:
        """Counts a view, unless a bot, a prefetch or a preview sent the request.

        Args:
            link: the link of the page.
            headers: request headers, names in lower case.
        """
        agent = headers.get("user-agent")
        # The first description compiles the patterns, for half a second: others are served meanwhile.
        device = await asyncio.to_thread(self.devices.parse, agent) if agent else None
        is_program, _ = classify_bot(device, headers)
        if not is_program:
            await self.views.count_view(link.id, self.clock())
