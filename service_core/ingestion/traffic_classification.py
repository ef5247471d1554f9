"""Classifies visits by source, medium and channel."""

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from service_core.access.analytics_settings import CustomChannel
from service_core.ingestion.campaign import Campaign
from service_core.ingestion.channel_rules.channels import ChannelCondition, VisitFact, with_custom_channels
from service_core.ingestion.channel_rules.source_hosts import APP_SOURCES
from service_core.ingestion.channel_rules.sources import (
    CLICK_ID_SOURCES,
    DEFAULT_MEDIUM,
    EXCLUDED_REFERRERS,
    SOURCE_ALIASES,
    SOURCE_CATEGORY,
    SPAM_REFERRERS,
)
from service_core.ingestion.ports import PublicSuffixList

DIRECT: Final = "(direct)"
NO_MEDIUM: Final = "(none)"

_CACHE_SIZE: Final = 8192
_MAX_CACHED_WORKSPACES: Final = 128
"""Compiled rule sets that are cached."""


class TrafficSource(NamedTuple):
    """Source, medium and channel of a visit."""

    source: str
    medium: str
    channel: str


DIRECT_VISIT: Final = TrafficSource(DIRECT, NO_MEDIUM, "direct")


class _RuleInput(NamedTuple):
    """The values of a visit that channel rules test."""

    source: str
    medium: str
    campaign: str
    source_category: str | None
    facts: frozenset[VisitFact]


class TrafficClassifier:
    """Applies source lists and channel rules; results are cached up to a limit.

    Args:
        domains: finds registrable domains.
    """

    def __init__(self, domains: PublicSuffixList) -> None:
        self._rule = lru_cache(_MAX_CACHED_WORKSPACES)(_compile_channel_rules)
        self._registrable = lru_cache(_CACHE_SIZE)(domains.registrable_domain)
        self._entry = lru_cache(_CACHE_SIZE)(self._find_listed_source)
        self._sites = lru_cache(_CACHE_SIZE)(self._registrable_domains)

    def is_other_site_and_no_payment_or_login(self, referrer_host: str, own_hosts: Sequence[str]) -> bool:
        """Returns whether a referring host belongs to another site that is not a payment or login page.

        Args:
            referrer_host: host of the referrer, lower case, without ``www.``.
            own_hosts: hosts of the workspace and of the page itself.
        """
        if self.registrable_domain(referrer_host) in self._sites(tuple(own_hosts)):
            return False
        return not any(suffix in EXCLUDED_REFERRERS for suffix in _parent_domains(referrer_host))

    def registrable_domain(self, host: str) -> str:
        """Returns the registrable domain of a host, or the host itself if it has none."""
        return self._registrable(host) or host

    def is_spam(self, host: str) -> bool:
        """Returns whether a host is listed as referrer spam."""
        return self.registrable_domain(host) in SPAM_REFERRERS

    def classify_visit(
        self,
        campaign: Campaign,
        external_referrer_host: str | None,
        custom_channels: tuple[CustomChannel, ...] = (),
        *,
        is_app: bool = False,
    ) -> TrafficSource:
        """Returns source, medium and channel by the campaign and referrer of an event.

        Args:
            campaign: its campaign values.
            external_referrer_host: host of its external referrer; None without one.
            custom_channels: the workspace's own channels, tested first.
            is_app: whether the referrer is an app: the package or id of one.
        """
        app_source, app_medium = (
            _app_source(external_referrer_host) if is_app and external_referrer_host else (None, None)
        )
        click_source, click_medium = self._click_source(campaign)
        named = campaign.utm.get("utm_source", "").lower() or click_source
        source = named or app_source or self._referral_source(external_referrer_host) or DIRECT
        category = SOURCE_CATEGORY.get(self._entry(source) or "")
        medium = campaign.utm.get("utm_medium") or click_medium or (None if named else app_medium)
        if not medium:
            medium = (
                DEFAULT_MEDIUM[category]
                if category
                else NO_MEDIUM
                if named or not external_referrer_host
                else "referral"
            )
        campaign_name = campaign.utm.get("utm_campaign", "")
        facts = _visit_facts(campaign, external_referrer_host, medium)
        channel = self._rule(custom_channels)(_RuleInput(source, medium, campaign_name, category, facts))
        return TrafficSource(source, medium, channel)

    def _click_source(self, campaign: Campaign) -> tuple[str | None, str | None]:
        for kind in campaign.click_ids:
            return CLICK_ID_SOURCES[kind]
        return None, None

    def _referral_source(self, host: str | None) -> str | None:
        return (self._entry(host) or self.registrable_domain(host)) if host else None

    def _find_listed_source(self, source: str) -> str | None:
        """Returns the listed source that a source name or host belongs to; the longest entry wins."""
        if "." not in source:
            entry = SOURCE_ALIASES.get(source, source)
            return entry if entry in SOURCE_CATEGORY else None
        for suffix in _parent_domains(source):
            entry = SOURCE_ALIASES.get(suffix, suffix)
            if entry in SOURCE_CATEGORY:
                return entry
        name = self.registrable_domain(source).partition(".")[0]
        return name if name in SOURCE_CATEGORY else None

    def _registrable_domains(self, hosts: tuple[str, ...]) -> frozenset[str]:
        return frozenset(map(self.registrable_domain, hosts))


def _app_source(app: str) -> tuple[str, str]:
    """Returns source and medium of a visit from an app; an unknown one is a referral of its package or id."""
    return APP_SOURCES.get(app, (app, "referral"))


def _visit_facts(campaign: Campaign, external_referrer_host: str | None, medium: str) -> frozenset[VisitFact]:
    is_declared_direct = campaign.utm.get("utm_source", "").lower() == DIRECT and medium in {
        NO_MEDIUM,
        "(not set)",
    }
    if is_declared_direct or (campaign.is_empty and not external_referrer_host):
        return _DIRECT_FACTS
    if external_referrer_host:
        return _EXTERNAL_FACTS
    return _LINK_ONLY_FACTS if not campaign.utm and not campaign.click_ids else _NO_FACTS


_DIRECT_FACTS: Final = frozenset({VisitFact.DIRECT})
_EXTERNAL_FACTS: Final = frozenset({VisitFact.EXTERNAL})
_LINK_ONLY_FACTS: Final = frozenset({VisitFact.LINK_ONLY})
_NO_FACTS: Final[frozenset[VisitFact]] = frozenset()


def _parent_domains(host: str) -> list[str]:
    """Returns the host and its parent domains, longest first."""
    labels = host.split(".")
    return [".".join(labels[i:]) for i in range(len(labels) - 1)]


def _compile_channel_rules(custom_channels: tuple[CustomChannel, ...]) -> Callable[[_RuleInput], str]:
    """Returns a function that gives the id of the first matching channel; results are cached."""
    tests = [
        (rule.id, [_compile_condition(when) for when in rule.any_of])
        for rule in with_custom_channels(custom_channels)
    ]

    @lru_cache(_CACHE_SIZE)
    def first_matching_channel(rule_input: _RuleInput) -> str:
        return next(
            channel for channel, conditions in tests if any(holds(rule_input) for holds in conditions)
        )

    return first_matching_channel


def _compile_condition(condition: ChannelCondition) -> Callable[[_RuleInput], bool]:
    source, medium, campaign = map(_compile_pattern, (condition.source, condition.medium, condition.campaign))

    def all_set_fields_match(rule_input: _RuleInput) -> bool:
        return (
            (condition.source_category is None or condition.source_category == rule_input.source_category)
            and (condition.fact is None or condition.fact in rule_input.facts)
            and (source is None or source.fullmatch(rule_input.source) is not None)
            and (medium is None or medium.fullmatch(rule_input.medium) is not None)
            and (campaign is None or campaign.fullmatch(rule_input.campaign) is not None)
        )

    return all_set_fields_match


def _compile_pattern(expression: str | None) -> re.Pattern[str] | None:
    return re.compile(expression, re.IGNORECASE | re.DOTALL) if expression is not None else None
