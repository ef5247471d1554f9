"""The answer of `POST /query` as a table, for CSV, NDJSON and Arrow streams."""

from typing import Final

from service_core.analytics.query.models import BUCKET
from service_core.analytics.reads.query.response import MetricColumn, QueryResponse, ResultColumn
from service_core.kernel.answer_table import AnswerTable, CellType, ColumnType

_BUCKET_TYPES: Final = {
    BUCKET: CellType.INSTANT,
    "date": CellType.DATE,
    "partial": CellType.FLAG,
}


def answer_table_with_missing_values_in_headers(answer: QueryResponse) -> AnswerTable:
    """Returns the rows of an answer; headers name its unknown metrics, currency and time zone, and say whether it is complete and the last page."""
    columns = tuple(column.id for column in answer.columns)
    rows = [
        [row[name] for name in columns] if isinstance(row, dict) else list(row)[: len(columns)]
        for row in answer.rows
    ]
    page = answer.meta
    unavailable = ", ".join(f"{item.metric}={item.reason}" for item in page.unavailable)
    return AnswerTable(
        columns,
        tuple(_column_type(column, answer) for column in answer.columns),
        rows,
        headers={
            "X-Complete": "true" if page.complete else "false",
            "X-Truncated": "true" if page.truncated else "false",
            "X-Currency": page.resolved.currency,
            "X-Timezone": page.resolved.timezone,
            **({"X-Unavailable": unavailable} if unavailable else {}),
            **({"X-Next-Cursor": page.next_cursor} if page.next_cursor else {}),
        },
        last_record={name: value for name, value in answer if name not in {"columns", "rows"}},
        field_outside_rows=None if answer.comparison is None else "compare",
    )


def _column_type(column: MetricColumn | ResultColumn, answer: QueryResponse) -> ColumnType:
    """Returns the type of a column; the local date of an hour has a time."""
    if isinstance(column, MetricColumn):
        return column.column_type(answer.meta.resolved.currency)
    if column.kind != "bucket":
        return ColumnType(CellType.TEXT)
    if column.id == "date" and answer.meta.resolved.interval == "hour":
        return ColumnType(CellType.LOCAL_TIME)
    return ColumnType(_BUCKET_TYPES[column.id])
