"""Touches: which events of a person are a visit from somewhere, and from where (semantics 8).

Candidates are events that are ``touchable`` and no bots, in order of (timestamp, sequence).

- Carried values: the candidate's `CAMPAIGN_COLUMNS` are not all None, equal those of the person's
  latest candidate that had any, and do not stand in its URL. Its referrer alone classifies it then;
  without an external referrer it makes no touch, nor does a plain event after it become the first.
- Otherwise it is classified by what it carries itself. A candidate that carries nothing is a touch,
  a direct one, only as the first candidate of its session.
- A later candidate of a session is a touch when it differs from the session's latest touch in
  channel, source, medium, campaign, content, term, click id or link tag.

A person without a touch of its own up to a conversion has those its client told (8.7). Of the person's
events up to the conversion, itself among them, the latest that tells any gives its first and its last
touch; they count in the window like others, and for conversions only.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import Enum, auto
from typing import Any, Final

from service_core.insight.orders import moment
from service_core.insight.people.ports import Touch
from service_core.intake.model import CAMPAIGN_COLUMNS, SIDES, TOLD_COLUMNS, Event

DIRECT: Final = "direct"
_DIRECT: Final = {"attribution_source": "(direct)", "attribution_medium": "(none)", "channel": DIRECT}
_CLASSIFIED: Final = {"attribution_source": "source", "attribution_medium": "medium", "channel": "channel"}
_CLICK_COLUMNS: Final = ("gclid", "gbraid", "wbraid", "fbclid", "ttclid", "oppref", "msclkid")
_NOT_OWN: Final = frozenset({*CAMPAIGN_COLUMNS, *_CLICK_COLUMNS})
_SAME: Final = (
    "channel",
    "attribution_source",
    "attribution_medium",
    "utm_campaign",
    "utm_content",
    "utm_term",
    "click_id",
    "lyr",
)


class By(Enum):
    """What classifies a touch: the values of the event, its referrer alone, or nothing."""

    OWN = auto()
    REFERRAL = auto()
    NOTHING = auto()


@dataclass(frozen=True, slots=True)
class Visit:
    """A touch with the event that makes it."""

    event: Event
    by: By

    @property
    def direct(self) -> bool:
        """Whether it is a direct touch."""
        return bool(self.value("channel") == DIRECT)

    def value(self, column: str) -> Any:
        """A column of the touch, by the names of `Touch`; any other is the event's."""
        if column in _CLASSIFIED:
            if self.by is By.NOTHING:
                return _DIRECT[column]
            side = "own" if self.by is By.OWN else "referral"
            return getattr(self.event, f"{side}_{_CLASSIFIED[column]}")
        if column in _NOT_OWN and self.by is not By.OWN:
            return None
        return getattr(self.event, column)

    def touch(self) -> Touch:
        """The touch as an answer shows it."""
        return Touch(
            timestamp=self.event.timestamp,
            source=self.value("attribution_source"),
            medium=self.value("attribution_medium"),
            campaign=self.value("utm_campaign"),
            term=self.value("utm_term"),
            content=self.value("utm_content"),
            channel=self.value("channel"),
            click_id=self.value("click_id"),
            click_id_type=self.value("click_id_type"),
            referrer=self.event.referrer,
            landing_page=self.event.landing_page,
            lyr=self.value("lyr"),
            utm_source=self.value("utm_source"),
            utm_medium=self.value("utm_medium"),
        )


def visits(events: Iterable[Event], person: Callable[[Event], str]) -> Iterator[tuple[str, Visit]]:
    """Every touch of a workspace with its person, oldest first.

    Args:
        events: all its events, in any order.
        person: whose an event is (`stitch.Owners.person`).
    """
    campaigns: dict[str, tuple[Any, ...]] = {}
    sessions: dict[tuple[str, str], tuple[Any, ...] | None] = {}
    for event in sorted((e for e in events if e.touchable and not e.is_bot), key=moment):
        who, session = person(event), (event.visitor_id, event.session_id)
        first = session not in sessions
        latest = sessions.setdefault(session, None)
        values = tuple(getattr(event, column) for column in CAMPAIGN_COLUMNS)
        campaign = any(value is not None for value in values)
        carried = campaign and campaigns.get(who) == values and not event.campaign_in_url
        if campaign:
            campaigns[who] = values
        visit = _visit(event, carried=carried, first=first)
        if visit and (same := tuple(visit.value(column) for column in _SAME)) != latest:
            sessions[session] = same
            yield who, visit


def told_visits(event: Event) -> list[Visit]:
    """The touches an event tells of, oldest first."""
    told = event.told or {}
    found = []
    for side in SIDES:
        if at := told.get(f"{side}_timestamp"):
            columns: dict[str, Any] = {name: told.get(f"{side}_{name}") for name in TOLD_COLUMNS}
            when = datetime.fromisoformat(at).replace(tzinfo=UTC)
            found.append(Visit(replace(event, timestamp=when, **columns), By.OWN))
    return sorted(found, key=lambda visit: visit.event.timestamp)


def _visit(event: Event, *, carried: bool, first: bool) -> Visit | None:
    if carried:
        return Visit(event, By.REFERRAL) if event.referral_channel else None
    if event.own_channel:
        return Visit(event, By.OWN)
    return Visit(event, By.NOTHING) if first else None
