"""The answer to an access request: everything that is stored about one person."""

from collections.abc import Mapping
from dataclasses import asdict, fields
from datetime import datetime
from typing import Any, Final

from service_core.access.models import Workspace
from service_core.analytics.people.ports import PersonReader
from service_core.ingestion.models import Event
from service_core.ingestion.ports import Quarantine, SupersededEventStore
from service_core.privacy.find_person import (
    MAX_EVENTS,
    all_time_scope,
    find_person_with_events,
    list_superseded_events_of_person,
)
from service_core.privacy.import_files import PersonalImportFiles
from service_core.privacy.ports import PersonalRecords
from service_core.privacy.received_events import mentions_person, parse_body_or_text

_MAX_QUARANTINED: Final = 100_000
_DERIVED_COLUMNS: Final = frozenset({"workspace_id", "seq", "rules_version"})


class AccessRequests:
    """Collects what is stored about a person."""

    def __init__(
        self,
        people: PersonReader,
        superseded_events: SupersededEventStore,
        quarantine: Quarantine,
        records: PersonalRecords,
        import_files: PersonalImportFiles,
    ) -> None:
        self._people = people
        self._superseded_events = superseded_events
        self._quarantine = quarantine
        self._records = records
        self._import_files = import_files

    async def collect(self, workspace: Workspace, person_id: str, now: datetime) -> dict[str, Any]:
        """Returns everything about the person of an id or e-mail address, as JSON values.

        A provider's secrets and the workspace's own settings are not among it.
        """
        found = await find_person_with_events(self._people, workspace, person_id)
        scope = all_time_scope(workspace)
        touches = [
            asdict(touch)
            for person in found.persons
            for touch in await self._people.list_latest_person_touches(scope, person, MAX_EVENTS)
        ]
        quarantined = [
            parse_body_or_text(body)
            for event in await self._quarantine.list_quarantined(workspace.id, _MAX_QUARANTINED)
            if mentions_person(body := event.queued.arrival.body, found.subject)
        ]
        superseded = await list_superseded_events_of_person(self._superseded_events, workspace, found.subject)
        content = {
            "workspace_id": workspace.public_id,
            "collected_at": now,
            "persons": list(found.persons),
            "ids": sorted(found.subject.ids) if found.persons else [],
            "events": [_event_to_json(event) for event in found.events],
            "superseded_events": [_event_to_json(each.event) for each in superseded],
            "touches": touches,
            "quarantined_events": quarantined,
            "import_files": await self._import_files.list_entries_about(workspace.id, found.subject),
            **await self._records.find_personal_records(workspace.id, found.subject),
        }
        return {name: _to_json(value) for name, value in content.items()}


def _event_to_json(event: Event) -> dict[str, Any]:
    return {
        field.name: value
        for field in fields(event)
        if field.name not in _DERIVED_COLUMNS and (value := getattr(event, field.name)) is not None
    }


def _to_json(value: Any) -> Any:
    match value:
        case str() | int() | float() | None:
            return value
        case datetime():
            return value.isoformat()
        case Mapping():
            return {str(key): _to_json(item) for key, item in value.items()}
        case list() | tuple() | frozenset():
            return [_to_json(item) for item in value]
        case _:
            return str(value)
