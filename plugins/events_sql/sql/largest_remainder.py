"""Splits amounts into whole parts by largest remainder, as `allocate_by_largest_remainder` does in the core."""

from typing import Any

import sqlalchemy as sa

from plugins.events_sql.sql.conditions import Expression


def part_by_largest_remainder(columns: Any, amount_column: str, unit: Expression) -> Expression:
    """Returns the rounded-down part of a row, plus one for the largest remainders until nothing is left over.

    Args:
        columns: the amount, which is not negative and the same in all rows of a unit; with the prefix ``floor_`` the part
            of the row rounded down, with ``rest_`` what rounding took away; and ``place``: of equal rests the first
            row is rounded up.
        amount_column: the name of the amount.
        unit: the column whose rows share an amount.
    """
    floor = columns[f"floor_{amount_column}"]
    left = columns[amount_column] - sa.func.sum(floor).over(partition_by=unit)
    rank = sa.func.row_number().over(
        partition_by=unit, order_by=(columns[f"rest_{amount_column}"].desc(), columns.place)
    )
    return sa.cast(floor, sa.BigInteger) + sa.case((rank <= left, 1), else_=0)
