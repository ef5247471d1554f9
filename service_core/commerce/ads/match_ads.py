"""Which campaign, group or ad a touch came from, by what its address said (semantics 12.3)."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Final, TypeAlias

from service_core.analytics.query.evaluate_predicate import lower_per_letter
from service_core.commerce.ads.models import AdEntity, AdLevel

MATCHED_UTM_COLUMNS: Final = ("utm_id", "utm_campaign", "utm_content", "utm_term", "attribution_source")
"""Columns of a touch that tell: an id of anything, what names campaign, group and ad, and whose site it was."""

UtmValues: TypeAlias = Sequence[str | None]
AdColumns: TypeAlias = Mapping[str, str | None]
"""Values of an entity by the columns of spend; nothing when none was found."""

_NO_AD: Final[AdColumns] = MappingProxyType({})
_LEVELS: Final = tuple(AdLevel)
_PLATFORM_OF: Final = {
    "facebook": "meta", "fb": "meta", "instagram": "meta", "ig": "meta",
    "adwords": "google", "youtube": "google", "tt": "tiktok",
}  # fmt: skip
"""Source of a touch -> the platform whose ads lead there; any other source is taken at its word."""


@dataclass(frozen=True, slots=True)
class _KnownAd:
    platform: str
    account_id: str
    entity: AdEntity

    def is_below(self, other: "_KnownAd | None") -> bool:
        """Whether it is of the same account as another, and below it."""
        if other is None:
            return True
        above = _ancestor(self.entity, other.entity.level)
        return (self.platform, self.account_id, above.id) == (
            other.platform,
            other.account_id,
            other.entity.id,
        )


class AdMatcher:
    """Everything there was ever spend of, to be found by what touches say of it.

    Args:
        told: platform, account and entity, campaigns first and ads last.
    """

    def __init__(self, told: Iterable[tuple[str, str, AdEntity]]) -> None:
        known: dict[AdLevel, dict[tuple[str, str, str], _KnownAd]] = {level: {} for level in AdLevel}
        for platform, account, entity in told:
            for level in _LEVELS[: _LEVELS.index(entity.level) + 1]:
                above = _ancestor(entity, level)
                known[level].setdefault((platform, account, above.id), _KnownAd(platform, account, above))
        self._by_id = {level: _index_by_id(of.values()) for level, of in known.items()}
        self._by_name = {level: _index_by_unique_name(of.values()) for level, of in known.items()}
        self.place = cache(self._match)

    def _match(self, *tags: str | None) -> AdColumns:
        """Where a touch with values of `TAGS` came from."""
        found = self._find_ad(*tags)
        if found is None:
            return _NO_AD
        entity = found.entity
        return {
            "platform": found.platform,
            "account_id": found.account_id,
            "campaign_id": entity.campaign_id,
            "campaign_name": entity.campaign_name,
            "group_id": entity.group_id,
            "group_name": entity.group_name,
            "ad_id": entity.ad_id,
            "ad_name": entity.ad_name,
        }

    def _find_ad(self, utm_id: str | None, *tags: str | None) -> _KnownAd | None:
        """By ids before names; whatever is found narrows what is looked for below it."""
        *named, source = tags
        found = None
        for level in reversed(_LEVELS) if utm_id else ():
            found = found or _only_candidate(self._by_id[level].get(str(utm_id), ()), source, None)
        for index, key in ((self._by_id, str), (self._by_name, lower_per_letter)):
            for level, text in zip(_LEVELS, named, strict=True):
                if text and (found is None or _LEVELS.index(found.entity.level) < _LEVELS.index(level)):
                    found = _only_candidate(index[level].get(key(text), ()), source, found) or found
        return found


def _only_candidate(
    candidates: Iterable[_KnownAd], source: str | None, above: _KnownAd | None
) -> _KnownAd | None:
    """The one that is meant: the only one, else the only one of the platform the touch came from."""
    inside = [each for each in candidates if each.is_below(above)]
    if len(inside) > 1:
        platform = _PLATFORM_OF.get(source or "", source)
        inside = [each for each in inside if each.platform == platform]
    return inside[0] if len(inside) == 1 else None


def _index_by_id(known: Iterable[_KnownAd]) -> Mapping[str, Sequence[_KnownAd]]:
    found: dict[str, list[_KnownAd]] = defaultdict(list)
    for each in known:
        found[each.entity.id].append(each)
    return found


def _index_by_unique_name(known: Iterable[_KnownAd]) -> Mapping[str, Sequence[_KnownAd]]:
    """Names that one entity of its account has, whatever the case."""
    named = [(lower_per_letter(each.entity.name), each) for each in known if each.entity.name]
    used = Counter((each.platform, each.account_id, name) for name, each in named)
    found: dict[str, list[_KnownAd]] = defaultdict(list)
    for name, each in named:
        if used[each.platform, each.account_id, name] == 1:
            found[name].append(each)
    return found


def _ancestor(entity: AdEntity, level: AdLevel) -> AdEntity:
    """The entity of a level that holds another one, or that one itself."""
    if entity.level is level:
        return entity
    if level is AdLevel.CAMPAIGN:
        return AdEntity(level, entity.campaign_id, entity.campaign_name)
    return AdEntity(level, entity.campaign_id, entity.campaign_name, entity.group_id, entity.group_name)
