"""`GET /event-names` and `GET /events/properties`: which events there are, and what they carry (contract 3.6, 3.7)."""

import json
from datetime import datetime
from itertools import groupby
from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import Field

from service_core.access.model import Caller
from service_core.insight.connections.model import Connection, ConnectionStatus
from service_core.insight.connections.ports import Connections
from service_core.insight.connections.providers import PROVIDERS
from service_core.insight.freshness import is_complete
from service_core.insight.measures import Predicate
from service_core.insight.ports import EventLog, PropertyKey
from service_core.insight.range_query import RangeQuery
from service_core.insight.scans import scan_of
from service_core.intake.ports import IngestQueue
from service_core.kernel.date_range import RangeAnswer
from service_core.kernel.operations import operation
from service_core.kernel.params import Answer, Clamp
from service_core.kernel.presets import PRESETS
from service_core.kernel.ranges import Range, whole_days
from service_core.kernel.wall_clock import local_date

_RECENT: Final = "last_30_days"
_SAMPLE_LENGTH: Final = 200
_SECRETIVE: Final = ("email", "phone", "token", "password", "secret")
_MASK: Final = "***"


class EventName(Answer):
    """One event name of the last 30 days."""

    name: str
    count: int
    first_seen_at: datetime
    last_seen_at: datetime


class Integration(Answer):
    """A connected provider that can trigger a rule, and the event names it sends."""

    platform: str
    status: ConnectionStatus
    event_names: list[str]


class EventNames(Answer):
    """Distinct event names, most frequent first."""

    event_names: list[str]
    events: list[EventName]
    integrations: list[Integration]
    complete: bool


class PropertiesQuery(RangeQuery):
    """Parameters of `GET /events/properties`; without a range, the last 30 days."""

    needed: ClassVar = ()
    event_name: str | None = Field(default=None, description="Exact.")
    limit: Annotated[int, Clamp(1, 500)] = Field(100, description="Keys per event.")

    def asked(self, who: Caller) -> Range:
        """The range, or the last 30 days."""
        if self.start_date is None and self.end_date is None:
            return recent(who)
        return super().asked(who)


class Property(Answer):
    """One custom key of an event."""

    key: str
    count: int
    distinct_count: int
    sample: Any
    type: Literal["string", "number", "boolean", "object", "array", "null", "mixed"]


class EventProperties(Answer):
    """The custom keys of one event."""

    event_name: str
    properties: list[Property]


class Properties(Answer):
    """Custom keys by event name."""

    events: list[EventProperties]
    range: RangeAnswer
    complete: bool


@operation("GET /event-names", tag="events")
async def get_event_names(
    *, who: Caller, log: EventLog, queue: IngestQueue, connections: Connections
) -> EventNames:
    """Distinct event names of the last 30 days; events of bots are not counted."""
    asked = recent(who)
    names = await log.names(scan_of(who, asked.span))
    known = await connections.connections(who.workspace.id)
    return EventNames(
        event_names=[name.name for name in names],
        events=[
            EventName(
                name=name.name,
                count=name.count,
                first_seen_at=name.first_seen_at,
                last_seen_at=name.last_seen_at,
            )
            for name in names
        ],
        integrations=[each for one in known if (each := _integration(one)).event_names],
        complete=await is_complete(queue, asked),
    )


@operation("GET /events/properties", tag="events")
async def get_event_properties(
    query: PropertiesQuery, *, who: Caller, log: EventLog, queue: IngestQueue
) -> Properties:
    """Custom `event_data` keys per event name: how often, how many values, one of them, and their type."""
    asked = query.asked(who)
    named = (Predicate("event_name", value=query.event_name),) if query.event_name else ()
    found = await log.properties(
        scan_of(who, asked.span, filters=named, include_bots=query.include_bots), query.limit
    )
    by_name = groupby(
        sorted(found, key=lambda each: (each.event_name, -each.count, each.key)), key=_event_name
    )
    return Properties(
        events=[
            EventProperties(event_name=name, properties=[_property(each) for each in keys])
            for name, keys in by_name
        ],
        range=RangeAnswer.of(asked),
        complete=await is_complete(queue, asked),
    )


def recent(who: Caller) -> Range:
    """The last 30 local days, today included."""
    zone = who.workspace.zone
    days = PRESETS[_RECENT](local_date(who.now, zone))
    return Range(whole_days(*days, zone), zone, who.now)


def _integration(connection: Connection) -> Integration:
    known = PROVIDERS.get(connection.provider)
    sent = known.event_names if known else ()
    return Integration(platform=connection.provider, status=connection.status, event_names=list(sent))


def _event_name(found: PropertyKey) -> str:
    return found.event_name


def _property(found: PropertyKey) -> Property:
    return Property(
        key=found.key,
        count=found.count,
        distinct_count=found.distinct_count,
        sample=sample_of(found.key, found.sample),
        type=found.type,
    )


def sample_of(key: str, value: Any) -> Any:
    """What may be shown of a value: nothing behind a secretive key, and 200 characters at most."""
    if any(word in key.lower() for word in _SECRETIVE):
        return _MASK
    if isinstance(value, list | tuple | dict):
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        return value if len(text) <= _SAMPLE_LENGTH else text[:_SAMPLE_LENGTH]
    return value[:_SAMPLE_LENGTH] if isinstance(value, str) else value


OPERATIONS = (get_event_names, get_event_properties)
