"""The channel rules, first match wins, case-insensitive (semantics 7.2)."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from service_core.access.rules import OwnChannel
from service_core.intake.rules.sources import ASSISTANTS, SEARCH, SHOPPING, SOCIAL, VIDEO


class Fact(StrEnum):
    """What is known of a visit besides its words."""

    DIRECT = "direct"
    EXTERNAL = "external"
    LINK_ONLY = "link_only"


@dataclass(frozen=True, slots=True)
class When:
    """A condition; everything it names must hold.

    Attributes:
        source, medium, campaign: regular expression for the whole value.
        within: list the source is an entry of.
        fact: what must be known.
    """

    source: str | None = None
    medium: str | None = None
    campaign: str | None = None
    within: str | None = None
    fact: Fact | None = None


@dataclass(frozen=True, slots=True)
class ChannelRule:
    """A channel and its conditions, of which one must hold."""

    id: str
    any_of: tuple[When, ...]


def with_own(own: Iterable[OwnChannel]) -> tuple[ChannelRule, ...]:
    """A workspace's own channels, in their order, before those of the house."""
    return (*(ChannelRule(channel.id, (_named(channel),)) for channel in own), *CHANNELS)


def _named(channel: OwnChannel) -> When:
    source, medium, campaign = map(_expression, (channel.source, channel.medium, channel.campaign))
    return When(source, medium, campaign)


def _expression(text: str | None) -> str | None:
    """The regular expression of a text in which ``*`` stands for any characters."""
    return ".*".join(map(re.escape, text.split("*"))) if text else None


_PAID: Final = r".*cp.*|ppc|retargeting|paid.*"
_SHOP: Final = r".*(([^a-df-z]|^)shop|shopping).*"
_EMAIL: Final = r"e[-_ ]?mail"

CHANNELS: Final = (
    ChannelRule("cross_network", (When(campaign=r".*cross-network.*"),)),
    ChannelRule("paid_shopping", (When(medium=_PAID, within=SHOPPING), When(medium=_PAID, campaign=_SHOP))),
    ChannelRule("paid_search", (When(medium=_PAID, within=SEARCH),)),
    ChannelRule("paid_social", (When(medium=_PAID, within=SOCIAL),)),
    ChannelRule("paid_video", (When(medium=_PAID, within=VIDEO),)),
    ChannelRule("display", (When(medium=r"display|banner|expandable|interstitial|cpm"),)),
    ChannelRule("paid_other", (When(medium=_PAID),)),
    ChannelRule("direct", (When(fact=Fact.DIRECT),)),
    ChannelRule("ai_assistant", (When(within=ASSISTANTS),)),
    ChannelRule("organic_shopping", (When(within=SHOPPING), When(campaign=_SHOP))),
    ChannelRule("organic_social", (When(within=SOCIAL), When(medium=r"social|sm|social[- ](network|media)"))),
    ChannelRule("video", (When(within=VIDEO), When(medium=r".*video.*"))),
    ChannelRule("organic_search", (When(within=SEARCH), When(medium=r"organic"))),
    ChannelRule("email", (When(source=_EMAIL), When(medium=_EMAIL))),
    ChannelRule("affiliate", (When(medium=r"affiliates?"),)),
    ChannelRule("audio", (When(medium=r"audio"),)),
    ChannelRule("sms", (When(source=r"sms"), When(medium=r"sms"))),
    ChannelRule("push", (When(medium=r".*push|.*(mobile|notification).*"), When(source=r"firebase"))),
    ChannelRule("referral", (When(medium=r"referral|app|link"), When(fact=Fact.EXTERNAL))),
    ChannelRule("link", (When(fact=Fact.LINK_ONLY),)),
    ChannelRule("unassigned", (When(),)),
)
