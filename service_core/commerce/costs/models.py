"""Costs of an item, each valid from a start day."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum
from fractions import Fraction
from typing import Final
from zoneinfo import ZoneInfo

from service_core.kernel.money import currency_decimals
from service_core.kernel.wall_clock import day_start

MILLION: Final = 1_000_000


class ItemIdType(StrEnum):
    """By which of its ids an item is known."""

    SKU = "sku"
    VARIANT = "variant_id"


@dataclass(frozen=True, slots=True)
class ItemCost:
    """The cost of one item from the start of a day of the workspace on, until another one begins.

    Attributes:
        unit_cost, handling_cost: in millionths of a major unit of ``currency``. ``handling_cost`` is None if
            it is unknown, 0 if there is none.
    """

    known_by: ItemIdType
    item: str
    effective_from: date
    unit_cost: int
    handling_cost: int | None
    currency: str

    def cost_of_goods(self, quantity: int) -> Fraction:
        """Returns the exact cost of items in minor units; their quantity is in millionths."""
        return self._minor_units(self.unit_cost, quantity)

    def cost_of_handling(self, quantity: int) -> Fraction | None:
        """The cost of handling and shipping them, likewise; None if it is unknown."""
        return None if self.handling_cost is None else self._minor_units(self.handling_cost, quantity)

    def _minor_units(self, cost: int, quantity: int) -> Fraction:
        return Fraction(cost * quantity * 10 ** currency_decimals(self.currency), MILLION**2)


class CostTable:
    """Costs as they count at any time.

    Args:
        costs: of one workspace.
        zone: where its days begin.
        days: days to group by, too.
    """

    def __init__(self, costs: Iterable[ItemCost], zone: ZoneInfo, days: Iterable[date] = ()) -> None:
        by_item: defaultdict[tuple[ItemIdType, str], list[ItemCost]] = defaultdict(list)
        for cost in costs:
            by_item[cost.known_by, cost.item].append(cost)
        self._by_item = {
            item: sorted(versions, key=lambda each: each.effective_from) for item, versions in by_item.items()
        }
        begun = {cost.effective_from for versions in by_item.values() for cost in versions}
        self._days = sorted(begun.union(days))
        self.period_starts: tuple[datetime, ...] = tuple(day_start(day, zone) for day in self._days)
        """Starts of the days from which a cost applies or by which sales are grouped; the cost of earlier sales is unknown."""

    def period_start_day(self, period: int) -> date:
        """Returns the first day of a period; period 0 has none."""
        return self._days[period - 1]

    def cost_by_sku_else_variant(
        self, sku: str | None, variant_id: str | None, period: int
    ) -> ItemCost | None:
        """Returns the cost of an item in a period; None if it is unknown.

        It is looked up by sku, then by variant id. Period 0 lies before the first start.
        """
        if period == 0:
            return None
        day = self.period_start_day(period)
        for item in ((ItemIdType.SKU, sku), (ItemIdType.VARIANT, variant_id)):
            versions = self._by_item.get((item[0], item[1] or ""), ())
            begun = [version for version in versions if version.effective_from <= day]
            if begun:
                return begun[-1]
        return None
