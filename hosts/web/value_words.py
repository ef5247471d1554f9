"""Values of events for people: identifiers, moments, and the people of events."""

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final
from urllib.parse import quote, urlencode
from zoneinfo import ZoneInfo

_IDENTIFIER: Final = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
_PATH_SEGMENT: Final = re.compile(r"[\w@:+~-][\w.@:+~-]*", re.ASCII)
_ACRONYMS: Final = {"id": "ID", "ids": "IDs", "url": "URL", "urls": "URLs", "utm": "UTM"}
_SHORT_ID_LENGTH: Final = 24


def humanize(text: str) -> str:
    """An identifier in words: ``paid_search`` is ``Paid search``, ``event_id`` ``Event ID``; other texts stay as they are."""
    if not _IDENTIFIER.fullmatch(text):
        return text
    words = spell_out(text)
    return words[:1].upper() + words[1:]


def spell_out(identifier: str) -> str:
    """The words of an identifier: ``destination_url`` is ``destination URL``."""
    return " ".join(_ACRONYMS.get(word, word) for word in identifier.split("_"))


def format_moment(text: str | None, zone: ZoneInfo) -> str:
    """An instant of an answer by the wall clock of the workspace: ``5 Jul 2026, 10:00:07``."""
    if text is None:
        return "—"
    local = datetime.fromisoformat(text).astimezone(zone)
    return f"{local.day} {local:%b %Y, %H:%M:%S}"


def format_day(text: str | None, zone: ZoneInfo) -> str:
    """The local day of an instant: ``5 Jul 2026``; a dash without one."""
    if text is None:
        return "—"
    local = datetime.fromisoformat(text).astimezone(zone)
    return f"{local.day} {local:%b %Y}"


def person_name(person: Mapping[str, Any]) -> str:
    """Name, e-mail address, user id or shortened visitor id of a person or of an event's person."""
    for field in ("name", "email", "user_id"):
        if person.get(field):
            return str(person[field])
    visitor = str(person["visitor_id"])
    return visitor if len(visitor) <= _SHORT_ID_LENGTH else f"{visitor[:_SHORT_ID_LENGTH]}…"


def person_path(person: Mapping[str, Any]) -> str:
    """Path and query of a person's page below the workspace; ids that a path would change stand in the query."""
    id_ = str(person.get("user_id") or person["visitor_id"])
    if _PATH_SEGMENT.fullmatch(id_):
        return f"/people/{quote(id_, safe='')}"
    return f"/people/id?{urlencode({'id': id_})}"
