"""An answer as a table of rows, for the formats of files."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class AnswerTable:
    """Rows of an answer, with everything else that a reader of the rows has to know.

    Attributes:
        columns: names of the columns.
        rows: one value per column, in the order of the answer; None for an unknown value.
        headers: HTTP headers that say what is missing from the rows.
        last_record: the object after the rows in NDJSON.
        field_without_csv: field of the request whose part of the answer a CSV file cannot hold, if there is one.
    """

    columns: tuple[str, ...]
    rows: Sequence[Sequence[Any]]
    headers: Mapping[str, str] = field(default_factory=dict)
    last_record: Mapping[str, Any] = field(default_factory=dict)
    field_without_csv: str | None = None
