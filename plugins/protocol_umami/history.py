"""History of Umami: rows of its table ``website_event``, from a CSV file or a database dump."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from plugins.protocol_umami.mapping import map_event
from service_core.plugin import ImportEntry, ImportFile, ImportSourceInfo, drop_none

_COPY: Final = re.compile(r'COPY (?:"?[a-z_]+"?\.)?"?(?P<table>[a-z_]+)"? \((?P<columns>[^)]*)\) FROM stdin;')
_ESCAPES: Final[Mapping[str, str]] = {"t": "\t", "n": "\n", "r": "\r", "b": "\b", "f": "\f", "v": "\v"}
_ESCAPED: Final = re.compile(r"\\(.)")
_PAGE_VIEW: Final = "1"
_CAMPAIGN_COLUMNS: Final = (
    *("utm_source", "utm_medium", "utm_campaign", "utm_content", "utm_term"),
    *("gclid", "fbclid", "msclkid", "ttclid"),
)
OTHER_TABLE: Final = "other_table"
"""Difference of a row of a dump that stands in another table."""
_DUMP_STARTS: Final = ("--", "SET ", "SELECT ", "COPY ", "CREATE ", "\\")


class UmamiHistory:
    """Reads events of Umami: a CSV file of ``website_event``, or a dump of PostgreSQL as text."""

    @property
    def info(self) -> ImportSourceInfo:
        """Returns id, name and files."""
        return ImportSourceInfo(
            id="umami",
            label="Umami",
            homepage="https://umami.is/docs",
            files="Table website_event as CSV, or a PostgreSQL dump as text",
        )

    def read_entries(self, file: ImportFile) -> Iterator[ImportEntry]:
        """Returns an entry for each row of a CSV file, or for each row that a dump copies into any table."""
        if _is_dump(file):
            return _read_dump(file)
        return file.map_rows(_map_row)


def _is_dump(file: ImportFile) -> bool:
    first = next((line.text for line in file.lines() if line.text.strip()), "")
    return first.startswith(_DUMP_STARTS)


def _read_dump(file: ImportFile) -> Iterator[ImportEntry]:
    """Yields an entry for each row between ``COPY`` and its end; all other lines are statements."""
    table, columns = "", list[str]()
    for line in file.lines():
        if not table:
            if found := _COPY.fullmatch(line.text.strip()):
                table = found["table"]
                columns = [name.strip().strip('"') for name in found["columns"].split(",")]
        elif line.text == "\\.":
            table = ""
        elif table != "website_event":
            yield ImportEntry(None, OTHER_TABLE, byte_count=line.byte_count)
        elif line.problem is not None:
            yield ImportEntry(None, line.problem, byte_count=line.byte_count)
        else:
            cells = [_unescape(cell) for cell in line.text.split("\t")]
            if len(cells) != len(columns):
                yield ImportEntry(None, "wrong_column_count", byte_count=line.byte_count)
                continue
            row = drop_none(dict(zip(columns, cells, strict=True)))
            yield replace(_map_row(row), byte_count=line.byte_count)


def _unescape(cell: str) -> str | None:
    if cell == "\\N":
        return None
    return _ESCAPED.sub(lambda found: _ESCAPES.get(found[1], found[1]), cell)


def _map_row(row: Mapping[str, Any]) -> ImportEntry:
    """Returns the entry of a row. The visitor is Umami's session, which it keeps for a month; the visit is ours."""
    is_page_view = str(row.get("event_type", _PAGE_VIEW)) == _PAGE_VIEW
    payload = {
        "name": None if is_page_view else row.get("event_name"),
        "url": _url(row.get("url_path"), row.get("url_query")),
        "hostname": row.get("hostname"),
        "referrer": _referrer(row),
        "title": row.get("page_title"),
        "tag": row.get("tag"),
        "timestamp": _utc_time(row.get("created_at")),
        "screen": row.get("screen"),
        "language": row.get("language"),
    }
    body = dict(map_event({"type": "event", "payload": drop_none(payload)}, None, None).body)
    body["anonymous_id"] = row.get("session_id")
    body["event_id"] = row.get("event_id")
    body["properties"] = {
        **body["properties"],
        **drop_none({name: row.get(name) for name in _CAMPAIGN_COLUMNS}),
    }
    visit = {"session_id": row.get("visit_id"), "os": row.get("os")}
    body["context"] = {**body["context"], **drop_none(visit)}
    return ImportEntry(drop_none(body))


def _url(path: Any, query: Any) -> str | None:
    return None if path is None else f"{path}?{str(query).lstrip('?')}" if query else str(path)


def _referrer(row: Mapping[str, Any]) -> str | None:
    domain = row.get("referrer_domain")
    path = _url(row.get("referrer_path") or "/", row.get("referrer_query"))
    return f"https://{domain}{path}" if domain else None


def _utc_time(text: Any) -> str | None:
    """Returns a time of a database with its offset as ISO 8601: ``+00`` becomes ``+00:00``."""
    value = str(text or "").strip()
    return (value + ":00" if re.search(r"[+-]\d\d$", value) and ":" in value else value) or None
