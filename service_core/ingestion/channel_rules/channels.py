"""Channel rules. The first match wins; case is ignored."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from service_core.access.analytics_settings import CustomChannel
from service_core.ingestion.channel_rules.sources import ASSISTANTS, SEARCH, SHOPPING, SOCIAL, VIDEO


class VisitFact(StrEnum):
    """A fact about a visit that a channel rule may test."""

    DIRECT = "direct"
    EXTERNAL = "external"
    LINK_ONLY = "link_only"


@dataclass(frozen=True, slots=True)
class ChannelCondition:
    """A condition; every field that is set must match.

    Attributes:
        source, medium, campaign: regular expression for the whole value.
        source_category: list the source is an entry of.
        fact: a fact about the visit.
    """

    source: str | None = None
    medium: str | None = None
    campaign: str | None = None
    source_category: str | None = None
    fact: VisitFact | None = None


@dataclass(frozen=True, slots=True)
class ChannelRule:
    """A channel with its conditions, of which one must match."""

    id: str
    any_of: tuple[ChannelCondition, ...]


def custom_channel_rules_before_builtin(custom_channels: Iterable[CustomChannel]) -> tuple[ChannelRule, ...]:
    """Returns the workspace's custom channels in their order, followed by the built-in ones."""
    return (
        *(ChannelRule(channel.id, (_custom_channel_condition(channel),)) for channel in custom_channels),
        *CHANNEL_RULES,
    )


def _custom_channel_condition(channel: CustomChannel) -> ChannelCondition:
    source, medium, campaign = map(_wildcard_pattern, (channel.source, channel.medium, channel.campaign))
    return ChannelCondition(source, medium, campaign)


def _wildcard_pattern(text: str | None) -> str | None:
    """Returns the regular expression of a text in which ``*`` matches any characters."""
    return ".*".join(map(re.escape, text.split("*"))) if text else None


_PAID: Final = r".*cp.*|ppc|retargeting|paid.*"
_SHOP: Final = r".*(([^a-df-z]|^)shop|shopping).*"
_EMAIL: Final = r"e[-_ ]?mail"

CHANNEL_RULES: Final = (
    ChannelRule("cross_network", (ChannelCondition(campaign=r".*cross-network.*"),)),
    ChannelRule(
        "paid_shopping",
        (
            ChannelCondition(medium=_PAID, source_category=SHOPPING),
            ChannelCondition(medium=_PAID, campaign=_SHOP),
        ),
    ),
    ChannelRule("paid_search", (ChannelCondition(medium=_PAID, source_category=SEARCH),)),
    ChannelRule("paid_social", (ChannelCondition(medium=_PAID, source_category=SOCIAL),)),
    ChannelRule("paid_video", (ChannelCondition(medium=_PAID, source_category=VIDEO),)),
    ChannelRule("display", (ChannelCondition(medium=r"display|banner|expandable|interstitial|cpm"),)),
    ChannelRule("paid_other", (ChannelCondition(medium=_PAID),)),
    ChannelRule("direct", (ChannelCondition(fact=VisitFact.DIRECT),)),
    ChannelRule("ai_assistant", (ChannelCondition(source_category=ASSISTANTS),)),
    ChannelRule(
        "organic_shopping", (ChannelCondition(source_category=SHOPPING), ChannelCondition(campaign=_SHOP))
    ),
    ChannelRule(
        "organic_social",
        (
            ChannelCondition(source_category=SOCIAL),
            ChannelCondition(medium=r"social|sm|social[- ](network|media)"),
        ),
    ),
    ChannelRule("video", (ChannelCondition(source_category=VIDEO), ChannelCondition(medium=r".*video.*"))),
    ChannelRule(
        "organic_search", (ChannelCondition(source_category=SEARCH), ChannelCondition(medium=r"organic"))
    ),
    ChannelRule("email", (ChannelCondition(source=_EMAIL), ChannelCondition(medium=_EMAIL))),
    ChannelRule("affiliate", (ChannelCondition(medium=r"affiliates?"),)),
    ChannelRule("audio", (ChannelCondition(medium=r"audio"),)),
    ChannelRule("sms", (ChannelCondition(source=r"sms"), ChannelCondition(medium=r"sms"))),
    ChannelRule(
        "push",
        (ChannelCondition(medium=r".*push|.*(mobile|notification).*"), ChannelCondition(source=r"firebase")),
    ),
    ChannelRule(
        "referral", (ChannelCondition(medium=r"referral|app|link"), ChannelCondition(fact=VisitFact.EXTERNAL))
    ),
    ChannelRule("link", (ChannelCondition(fact=VisitFact.LINK_ONLY),)),
    ChannelRule("unassigned", (ChannelCondition(),)),
)
