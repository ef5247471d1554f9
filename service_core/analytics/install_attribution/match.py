"""Matches an e-mail address or an app install to a web touch."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from ipaddress import ip_address
from typing import Final

from service_core.access.models import Caller
from service_core.analytics.install_attribution.app_store_clicks import is_app_store_click
from service_core.analytics.install_attribution.models import InstallSignals, visit_key
from service_core.analytics.install_attribution.ports import MatchedVisits, RecentLinkClicks
from service_core.analytics.measures import FilterOperator, Predicate
from service_core.analytics.people.ports import PeoplePageQuery, Person, PersonReader, Touch
from service_core.analytics.ports import EventPageQuery, EventReader, QueryScope
from service_core.analytics.scope import scope_for_caller
from service_core.ingestion.models import Event
from service_core.ingestion.ports import LinkLookup
from service_core.kernel.time_ranges import TimeRange

SIGNAL_WINDOW: Final = timedelta(days=30)
"""Maximum age of a visit matched by link tag or click id."""

_EARLIEST_EVENT: Final = datetime(2000, 1, 1, tzinfo=UTC)
_MAX_EVENTS: Final = 1000
_MAX_PERSONS: Final = 100


class MatchMethod(StrEnum):
    """How a match was found."""

    EMAIL = "email"
    LINK = "link"
    INSTALL_REFERRER = "install_referrer"
    CLICK_ID = "click_id"
    IP = "ip"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class AttributionMatch:
    """The event of the matched touch and its person; None without a match."""

    method: MatchMethod
    candidates: int
    event: Event | None = None
    person: Person | None = None


NO_MATCH: Final = AttributionMatch(MatchMethod.NONE, 0)


class InstallMatcher:
    """Matches e-mail addresses and installs to touches.

    Args:
        people: persons and their touches.
        events: events of visits.
        matched_visits: visits that are matched.
        links: links to apps by their tags.
        clicks: clicks on links by IP address.
        window: time in which an IP address is taken as the same device.
    """

    def __init__(
        self,
        people: PersonReader,
        events: EventReader,
        matched_visits: MatchedVisits,
        *,
        links: LinkLookup,
        clicks: RecentLinkClicks,
        window: timedelta,
    ) -> None:
        self._people = people
        self._events = events
        self._matched_visits = matched_visits
        self._links = links
        self._clicks = clicks
        self._window = window

    async def match_latest_non_direct_touch_by_email(
        self, caller: Caller, normalized_email: str
    ) -> AttributionMatch:
        """Returns the latest touch that is not direct of the person with exactly this address."""
        scope = _build_scope_since(caller, _EARLIEST_EVENT)
        query = PeoplePageQuery(
            scope, limit=_MAX_PERSONS, offset=0, sort="last_seen", search=normalized_email
        )
        candidates, _ = await self._people.list_people_and_total(query)
        persons = [person for person in candidates if (person.email or "").lower() == normalized_email]
        for person in persons:
            event = await self._find_latest_non_direct_touch_event(scope, person.person)
            if event is not None:
                return AttributionMatch(MatchMethod.EMAIL, len(persons), event, person)
        return replace(NO_MATCH, candidates=len(persons))

    async def match_and_mark_visit_by_link_click_or_ip(
        self, caller: Caller, install: InstallSignals
    ) -> AttributionMatch:
        """Returns the visit of an install and marks it matched: by link tag, then click id, then IP address."""
        signals = (
            (MatchMethod.LINK, "lyr", install.lyr),
            (MatchMethod.INSTALL_REFERRER, "lyr", install.referrer_lyr),
            (MatchMethod.CLICK_ID, "click_id", install.click_id),
        )
        for method, column, value in signals:
            if value:
                match = await self._match_and_mark_visit_of_last_30_days(
                    caller, method, Predicate(column, FilterOperator.EQ, value)
                )
                if match is not None:
                    return match
        return await self._match_and_mark_sole_app_visitor_of_ip(caller, install.client_ip)

    async def _match_and_mark_visit_of_last_30_days(
        self, caller: Caller, method: MatchMethod, signal: Predicate
    ) -> AttributionMatch | None:
        rows = await self._list_events(caller, SIGNAL_WINDOW, signal)
        events = await self._list_latest_event_per_unmatched_visit(caller, rows)
        for event in events:
            match = await self._mark_matched_unless_taken_or_touchless(caller, method, event, len(events))
            if match is not None:
                return match
        return None

    async def _match_and_mark_sole_app_visitor_of_ip(
        self, caller: Caller, client_ip: str | None
    ) -> AttributionMatch:
        address = _normalize_ip(client_ip)
        if address is None:
            return NO_MATCH
        rows = await self._list_events(caller, self._window, Predicate("ip", FilterOperator.EQ, address))
        events = await self._list_latest_event_per_unmatched_visit(
            caller, await self._select_events_leading_to_app(caller, address, rows)
        )
        visitors = {event.visitor_id for event in events}
        if len(visitors) != 1:
            return AttributionMatch(MatchMethod.IP, len(visitors)) if visitors else NO_MATCH
        return (
            await self._mark_matched_unless_taken_or_touchless(caller, MatchMethod.IP, events[0], 1)
            or NO_MATCH
        )

    async def _select_events_leading_to_app(
        self, caller: Caller, client_ip: str, events: Sequence[Event]
    ) -> list[Event]:
        """Returns events of visits that ended at an app store or at a link to an app."""
        if not events:
            return []
        workspace_id = caller.workspace.id
        clicked = await self._clicks.latest_human_click_by_tag(
            workspace_id, client_ip, caller.now - self._window
        )
        tags = {event.lyr for event in events if event.lyr} | clicked.keys()
        links = await self._links.links_by_tag(workspace_id, tags) if tags else {}
        to_app = {tag for tag, link in links.items() if link.targets_app}
        last = max((at for tag, at in clicked.items() if tag in to_app), default=_EARLIEST_EVENT)
        return [
            event
            for event in events
            if is_app_store_click(event) or event.lyr in to_app or event.timestamp <= last
        ]

    async def _mark_matched_unless_taken_or_touchless(
        self, caller: Caller, method: MatchMethod, visit_event: Event, candidate_count: int
    ) -> AttributionMatch | None:
        """Returns the match of a visit; None if it has no touch or was matched meanwhile."""
        scope = _build_scope_since(caller, _EARLIEST_EVENT)
        key = await self._people.find_person_of_any_id(caller.workspace.id, visit_event.visitor_id)
        event = None if key is None else await self._find_latest_non_direct_touch_event(scope, key)
        if key is None or event is None:
            return None
        if not await self._matched_visits.mark_visit_matched_unless_already(
            caller.workspace.id, visit_key(visit_event), caller.now
        ):
            return None
        query = PeoplePageQuery(scope, limit=1, offset=0, sort="last_seen", person=key)
        persons, _ = await self._people.list_people_and_total(query)
        return AttributionMatch(method, candidate_count, event, persons[0] if persons else None)

    async def _find_latest_non_direct_touch_event(self, scope: QueryScope, person: str) -> Event | None:
        """Returns the event of the person's latest touch that is not direct."""
        touches = await self._people.list_latest_person_touches(scope, person)
        touch = next((candidate for candidate in reversed(touches) if candidate.channel != "direct"), None)
        if touch is None:
            return None
        moment = TimeRange(touch.timestamp, touch.timestamp + timedelta.resolution)
        rows = await self._people.list_latest_person_events(replace(scope, span=moment), person)
        return next((row for row in rows if _is_event_of_touch(row, touch)), rows[0] if rows else None)

    async def _list_events(self, caller: Caller, look_back: timedelta, signal: Predicate) -> Sequence[Event]:
        scope = replace(_build_scope_since(caller, caller.now - look_back), filters=(signal,))
        return (await self._events.list_events(EventPageQuery(scope, _MAX_EVENTS, count_total=False))).events

    async def _list_latest_event_per_unmatched_visit(
        self, caller: Caller, newest_first_events: Iterable[Event]
    ) -> list[Event]:
        """Returns one event of each visit that is not matched, the latest visit first."""
        events_by_visit: dict[str, Event] = {}
        for event in newest_first_events:
            events_by_visit.setdefault(visit_key(event), event)
        matched = await self._matched_visits.select_matched_visits(caller.workspace.id, list(events_by_visit))
        return [event for visit, event in events_by_visit.items() if visit not in matched]


def _build_scope_since(caller: Caller, start: datetime) -> QueryScope:
    return scope_for_caller(caller, TimeRange(start, caller.now + timedelta.resolution))


def _is_event_of_touch(event: Event, touch: Touch) -> bool:
    return event.touchable and (event.lyr, event.click_id) == (touch.lyr, touch.click_id)


def _normalize_ip(client_ip: str | None) -> str | None:
    try:
        return str(ip_address(client_ip or ""))
    except ValueError:
        return None
