"""The answer of `POST /query` as a table, for CSV and NDJSON."""

from service_core.analytics.reads.query.response import QueryResponse
from service_core.kernel.answer_table import AnswerTable


def answer_table_with_missing_values_in_headers(answer: QueryResponse) -> AnswerTable:
    """Returns the rows of an answer; headers name its unknown metrics, and whether it is complete and the last page."""
    columns = tuple(column.id for column in answer.columns)
    rows = [
        [row[name] for name in columns] if isinstance(row, dict) else list(row)[: len(columns)]
        for row in answer.rows
    ]
    page = answer.meta
    unavailable = ", ".join(f"{item.metric}={item.reason}" for item in page.unavailable)
    return AnswerTable(
        columns,
        rows,
        headers={
            "X-Complete": "true" if page.complete else "false",
            "X-Truncated": "true" if page.truncated else "false",
            **({"X-Unavailable": unavailable} if unavailable else {}),
            **({"X-Next-Cursor": page.next_cursor} if page.next_cursor else {}),
        },
        last_record={name: value for name, value in answer if name not in {"columns", "rows"}},
        field_without_csv=None if answer.comparison is None else "compare",
    )
