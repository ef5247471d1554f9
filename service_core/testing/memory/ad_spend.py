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

_MEASURE_COLUMNS: Final = ("spend", "impressions", "clicks", "reach", "conversions", "conversion_value")
_REPORTED_COLUMNS: Final = (
    *_MEASURE_COLUMNS,
    "currency",
    "account_zone",
    "attribution_setting",
    "report_version",
)
_RowKey = tuple[UUID, str, str, AdLevel, str]
"""Workspace, platform, account, level and id of an entity."""


class MemoryAdSpend:
    """Implements the port `AdSpendStore`; while ``down`` it cannot be read."""

    def __init__(self) -> None:
        self._versions: dict[tuple[_RowKey, date], dict[tuple[datetime, str], SpendRow]] = defaultdict(dict)
        self._latest_entities: dict[_RowKey, tuple[datetime, AdEntity]] = {}
        self.down = False

    async def add_new_spend_versions(self, workspace_id: UUID, rows: Sequence[SpendRow]) -> None:
        for row in rows:
            versions = self._versions[_row_key(workspace_id, row), row.day]
            if not versions or _reported_values(_latest_version(versions)) != _reported_values(row):
                versions[row.fetched_at, row.attribution_setting] = row
        for row in sorted(rows, key=lambda row: (row.fetched_at, row.day)):
            key = _row_key(workspace_id, row)
            if key not in self._latest_entities or self._latest_entities[key][0] <= row.fetched_at:
                self._latest_entities[key] = row.fetched_at, row.entity

    async def sum_latest_spend(self, query: SpendQuery) -> list[SpendSum]:
        self._raise_if_down()
        groups: dict[tuple[Any, ...], list[SpendRow]] = defaultdict(list)
        for (row_key, day), versions in self._versions.items():
            workspace_id, platform, _, level, _ = row_key
            is_in_scope = workspace_id == query.workspace_id and level is query.level
            if is_in_scope and query.first <= day <= query.last and _is_selected(platform, query.platforms):
                row = _latest_version(versions)
                keys = tuple(
                    _column_value(name, row, self._latest_entities[row_key][1]) for name in query.group_by
                )
                groups[(*keys, row.currency)].append(row)
        return [_sum_measures_of_rows(keys, currency, rows) for (*keys, currency), rows in groups.items()]

    async def list_ad_entities_with_latest_names(
        self, workspace_id: UUID, level: AdLevel
    ) -> list[tuple[str, str, AdEntity]]:
        self._raise_if_down()
        keys = sorted(key for key in self._latest_entities if key[0] == workspace_id and key[3] is level)
        return [(key[1], key[2], self._latest_entities[key][1]) for key in keys]

    async def list_platforms_with_spend(self, workspace_id: UUID) -> frozenset[str]:
        self._raise_if_down()
        return frozenset(key[1] for key in self._latest_entities if key[0] == workspace_id)

    def _raise_if_down(self) -> None:
        if self.down:
            raise StoreUnavailable


def _row_key(workspace_id: UUID, row: SpendRow) -> _RowKey:
    return workspace_id, row.platform, row.account_id, row.entity.level, row.entity.id


def _latest_version(versions: dict[tuple[datetime, str], SpendRow]) -> SpendRow:
    return versions[max(versions)]


def _reported_values(row: SpendRow) -> tuple[Any, ...]:
    return tuple(getattr(row, name) for name in _REPORTED_COLUMNS)


def _is_selected(platform: str, platforms: Iterable[str] | None) -> bool:
    return platforms is None or platform in platforms


def _column_value(column_name: str, row: SpendRow, entity: AdEntity) -> Any:
    return getattr(row if column_name in ("platform", "account_id", "day") else entity, column_name)


def _sum_measures_of_rows(keys: list[Any], currency: str, rows: Sequence[SpendRow]) -> SpendSum:
    """Returns the sum of rows; a measure that any row leaves unknown is None."""
    sums = {
        name: _exact_sum_or_none_if_any_is_none([getattr(row, name) for row in rows])
        for name in _MEASURE_COLUMNS
    }
    conversions = sums.pop("conversions")
    whole = {name: None if value is None else int(value) for name, value in sums.items()}
    claimed = None if conversions is None else float(conversions)
    return SpendSum(tuple(keys), currency, len(rows), conversions=claimed, **whole)


def _exact_sum_or_none_if_any_is_none(values: Sequence[float | None]) -> Fraction | None:
    """Returns the exact sum; None when any value is None."""
    known = [Fraction(str(value)) for value in values if value is not None]
    return sum(known, Fraction(0)) if len(known) == len(values) else None
