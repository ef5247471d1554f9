"""Finds the campaign, ad group or ad that a touch came from, by its UTM values."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Final, TypeAlias

from service_core.analytics.query.evaluate_predicate import lower_case_letter_by_letter
from service_core.commerce.ads.models import AdEntity, AdLevel

MATCHED_UTM_COLUMNS: Final = ("utm_id", "utm_campaign", "utm_content", "utm_term", "attribution_source")
"""Columns of a touch that are matched: an id of any level, the names of campaign, group and ad, and the source."""

AdColumns: TypeAlias = Mapping[str, str | None]
"""Values of an ad by the columns of spend; empty without a match."""

_NO_AD: Final[AdColumns] = MappingProxyType({})
_LEVELS: Final = tuple(AdLevel)


@dataclass(frozen=True, slots=True)
class _KnownAd:
    """A campaign, group or ad of an account."""

    platform: str
    account_id: str
    entity: AdEntity

    def is_same_or_below(self, other: "_KnownAd") -> bool:
        """Returns whether this is the other one, or part of it, in the same account."""
        above = _ancestor_or_self(self.entity, other.entity.level)
        return (self.platform, self.account_id, above.id) == (
            other.platform,
            other.account_id,
            other.entity.id,
        )


class AdMatcher:
    """Matches UTM values with everything that ever had spend.

    Args:
        ads: platform, account id and entity; campaigns first and ads last.
        platform_by_source: traffic sources other than platform ids, each with its platform.

    Attributes:
        match: values of `MATCHED_UTM_COLUMNS` -> columns of the matching ad. Results are cached.
    """

    def __init__(
        self, ads: Iterable[tuple[str, str, AdEntity]], platform_by_source: Mapping[str, str]
    ) -> None:
        known: dict[AdLevel, dict[tuple[str, str, str], _KnownAd]] = {level: {} for level in AdLevel}
        for platform, account, entity in ads:
            for level in _LEVELS[: _LEVELS.index(entity.level) + 1]:
                above = _ancestor_or_self(entity, level)
                known[level].setdefault((platform, account, above.id), _KnownAd(platform, account, above))
        self._by_id = {level: _index_by_id(ads.values()) for level, ads in known.items()}
        self._by_name = {
            level: _index_by_name_unique_in_account(ads.values()) for level, ads in known.items()
        }
        self._platform_by_source = platform_by_source
        self.match = cache(self._columns_of_matching_ad)

    def _columns_of_matching_ad(self, *utm_values: str | None) -> AdColumns:
        """Returns the columns of the ad that the values lead to."""
        ad = self._find_deepest_ad(*utm_values)
        if ad is None:
            return _NO_AD
        entity = ad.entity
        return {
            "platform": ad.platform,
            "account_id": ad.account_id,
            "campaign_id": entity.campaign_id,
            "campaign_name": entity.campaign_name,
            "group_id": entity.group_id,
            "group_name": entity.group_name,
            "ad_id": entity.ad_id,
            "ad_name": entity.ad_name,
        }

    def _find_deepest_ad(self, utm_id: str | None, *utm_values: str | None) -> _KnownAd | None:
        """Returns the deepest match; ids precede names, and each match limits the search to what is below it."""
        *texts, source = utm_values
        match = None
        for level in reversed(_LEVELS) if utm_id else ():
            match = match or self._only_candidate_below_or_of_source_platform(
                self._by_id[level].get(str(utm_id), ()), source, None
            )
        for index, key in ((self._by_id, str), (self._by_name, lower_case_letter_by_letter)):
            for level, text in zip(_LEVELS, texts, strict=True):
                if text and (match is None or _LEVELS.index(match.entity.level) < _LEVELS.index(level)):
                    candidates = index[level].get(key(text), ())
                    match = (
                        self._only_candidate_below_or_of_source_platform(candidates, source, match) or match
                    )
        return match

    def _only_candidate_below_or_of_source_platform(
        self, candidates: Iterable[_KnownAd], tie_breaking_source: str | None, parent: _KnownAd | None
    ) -> _KnownAd | None:
        """Returns the only candidate, else the only one of the platform the touch came from; None if several remain."""
        inside = [
            candidate for candidate in candidates if parent is None or candidate.is_same_or_below(parent)
        ]
        if len(inside) > 1:
            platform = self._platform_by_source.get(tie_breaking_source or "", tie_breaking_source)
            inside = [candidate for candidate in inside if candidate.platform == platform]
        return inside[0] if len(inside) == 1 else None


def _index_by_id(ads: Iterable[_KnownAd]) -> Mapping[str, Sequence[_KnownAd]]:
    """Returns the ads of one level by id."""
    by_id: dict[str, list[_KnownAd]] = defaultdict(list)
    for ad in ads:
        by_id[ad.entity.id].append(ad)
    return by_id


def _index_by_name_unique_in_account(ads: Iterable[_KnownAd]) -> Mapping[str, Sequence[_KnownAd]]:
    """Returns the ads of one level by lower-case name, without names that an account uses twice."""
    named = [(lower_case_letter_by_letter(ad.entity.name), ad) for ad in ads if ad.entity.name]
    uses = Counter((ad.platform, ad.account_id, name) for name, ad in named)
    by_name: dict[str, list[_KnownAd]] = defaultdict(list)
    for name, ad in named:
        if uses[ad.platform, ad.account_id, name] == 1:
            by_name[name].append(ad)
    return by_name


def _ancestor_or_self(entity: AdEntity, level: AdLevel) -> AdEntity:
    """Returns the entity of a level above that contains this one, or this one itself."""
    if entity.level is level:
        return entity
    if level is AdLevel.CAMPAIGN:
        return AdEntity(level, entity.campaign_id, entity.campaign_name)
    return AdEntity(level, entity.campaign_id, entity.campaign_name, entity.group_id, entity.group_name)
