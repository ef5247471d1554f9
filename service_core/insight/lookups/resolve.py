"""From an address or an install to the touch that brought the person (contract 12)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from ipaddress import ip_address
from typing import Final

from service_core.access.model import Caller
from service_core.insight.lookups.install import Install
from service_core.insight.lookups.ports import TagClicks, VisitClaims
from service_core.insight.lookups.store_clicks import leads_to_store
from service_core.insight.measures import Op, Predicate
from service_core.insight.people.ports import People, PeoplePage, Person, Touch
from service_core.insight.ports import EventLog, EventPage, Scan
from service_core.insight.scans import scan_of
from service_core.intake.model import Event
from service_core.intake.ports import LinkTags
from service_core.kernel.ranges import Span

MARK_WINDOW: Final = timedelta(days=30)
"""How far back a link tag or click id is looked for."""

_EVER: Final = datetime(2000, 1, 1, tzinfo=UTC)
_MOST_EVENTS: Final = 1000
_MOST_PERSONS: Final = 100


class Kind(StrEnum):
    """What an answer rests on."""

    EMAIL = "email"
    LINK = "link"
    INSTALL_REFERRER = "install_referrer"
    CLICK_ID = "click_id"
    IP = "ip"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Match:
    """An answer: the event that made the touch and its person; None when nothing was found."""

    kind: Kind
    candidates: int
    event: Event | None = None
    person: Person | None = None


NOTHING: Final = Match(Kind.NONE, 0)


class Resolver:
    """Finds touches behind addresses and installs.

    Args:
        people: persons and their touches.
        events: rows of visits.
        claims: which visits were matched before.
        links: tells links to an app by their tags.
        clicks: clicks on links, by the address they came from.
        window: how long an address of the network counts as the same device.
    """

    def __init__(
        self,
        people: People,
        events: EventLog,
        claims: VisitClaims,
        *,
        links: LinkTags,
        clicks: TagClicks,
        window: timedelta,
    ) -> None:
        self._people = people
        self._events = events
        self._claims = claims
        self._links = links
        self._clicks = clicks
        self._window = window

    async def by_email(self, who: Caller, email: str) -> Match:
        """The latest touch that is not direct of the person with exactly this address."""
        scan = _scan(who, _EVER)
        page = PeoplePage(scan, limit=_MOST_PERSONS, offset=0, sort="last_seen", search=email)
        found, _ = await self._people.people(page)
        named = [person for person in found if (person.email or "").lower() == email]
        for person in named:
            event = await self._touch(scan, person.person)
            if event is not None:
                return Match(Kind.EMAIL, len(named), event, person)
        return replace(NOTHING, candidates=len(named))

    async def by_install(self, who: Caller, install: Install) -> Match:
        """The visit an install goes back to, claimed: link tag, then click id, then the network."""
        marks = (
            (Kind.LINK, "lyr", install.lyr),
            (Kind.INSTALL_REFERRER, "lyr", install.referrer_lyr),
            (Kind.CLICK_ID, "click_id", install.click_id),
        )
        for kind, column, value in marks:
            if value:
                match = await self._by_mark(who, kind, Predicate(column, Op.EQ, value))
                if match is not None:
                    return match
        return await self._by_network(who, install.client)

    async def _by_mark(self, who: Caller, kind: Kind, mark: Predicate) -> Match | None:
        rows = await self._rows(who, MARK_WINDOW, mark)
        visits = await self._unclaimed(who, rows)
        for event in visits:
            match = await self._claim(who, kind, event, len(visits))
            if match is not None:
                return match
        return None

    async def _by_network(self, who: Caller, client: str | None) -> Match:
        address = _address(client)
        if address is None:
            return NOTHING
        rows = await self._rows(who, self._window, Predicate("ip", Op.EQ, address))
        visits = await self._unclaimed(who, await self._towards_app(who, address, rows))
        visitors = {event.visitor_id for event in visits}
        if len(visitors) != 1:
            return Match(Kind.IP, len(visitors)) if visitors else NOTHING
        return await self._claim(who, Kind.IP, visits[0], 1) or NOTHING

    async def _towards_app(self, who: Caller, address: str, rows: Sequence[Event]) -> list[Event]:
        """Events of visits that ended at an app: by a click on the way to a store, or a link to an app."""
        if not rows:
            return []
        workspace_id = who.workspace.id
        clicked = await self._clicks.clicked_tags(workspace_id, address, who.now - self._window)
        tags = {event.lyr for event in rows if event.lyr} | clicked.keys()
        links = await self._links.tagged(workspace_id, tags) if tags else {}
        to_app = {tag for tag, link in links.items() if link.to_app}
        last = max((at for tag, at in clicked.items() if tag in to_app), default=_EVER)
        return [
            event for event in rows if leads_to_store(event) or event.lyr in to_app or event.timestamp <= last
        ]

    async def _claim(self, who: Caller, kind: Kind, visit: Event, candidates: int) -> Match | None:
        """The person of a visit, if there is a touch to tell and nobody was faster."""
        scan = _scan(who, _EVER)
        key = await self._people.resolve(who.workspace.id, visit.visitor_id)
        event = None if key is None else await self._touch(scan, key)
        if key is None or event is None:
            return None
        if not await self._claims.claim_visit(who.workspace.id, _visit(visit), who.now):
            return None
        page = PeoplePage(scan, limit=1, offset=0, sort="last_seen", person=key)
        persons, _ = await self._people.people(page)
        return Match(kind, candidates, event, persons[0] if persons else None)

    async def _touch(self, scan: Scan, person: str) -> Event | None:
        """The event that made the person's latest touch that is not direct."""
        touches = await self._people.touches(scan, person)
        touch = next((one for one in reversed(touches) if one.channel != "direct"), None)
        if touch is None:
            return None
        moment = Span(touch.timestamp, touch.timestamp + timedelta.resolution)
        rows = await self._people.history(replace(scan, span=moment), person)
        return next((row for row in rows if _made(row, touch)), rows[0] if rows else None)

    async def _rows(self, who: Caller, back: timedelta, mark: Predicate) -> Sequence[Event]:
        scan = replace(_scan(who, who.now - back), filters=(mark,))
        return (await self._events.page(EventPage(scan, _MOST_EVENTS, total=False))).events

    async def _unclaimed(self, who: Caller, rows: Iterable[Event]) -> list[Event]:
        """One event of each visit that nobody has claimed, the latest visit first."""
        visits: dict[str, Event] = {}
        for event in rows:
            visits.setdefault(_visit(event), event)
        taken = await self._claims.claimed(who.workspace.id, list(visits))
        return [event for visit, event in visits.items() if visit not in taken]


def _scan(who: Caller, start: datetime) -> Scan:
    return scan_of(who, Span(start, who.now + timedelta.resolution))


def _visit(event: Event) -> str:
    return f"{event.visitor_id}\x1f{event.session_id}"


def _made(event: Event, touch: Touch) -> bool:
    return event.touchable and (event.lyr, event.click_id) == (touch.lyr, touch.click_id)


def _address(client: str | None) -> str | None:
    try:
        return str(ip_address(client or ""))
    except ValueError:
        return None
