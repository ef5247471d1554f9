"""Renders tables as CSV, NDJSON and Arrow streams, and chooses the format by the header ``Accept``."""

import csv
import io
from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any, Final

from service_core.api.http_messages import ApiResponse, ArrowEncoder, JsonCodec
from service_core.api.render import DEFAULT_HEADERS, json_default
from service_core.kernel.answer_table import AnswerTable
from service_core.kernel.errors import BadRequest
from service_core.kernel.file_response import (
    ARROW_MEDIA_TYPE,
    CSV_MEDIA_TYPE,
    FORMULA_STARTS,
    NDJSON_MEDIA_TYPE,
)
from service_core.kernel.timestamps import format_timestamp

JSON_MEDIA_TYPE: Final = "application/json"
_OFFERED: Final = (JSON_MEDIA_TYPE, CSV_MEDIA_TYPE, NDJSON_MEDIA_TYPE, ARROW_MEDIA_TYPE)
_EXPOSED: Final = "Access-Control-Expose-Headers"


def choose_media_type(accept: str) -> str:
    """Returns the offered media type that an ``Accept`` header prefers; JSON for equal preference and for none.

    Args:
        accept: the value of the header; empty without one.
    """
    preference = _preference_by_media_range(accept)
    qualities = {offered: _quality(offered.partition(";")[0], preference) for offered in _OFFERED}
    return max(_OFFERED, key=lambda offered: qualities[offered])


def _preference_by_media_range(accept: str) -> dict[str, float]:
    preferences: dict[str, float] = {}
    for part in accept.split(","):
        name, *parameters = (text.strip().lower() for text in part.split(";"))
        quality = next((text[2:] for text in parameters if text.startswith("q=")), "1")
        try:
            preferences[name] = min(max(float(quality), 0.0), 1.0)
        except ValueError:
            preferences[name] = 0.0
    return preferences


def _quality(media_type: str, preference: Mapping[str, float]) -> float:
    """Returns the preference of the most specific range that a media type matches; 0 without one."""
    ranges = (media_type, f"{media_type.partition('/')[0]}/*", "*/*")
    return next((preference[name] for name in ranges if name in preference), 0.0)


def encode_table(table: AnswerTable, media_type: str, codec: JsonCodec, encode_arrow: ArrowEncoder) -> bytes:
    """Returns the rows in a format of files.

    Args:
        table: the rows.
        media_type: `CSV_MEDIA_TYPE`, `NDJSON_MEDIA_TYPE` or `ARROW_MEDIA_TYPE`.
        codec: writes the records of NDJSON.
        encode_arrow: writes Arrow streams.

    Raises:
        BadRequest: ``invalid_parameter``, when the format cannot hold a part of the answer.
    """
    if media_type == NDJSON_MEDIA_TYPE:
        return _ndjson_bytes(codec, table)
    _refuse_fields_outside_rows(table)
    return _csv_bytes(table) if media_type == CSV_MEDIA_TYPE else encode_arrow(table)


def build_table_response(
    status: int, table: AnswerTable, media_type: str, headers: Mapping[str, str], content: bytes
) -> ApiResponse:
    """Returns the response with an encoded table, whose headers scripts of other origins can read."""
    exposed = ", ".join((DEFAULT_HEADERS[_EXPOSED], *table.headers))
    described = {"Content-Type": media_type, "X-Content-Type-Options": "nosniff"}
    return ApiResponse(
        status, {**described, **DEFAULT_HEADERS, _EXPOSED: exposed, **table.headers, **headers}, content
    )


def _refuse_fields_outside_rows(table: AnswerTable) -> None:
    """Refuses an answer of which a part is not in its rows.

    Raises:
        BadRequest: ``invalid_parameter``.
    """
    if table.field_outside_rows is not None:
        raise BadRequest(
            f"A CSV file or Arrow stream has no place for {table.field_outside_rows}",
            "invalid_parameter",
            field=table.field_outside_rows,
            hint="Leave it out, or accept application/x-ndjson or application/json.",
        )


def _csv_bytes(table: AnswerTable) -> bytes:
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(map(_csv_cell, table.columns))
    writer.writerows(map(_csv_cell, row) for row in table.rows)
    return out.getvalue().encode()


def _csv_cell(value: Any) -> str:
    """Returns a value as a cell; text that a spreadsheet would run as a formula gets an apostrophe."""
    if value is None:
        return ""
    if isinstance(value, datetime):
        return format_timestamp(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return format(Decimal(str(value)), "f")
    text = str(value)
    return f"'{text}" if text.startswith(FORMULA_STARTS) else text


def _ndjson_bytes(codec: JsonCodec, table: AnswerTable) -> bytes:
    records = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    return b"".join(codec.dumps(record, json_default) + b"\n" for record in (*records, table.last_record))
