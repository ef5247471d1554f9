"""Source, medium and channel of an event (semantics 7)."""

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from service_core.access.rules import OwnChannel
from service_core.intake.campaign import Campaign
from service_core.intake.ports import Domains
from service_core.intake.rules.channels import Fact, When, with_own
from service_core.intake.rules.sources import (
    ALIASES,
    CLICK_SOURCES,
    LIST_OF,
    MEDIUM_OF,
    NEVER_REFERRERS,
    SPAM,
)

DIRECT: Final = "(direct)"
NO_MEDIUM: Final = "(none)"

_REMEMBERED: Final = 8192
_WORKSPACES: Final = 128
"""Sets of rules kept ready."""


class Attribution(NamedTuple):
    """The classification of a visit."""

    source: str
    medium: str
    channel: str


DIRECT_VISIT: Final = Attribution(DIRECT, NO_MEDIUM, "direct")


class _Words(NamedTuple):
    """What the channel rules look at."""

    source: str
    medium: str
    campaign: str
    within: str | None
    facts: frozenset[Fact]


class Classifier:
    """Applies source lists and channel rules. Pure; answers are remembered, within bounds.

    Args:
        domains: knows the registrable part of a host name.
    """

    def __init__(self, domains: Domains) -> None:
        self._rule = lru_cache(_WORKSPACES)(_first_match)
        self._registrable = lru_cache(_REMEMBERED)(domains.registrable)
        self._entry = lru_cache(_REMEMBERED)(self._find_entry)
        self._sites = lru_cache(_REMEMBERED)(self._find_sites)

    def external(self, host: str, own: Sequence[str]) -> bool:
        """Whether a referring host is somebody else's, and no payment or login host on the way.

        Args:
            host: host of the referrer, lower case, without ``www.``.
            own: hosts of the workspace and of the page itself.
        """
        if self.site(host) in self._sites(tuple(own)):
            return False
        return not any(suffix in NEVER_REFERRERS for suffix in _suffixes(host))

    def site(self, host: str) -> str:
        """The registrable domain of a host, or the host itself where there is none."""
        return self._registrable(host) or host

    def spam(self, host: str) -> bool:
        """Whether a host is known for forged referrers."""
        return self.site(host) in SPAM

    def classify(self, sent: Campaign, referrer: str | None, own: tuple[OwnChannel, ...] = ()) -> Attribution:
        """The classification by what an event carries.

        Args:
            sent: its campaign values.
            referrer: host of its external referrer, None without one.
            own: the workspace's own channels, tested first.
        """
        click_source, click_medium = self._click(sent)
        named = sent.utm.get("utm_source", "").lower() or click_source
        source = named or self._referring(referrer) or DIRECT
        within = LIST_OF.get(self._entry(source) or "")
        medium = sent.utm.get("utm_medium") or click_medium
        if not medium:
            medium = MEDIUM_OF[within] if within else NO_MEDIUM if named or not referrer else "referral"
        campaign = sent.utm.get("utm_campaign", "")
        facts = _facts(sent, referrer, medium)
        channel = self._rule(own)(_Words(source, medium, campaign, within, facts))
        return Attribution(source, medium, channel)

    def _click(self, sent: Campaign) -> tuple[str | None, str | None]:
        for kind in sent.clicks:
            return CLICK_SOURCES[kind]
        return None, None

    def _referring(self, host: str | None) -> str | None:
        return (self._entry(host) or self.site(host)) if host else None

    def _find_entry(self, source: str) -> str | None:
        """The list entry a source or host stands for; the longer entry wins."""
        if "." not in source:
            entry = ALIASES.get(source, source)
            return entry if entry in LIST_OF else None
        for suffix in _suffixes(source):
            entry = ALIASES.get(suffix, suffix)
            if entry in LIST_OF:
                return entry
        name = self.site(source).partition(".")[0]
        return name if name in LIST_OF else None

    def _find_sites(self, hosts: tuple[str, ...]) -> frozenset[str]:
        return frozenset(map(self.site, hosts))


def _facts(sent: Campaign, referrer: str | None, medium: str) -> frozenset[Fact]:
    said_direct = sent.utm.get("utm_source", "").lower() == DIRECT and medium in {NO_MEDIUM, "(not set)"}
    if said_direct or (sent.empty and not referrer):
        return _DIRECT
    if referrer:
        return _EXTERNAL
    return _LINK_ONLY if not sent.utm and not sent.clicks else _NOTHING


_DIRECT: Final = frozenset({Fact.DIRECT})
_EXTERNAL: Final = frozenset({Fact.EXTERNAL})
_LINK_ONLY: Final = frozenset({Fact.LINK_ONLY})
_NOTHING: Final[frozenset[Fact]] = frozenset()


def _suffixes(host: str) -> list[str]:
    """The host and every parent of it with a dot, longest first."""
    labels = host.split(".")
    return [".".join(labels[i:]) for i in range(len(labels) - 1)]


def _first_match(own: tuple[OwnChannel, ...]) -> Callable[[_Words], str]:
    tests = [(rule.id, [_test(when) for when in rule.any_of]) for rule in with_own(own)]

    @lru_cache(_REMEMBERED)
    def channel(words: _Words) -> str:
        return next(name for name, conditions in tests if any(holds(words) for holds in conditions))

    return channel


def _test(when: When) -> Callable[[_Words], bool]:
    source, medium, campaign = map(_pattern, (when.source, when.medium, when.campaign))

    def holds(words: _Words) -> bool:
        return (
            (when.within is None or when.within == words.within)
            and (when.fact is None or when.fact in words.facts)
            and (source is None or source.fullmatch(words.source) is not None)
            and (medium is None or medium.fullmatch(words.medium) is not None)
            and (campaign is None or campaign.fullmatch(words.campaign) is not None)
        )

    return holds


def _pattern(expression: str | None) -> re.Pattern[str] | None:
    return re.compile(expression, re.IGNORECASE | re.DOTALL) if expression is not None else None
