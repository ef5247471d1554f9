"""Request models of cost imports: rows, or CSV with the same columns."""

import csv
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple, TypeAlias

from pydantic import Field

from service_core.kernel.errors import BadRequest
from service_core.kernel.schemas import BodyModel

MAX_ROWS: Final = 10_000
COLUMNS: Final = ("sku", "variant_id", "unit_cost", "handling_cost", "effective_from", "currency")
"""Columns of a file; of the first two one is needed, of the others ``unit_cost``."""

Amount: TypeAlias = int | float | str
"""Major units; a text is read exactly as it is written."""


class RawCostRow(NamedTuple):
    """A row as it was sent, each value as text; None where nothing is."""

    sku: str | None = None
    variant_id: str | None = None
    unit_cost: str | None = None
    handling_cost: str | None = None
    effective_from: str | None = None
    currency: str | None = None


class CostRow(BodyModel):
    """Cost of one item."""

    sku: str | None = Field(default=None, description="What the item is known by.")
    variant_id: str | int | None = Field(default=None, description="What an item without a sku is known by.")
    unit_cost: Amount = Field(description="Cost of one, in major units; at most 6 decimals.")
    handling_cost: Amount | None = Field(
        default=None, description="Cost of handling and shipping one; 0 for none, and unknown without."
    )
    effective_from: str | None = Field(
        default=None, description="The first day it counts; that of the import."
    )


class CostImport(BodyModel):
    """Costs of items, as rows or as a file."""

    currency: str | None = Field(
        default=None, pattern="^[A-Z]{3}$", description="ISO 4217 code of all costs; the workspace's."
    )
    effective_from: str | None = Field(
        default=None, description="The first day costs count, `YYYY-MM-DD`, for rows that name none."
    )
    rows: list[CostRow] | None = Field(default=None, description=f"At most {MAX_ROWS:,}.")
    csv: str | None = Field(
        default=None,
        description="The same as comma-separated values with a header: "
        + ", ".join(f"`{name}`" for name in COLUMNS)
        + ".",
    )

    def parse_rows_or_csv(self) -> list[RawCostRow]:
        """The rows, in whatever form they were sent.

        Raises:
            BadRequest: neither form or both, no row or too many, or a file without the columns it needs.
        """
        if (self.rows is None) == (self.csv is None):
            raise BadRequest("Send either rows or csv", "missing_field", field="rows")
        rows = list(_rows_from_json(self.rows) if self.rows is not None else _rows_from_csv(self.csv or ""))
        field = "csv" if self.rows is None else "rows"
        if not rows:
            raise BadRequest("The import has no rows", "missing_field", field=field)
        if len(rows) > MAX_ROWS:
            raise BadRequest(f"An import has at most {MAX_ROWS:,} rows", "too_many_rows", field=field)
        return rows


class ApplyCostImport(CostImport):
    """An import that was checked, sent again with the hash of the check."""

    import_hash: str = Field(description="As the check answered.")


def _rows_from_json(rows: list[CostRow]) -> Iterator[RawCostRow]:
    for row in rows:
        yield RawCostRow(**_strip_values(row.model_dump()))


def _rows_from_csv(text: str) -> Iterator[RawCostRow]:
    try:
        reader = csv.DictReader(text.lstrip("\ufeff").splitlines(), strict=True)
        names = [name.strip().lower() for name in reader.fieldnames or ()]
        _check_csv_columns(names)
        for row in reader:
            if None in row:
                raise BadRequest(
                    f"Line {reader.line_num} has more values than columns", "invalid_parameter", field="csv"
                )
            yield RawCostRow(**_strip_values(dict(zip(names, row.values(), strict=True))))
    except csv.Error as fault:
        raise BadRequest(f"The file cannot be read: {fault}", "invalid_parameter", field="csv") from None


def _check_csv_columns(column_names: list[str]) -> None:
    unknown = next((name for name in column_names if name not in COLUMNS), None)
    if unknown is not None:
        raise BadRequest(f"No column is called {unknown!r}", "unknown_field", field="csv")
    if "unit_cost" not in column_names or len(set(column_names)) < len(column_names):
        raise BadRequest("Each column stands once, and unit_cost has to", "missing_field", field="csv")


def _strip_values(row: Mapping[str, object]) -> dict[str, str | None]:
    texts = {name: "" if value is None else str(value).strip() for name, value in row.items()}
    return {name: text or None for name, text in texts.items()}
