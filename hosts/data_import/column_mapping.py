"""Maps the columns of a file to the fields of a `/track` body.

Columns with the names of the fields need no mapping; those of other tools are known by their usual names; an own mapping
precedes both. A file exported by Touchpoint is recognized by its columns and restored row by row.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from service_core.ingestion.body_fields import BODY_FIELDS, OBJECT_FIELDS, is_body_field
from service_core.ingestion.campaign import URL_CAMPAIGN_PARAMETERS
from service_core.ingestion.import_sources.models import ImportEntry
from service_core.ingestion.imported_rows import (
    IMPORTED_COLUMNS_HEADER,
    encode_imported_columns,
    is_touchpoint_export,
)
from service_core.kernel.errors import StartupError

_KNOWN_COLUMNS: Final[Mapping[str, tuple[str, ...]]] = {
    "event": ("event", "event_name", "event name", "eventname", "event_type", "action", "name"),
    "timestamp": (
        *("timestamp", "event_time", "event_timestamp", "time", "client_event_time", "original_timestamp"),
        *("originaltimestamp", "occurred_at", "datetime", "properties.time", "sent_at", "created_at", "date"),
    ),
    "event_id": (
        *("event_id", "eventid", "message_id", "messageid", "uuid", "insert_id", "$insert_id", "insert id"),
        "properties.$insert_id",
    ),
    "user_id": ("user_id", "userid", "user id", "uid", "customer_id", "properties.$user_id"),
    "anonymous_id": (
        *("anonymous_id", "anonymousid", "device_id", "device id", "client_id", "user_pseudo_id", "cookie_id"),
        *("properties.$device_id", "properties.$anon_distinct_id"),
    ),
    "distinct_id": ("distinct_id", "distinctid", "distinct id", "properties.distinct_id"),
    "visitor_id": ("visitor_id", "visitorid", "visitor id"),
    "properties": ("properties", "event_properties", "event_data", "event properties", "params"),
    "context": ("context",),
    "external_ids": ("external_ids",),
    "ip": ("ip", "ip_address", "context_ip", "properties.$ip"),
    "context.session_id": ("session_id", "sessionid", "$session_id", "ga_session_id", "properties.$session_id"),
    "context.userAgent": ("user_agent", "useragent", "context_user_agent", "properties.$user_agent"),
    "context.locale": ("locale", "language", "context_locale"),
    "context.platform": ("platform",),
    "context.os": ("os", "os_name"),
    "context.osVersion": ("os_version",),
    "context.appVersion": ("app_version", "version_name"),
    "properties.url": ("url", "page_url", "page_location", "current_url", "context_page_url", "properties.$current_url"),
    "properties.referrer": (
        *("referrer", "page_referrer", "context_page_referrer", "properties.$referrer"),
        "properties.page_referrer",
    ),
    "properties.title": ("title", "page_title", "context_page_title", "properties.$title"),
    "properties.path": ("path", "page_path", "properties.$pathname"),
    "properties.value": ("value", "revenue", "amount"),
    "properties.currency": ("currency", "currency_code"),
    "properties.order_id": ("order_id", "orderid", "transaction_id"),
    **{f"properties.{name}": (name.lower(),) for name in sorted(URL_CAMPAIGN_PARAMETERS)},
}  # fmt: skip
"""Field of the body -> names of columns that hold it, lower case, in order of precedence."""

_OTHER_SPELLINGS: Final[Mapping[str, tuple[str, ...]]] = {"event": ("eventname",), "event_id": ("messageid",)}
_SAMPLE_ROWS: Final = 1_000


@dataclass(frozen=True, slots=True)
class ColumnMapping:
    """The fields that the columns of a file become.

    Attributes:
        is_export: whether the file is an export of Touchpoint, whose rows are restored whole.
        targets: column and field, in order; of two columns with the same field the first that is not empty counts.
        unused: columns that no field takes.
    """

    is_export: bool = False
    targets: tuple[tuple[str, str], ...] = ()
    unused: tuple[str, ...] = ()

    def to_entry(self, entry: ImportEntry) -> ImportEntry:
        """Returns the entry with the body its row becomes; an entry without a row is returned as it is."""
        if entry.body is None:
            return entry
        if self.is_export:
            return _restore_exported_row(entry)
        body: dict[str, Any] = {}
        for column, target in self.targets:
            cell = _cell_at(entry.body, column)
            if cell is not None and cell != "":
                _set_field(body, target, cell)
        return _with_body(entry, body)


def parse_overrides(texts: Iterable[str]) -> dict[str, str]:
    """Returns field by column of texts such as ``user_id=uid``.

    Raises:
        StartupError: a text of another form, or a field that a body does not have.
    """
    overrides = {}
    for text in texts:
        target, separator, column = text.partition("=")
        if not separator or not column or not target:
            raise StartupError(f"--map {text}: write FIELD=COLUMN, as in user_id=customer.")
        if not is_body_field(target):
            raise StartupError(
                f"--map {text}: {target} is no field of an event. Fields are {', '.join(BODY_FIELDS)}, and names "
                "inside properties, context and external_ids, such as properties.plan."
            )
        overrides[column] = target
    return overrides


def map_columns(
    rows: Iterable[ImportEntry], overrides: Mapping[str, str], header: Iterable[str] = ()
) -> ColumnMapping:
    """Returns the mapping of a file by its first rows and by own choices.

    Args:
        rows: the entries as read.
        overrides: field by column.
        header: columns of the file, of which an entry has those that are not empty; none for NDJSON.

    Raises:
        StartupError: a chosen column does not exist.
    """
    columns = _columns_of_sample(rows)
    missing = [column for column in overrides if column not in columns]
    if missing and columns:
        raise StartupError(f"The file has no column {missing[0]}. It has {', '.join(columns)}.")
    if is_touchpoint_export(frozenset(columns) | frozenset(header)) and not overrides:
        return ColumnMapping(is_export=True, targets=tuple((c, c) for c in columns if "." not in c))
    targets = dict(overrides)
    for target, names in _KNOWN_COLUMNS.items():
        if target in overrides.values():
            continue
        found = [
            column for name in names for column in columns if column.lower() == name and column not in targets
        ]
        targets |= {
            column: target for column in found if column == found[0] or _is_other_spelling(column, target)
        }
    for column in columns:
        outer, _, rest = column.partition(".")
        if rest and outer in OBJECT_FIELDS and column not in targets:
            targets[column] = column
    taken = {column.partition(".")[0] for column, target in targets.items() if target in OBJECT_FIELDS}
    unused = tuple(c for c in columns if c not in targets and not ("." in c and c.partition(".")[0] in taken))
    order = [(column, targets[column]) for column in _by_precedence(targets)]
    # Objects come first: single fields fill what the object does not have.
    order.sort(key=lambda pair: pair[1] not in OBJECT_FIELDS)
    return ColumnMapping(targets=tuple(order), unused=unused)


def _is_other_spelling(column: str, target: str) -> bool:
    """Returns whether `/track` itself reads the field under this name, too."""
    plain = column.lower().replace("_", "")
    return plain == target.replace("_", "") or plain in _OTHER_SPELLINGS.get(target, ())


def _by_precedence(targets: Mapping[str, str]) -> list[str]:
    def rank(column: str) -> int:
        names = _KNOWN_COLUMNS.get(targets[column], ())
        return names.index(column.lower()) if column.lower() in names else -1

    return sorted(targets, key=rank)


def _columns_of_sample(rows: Iterable[ImportEntry]) -> tuple[str, ...]:
    """Returns the columns of the first rows in order, with those inside objects by dotted names."""
    columns: dict[str, None] = {}
    for number, entry in enumerate(rows):
        if number >= _SAMPLE_ROWS:
            break
        for name, value in (entry.body or {}).items():
            columns[name] = None
            if isinstance(value, dict):
                columns |= {f"{name}.{inner}": None for inner in value}
    return tuple(columns)


def _cell_at(row: Mapping[str, Any], column: str) -> Any:
    if column in row:
        return row[column]
    outer, _, inner = column.partition(".")
    value = row.get(outer)
    return value.get(inner) if inner and isinstance(value, dict) else None


def _set_field(body: dict[str, Any], target: str, cell: Any) -> None:
    """Sets a field that is not set yet; the fields of an object are added to it."""
    outer, _, inner = target.partition(".")
    if inner:
        group = body.setdefault(outer, {})
        if isinstance(group, dict):
            group.setdefault(inner, cell)
    elif isinstance(cell, dict):
        group = body.setdefault(outer, {})
        for name, value in cell.items():
            group.setdefault(name, value)
    else:
        body.setdefault(outer, cell)


def _restore_exported_row(entry: ImportEntry) -> ImportEntry:
    """Returns the entry of an exported row: its body, and the columns that replace what enrichment finds."""
    row = entry.body or {}
    ids = {name: row.get(name) for name in ("anonymous_id", "distinct_id", "user_id")}
    if row.get("visitor_id") not in ids.values():
        ids["visitor_id"] = row.get("visitor_id")
    body = {
        "event": row.get("event_name"),
        "event_id": row.get("event_id"),
        "timestamp": row.get("timestamp"),
        **{name: id_ for name, id_ in ids.items() if id_},
        "properties": _object_cell(row.get("event_data")),
        "context": {
            "session_id": row.get("session_id"),
            "library": row.get("sdk_name"),
            "version": row.get("sdk_version"),
        },
        "external_ids": _object_cell(row.get("external_ids")),
    }
    columns = encode_imported_columns(row)
    return _with_body(entry, body, {IMPORTED_COLUMNS_HEADER: columns})


def _object_cell(cell: Any) -> dict[str, Any]:
    value = json.loads(cell) if isinstance(cell, str) and cell else cell
    return value if isinstance(value, dict) else {}


def _with_body(
    entry: ImportEntry, body: Mapping[str, Any], headers: Mapping[str, str] | None = None
) -> ImportEntry:
    return ImportEntry(
        {name: float(value) if isinstance(value, Decimal) else value for name, value in body.items()},
        entry.skip_reason,
        entry.event_id,
        entry.user_agent,
        entry.address,
        headers or entry.headers,
        entry.byte_count,
    )
