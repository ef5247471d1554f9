"""History of Google Analytics 4: rows of its BigQuery export, by the mapping of its protocol."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from plugins.protocol_ga4.mapping import map_measurement_event
from service_core.plugin import ImportEntry, ImportFile, ImportSourceInfo, drop_none, json_object

_VALUE_TYPES: Final = ("string_value", "int_value", "float_value", "double_value")
_MONEY_FIELDS: Final[Mapping[str, str]] = {
    "purchase_revenue": "value",
    "transaction_id": "transaction_id",
    "shipping_value": "shipping",
    "tax_value": "tax",
}
"""Field of ``ecommerce`` -> parameter of the event."""
_DEVICE_FIELDS: Final[Mapping[str, str]] = {
    "operating_system": "os",
    "operating_system_version": "osVersion",
    "language": "locale",
}


class Ga4History:
    """Reads rows of the tables ``events_YYYYMMDD`` that Google Analytics 4 exports to BigQuery."""

    @property
    def info(self) -> ImportSourceInfo:
        """Returns id, name and files."""
        return ImportSourceInfo(
            id="ga4",
            label="Google Analytics 4",
            homepage="https://support.google.com/analytics/answer/7029846",
            files="BigQuery export of events as NDJSON or Parquet",
        )

    def read_entries(self, file: ImportFile) -> Iterator[ImportEntry]:
        """Returns an entry for each row; events of the users who denied consent have no id, and so become none."""
        return file.map_rows(lambda row: ImportEntry(_map_row(row), day=_day(row.get("event_date"))))


def _map_row(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns the body of a row, whose nested columns become the parameters of the Measurement Protocol."""
    parameters = _typed_values_by_key(row.get("event_params"))
    session_id = parameters.pop("ga_session_id", None)
    device, ecommerce = json_object(row.get("device")), json_object(row.get("ecommerce"))
    paid = {ours: ecommerce.get(theirs) for theirs, ours in _MONEY_FIELDS.items()}
    items = row.get("items")
    event = {
        "name": row.get("event_name"),
        "params": {
            **drop_none({**paid, "items": items if isinstance(items, list) and items else None}),
            **parameters,
            **drop_none({"session_id": None if session_id is None else str(session_id)}),
        },
    }
    document = drop_none(
        {
            "client_id": row.get("user_pseudo_id"),
            "user_id": row.get("user_id"),
            "timestamp_micros": row.get("event_timestamp"),
            "user_properties": {
                name: {"value": value}
                for name, value in _typed_values_by_key(row.get("user_properties")).items()
            },
        }
    )
    body = dict(map_measurement_event(event, document).body)
    known = drop_none({ours: device.get(theirs) for theirs, ours in _DEVICE_FIELDS.items()})
    library = {"name": "ga4_export", "version": "1"}
    body["context"] = {**json_object(body.get("context")), **known, "library": library}
    return body


def _typed_values_by_key(pairs: Any) -> dict[str, Any]:
    """Returns the values of key-value pairs, which may be JSON text; of each the type that is set."""
    if isinstance(pairs, str):
        try:
            pairs = json.loads(pairs)
        except ValueError:
            return {}
    named = [json_object(pair) for pair in pairs] if isinstance(pairs, list) else []
    values = {
        pair["key"]: _typed_value(json_object(pair.get("value")))
        for pair in named
        if isinstance(pair.get("key"), str)
    }
    return drop_none(values)


def _typed_value(value: Mapping[str, Any]) -> Any:
    found = next((value[name] for name in _VALUE_TYPES if value.get(name) is not None), None)
    is_integer_text = isinstance(found, str) and value.get("int_value") == found
    return int(str(found)) if is_integer_text and str(found).lstrip("-").isdecimal() else found


def _day(date: Any) -> str | None:
    """Returns a date such as ``20260701`` as ``2026-07-01``."""
    text = str(date or "")
    return f"{text[:4]}-{text[4:6]}-{text[6:8]}" if len(text) == len("20260701") else None
