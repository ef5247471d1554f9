"""Classifies visits by source, medium and channel."""

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from service_core.access.analytics_settings import CustomChannel
from service_core.ingestion.campaign import Campaign
from service_core.ingestion.channel_rules.channels import (
    ChannelCondition,
    VisitFact,
    custom_channel_rules_before_builtin,
)
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


class _VisitKey(NamedTuple):
    """All that a classification depends on; visits of equal keys have the same source, medium and channel."""

    utm_source: str
    utm_medium: str
    utm_campaign: str
    click_id_type: str | None
    has_utm: bool
    has_link_tag: bool
    external_referrer_host: str | None
    is_app: bool
    custom_channels: tuple[CustomChannel, ...]


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
        self._visit = lru_cache(_CACHE_SIZE)(self._classify_uncached)
        self._is_excluded = lru_cache(_CACHE_SIZE)(_is_payment_or_login_page)

    def is_other_site_and_no_payment_or_login(self, referrer_host: str, own_hosts: Sequence[str]) -> bool:
        """Returns whether a referring host belongs to another site that is not a payment or login page.

        Args:
            referrer_host: host of the referrer, lower case, without ``www.``.
            own_hosts: hosts of the workspace and of the page itself.
        """
        if self.registrable_domain(referrer_host) in self._sites(tuple(own_hosts)):
            return False
        return not self._is_excluded(referrer_host)

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
        utm = campaign.utm
        return self._visit(
            _VisitKey(
                utm.get("utm_source", ""),
                utm.get("utm_medium", ""),
                utm.get("utm_campaign", ""),
                campaign.first_click_id[1],
                bool(utm),
                campaign.lyr is not None,
                external_referrer_host,
                is_app,
                custom_channels,
            )
        )

    def _classify_uncached(self, visit: "_VisitKey") -> TrafficSource:
        external_referrer_host = visit.external_referrer_host
        app_source, app_medium = (
            _app_source(external_referrer_host) if visit.is_app and external_referrer_host else (None, None)
        )
        click_source, click_medium = (
            CLICK_ID_SOURCES[visit.click_id_type] if visit.click_id_type else (None, None)
        )
        named = visit.utm_source.lower() or click_source
        source = named or app_source or self._referral_source(external_referrer_host) or DIRECT
        category = SOURCE_CATEGORY.get(self._entry(source) or "")
        medium = visit.utm_medium or click_medium or (None if named else app_medium)
        if not medium:
            medium = (
                DEFAULT_MEDIUM[category]
                if category
                else NO_MEDIUM
                if named or not external_referrer_host
                else "referral"
            )
        rule_input = _RuleInput(source, medium, visit.utm_campaign, category, _visit_facts(visit, medium))
        return TrafficSource(source, medium, self._rule(visit.custom_channels)(rule_input))

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


def _visit_facts(visit: _VisitKey, medium: str) -> frozenset[VisitFact]:
    is_declared_direct = visit.utm_source.lower() == DIRECT and medium in {NO_MEDIUM, "(not set)"}
    has_campaign = visit.has_utm or visit.click_id_type is not None or visit.has_link_tag
    if is_declared_direct or not (has_campaign or visit.external_referrer_host):
        return _DIRECT_FACTS
    if visit.external_referrer_host:
        return _EXTERNAL_FACTS
    return _LINK_ONLY_FACTS if not visit.has_utm and visit.click_id_type is None else _NO_FACTS


_DIRECT_FACTS: Final = frozenset({VisitFact.DIRECT})
_EXTERNAL_FACTS: Final = frozenset({VisitFact.EXTERNAL})
_LINK_ONLY_FACTS: Final = frozenset({VisitFact.LINK_ONLY})
_NO_FACTS: Final[frozenset[VisitFact]] = frozenset()


def _is_payment_or_login_page(referrer_host: str) -> bool:
    return any(suffix in EXCLUDED_REFERRERS for suffix in _parent_domains(referrer_host))


def _parent_domains(host: str) -> list[str]:
    """Returns the host and its parent domains, longest first."""
    labels = host.split(".")
    return [".".join(labels[i:]) for i in range(len(labels) - 1)]


def _compile_channel_rules(custom_channels: tuple[CustomChannel, ...]) -> Callable[[_RuleInput], str]:
    """Returns a function that gives the id of the first matching channel; results are cached."""
    tests = [
        (rule.id, [_compile_condition(when) for when in rule.any_of])
        for rule in custom_channel_rules_before_builtin(custom_channels)
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
