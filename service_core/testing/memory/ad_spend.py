"""`AdSpendStore` in memory, which defines the promises of the port in readable code."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import date, datetime
from fractions import Fraction
from typing import Any, Final
from uuid import UUID

from service_core.analytics.ports import StoreUnavailable
from service_core.commerce.ads.models import AdEntity, AdLevel, SpendRow
from service_core.commerce.ads.ports import SpendQuery, SpendSum

_FIGURES: Final = ("spend", "impressions", "clicks", "reach", "conversions", "conversion_value")
_SAID: Final = (*_FIGURES, "currency", "account_zone", "attribution_setting", "report_version")
_RowKey = tuple[UUID, str, str, AdLevel, str]
"""Workspace, platform, account, level and id of an entity."""


class MemoryAdSpend:
    """Implements the port `AdSpendStore`; while ``down`` it cannot be read."""

    def __init__(self) -> None:
        self._versions: dict[tuple[_RowKey, date], dict[tuple[datetime, str], SpendRow]] = defaultdict(dict)
        self._named: dict[_RowKey, tuple[datetime, AdEntity]] = {}
        self.down = False

    async def add_spend(self, workspace_id: UUID, rows: Sequence[SpendRow]) -> None:
        for row in rows:
            versions = self._versions[_row_key(workspace_id, row), row.day]
            if not versions or _reported_values(_latest_version(versions)) != _reported_values(row):
                versions[row.fetched_at, row.attribution_setting] = row
        for row in sorted(rows, key=lambda row: (row.fetched_at, row.day)):
            key = _row_key(workspace_id, row)
            if key not in self._named or self._named[key][0] <= row.fetched_at:
                self._named[key] = row.fetched_at, row.entity

    async def spend(self, plan: SpendQuery) -> list[SpendSum]:
        self._check()
        groups: dict[tuple[Any, ...], list[SpendRow]] = defaultdict(list)
        for (row_key, day), versions in self._versions.items():
            workspace_id, platform, _, level, _ = row_key
            is_in_scope = workspace_id == plan.workspace_id and level is plan.level
            if is_in_scope and plan.first <= day <= plan.last and _is_selected(platform, plan.platforms):
                row = _latest_version(versions)
                keys = tuple(_column_value(name, row, self._named[row_key][1]) for name in plan.group_by)
                groups[(*keys, row.currency)].append(row)
        return [_sum_rows(keys, currency, rows) for (*keys, currency), rows in groups.items()]

    async def list_ad_entities(self, workspace_id: UUID, level: AdLevel) -> list[tuple[str, str, AdEntity]]:
        self._check()
        keys = sorted(key for key in self._named if key[0] == workspace_id and key[3] is level)
        return [(key[1], key[2], self._named[key][1]) for key in keys]

    async def list_platforms_with_spend(self, workspace_id: UUID) -> frozenset[str]:
        self._check()
        return frozenset(key[1] for key in self._named if key[0] == workspace_id)

    def _check(self) -> None:
        if self.down:
            raise StoreUnavailable


def _row_key(workspace_id: UUID, row: SpendRow) -> _RowKey:
    return workspace_id, row.platform, row.account_id, row.entity.level, row.entity.id


def _latest_version(versions: dict[tuple[datetime, str], SpendRow]) -> SpendRow:
    return versions[max(versions)]


def _reported_values(row: SpendRow) -> tuple[Any, ...]:
    return tuple(getattr(row, name) for name in _SAID)


def _is_selected(platform: str, platforms: Iterable[str] | None) -> bool:
    return platforms is None or platform in platforms


def _column_value(name: str, row: SpendRow, entity: AdEntity) -> Any:
    return getattr(row if name in ("platform", "account_id", "day") else entity, name)


def _sum_rows(keys: list[Any], currency: str, rows: Sequence[SpendRow]) -> SpendSum:
    """Returns the sum of rows; a measure that any row leaves unknown is None."""
    sums = {name: _exact_sum([getattr(row, name) for row in rows]) for name in _FIGURES}
    conversions = sums.pop("conversions")
    whole = {name: None if value is None else int(value) for name, value in sums.items()}
    claimed = None if conversions is None else float(conversions)
    return SpendSum(tuple(keys), currency, len(rows), conversions=claimed, **whole)


def _exact_sum(values: Sequence[float | None]) -> Fraction | None:
    """Returns the exact sum; None when any value is None."""
    known = [Fraction(str(value)) for value in values if value is not None]
    return sum(known, Fraction(0)) if len(known) == len(values) else None
