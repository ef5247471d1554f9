"""Detects touches: the events with which a person arrives from a source.

Candidates are events that are ``touchable`` and not of bots, in order of (timestamp, sequence).

- An event repeats a campaign if its `CAMPAIGN_COLUMNS` are not all None, equal those of the latest
  candidate of the person that had any, and are not in its URL. Only its referrer classifies it then;
  without an external referrer it is no touch, and a later plain event does not become the first one.
- Otherwise its own values classify it. A candidate without values is a touch, a direct one, only as the
  first candidate of its session.
- A later candidate of a session is a touch if it differs from the latest touch of the session in
  channel, source, medium, campaign, content, term, click id or link tag.

A person without a touch up to a conversion has the touches reported by the client. Of the events of the
person up to and including the conversion, the latest that reports any gives the first and last touch.
They count in the window like others, and for conversions only.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import Enum, auto
from typing import Any, Final

from service_core.analytics.event_rules.order_deduplication import event_time_key
from service_core.analytics.people.ports import Touch
from service_core.ingestion.models import CAMPAIGN_COLUMNS, REPORTED_TOUCH_COLUMNS, TOUCH_POSITIONS, Event

DIRECT: Final = "direct"
_DIRECT_VALUES: Final = {"attribution_source": "(direct)", "attribution_medium": "(none)", "channel": DIRECT}
_CLASSIFICATION_COLUMNS: Final = {
    "attribution_source": "source",
    "attribution_medium": "medium",
    "channel": "channel",
}
_CLICK_COLUMNS: Final = ("gclid", "gbraid", "wbraid", "fbclid", "ttclid", "oppref", "msclkid")
_CAMPAIGN_AND_CLICK_COLUMNS: Final = frozenset({*CAMPAIGN_COLUMNS, *_CLICK_COLUMNS})
_DISTINGUISHING_COLUMNS: Final = (
    "channel",
    "attribution_source",
    "attribution_medium",
    "utm_campaign",
    "utm_content",
    "utm_term",
    "click_id",
    "lyr",
)


class TouchClassification(Enum):
    """Origin of a touch's channel: the values of the event, its referrer only, or nothing."""

    EVENT_VALUES = auto()
    REFERRER = auto()
    DIRECT = auto()


@dataclass(frozen=True, slots=True)
class TouchEvent:
    """A touch with its event."""

    event: Event
    classification: TouchClassification

    @property
    def is_direct(self) -> bool:
        """Whether it is a direct touch."""
        return bool(self.column_value_as_classified("channel") == DIRECT)

    def column_value_as_classified(self, column_name: str) -> Any:
        """Returns a column by the names of `Touch`; any other column is that of the event."""
        if column_name in _CLASSIFICATION_COLUMNS:
            if self.classification is TouchClassification.DIRECT:
                return _DIRECT_VALUES[column_name]
            side = "own" if self.classification is TouchClassification.EVENT_VALUES else "referral"
            return getattr(self.event, f"{side}_{_CLASSIFICATION_COLUMNS[column_name]}")
        if (
            column_name in _CAMPAIGN_AND_CLICK_COLUMNS
            and self.classification is not TouchClassification.EVENT_VALUES
        ):
            return None
        return getattr(self.event, column_name)

    def to_touch(self) -> Touch:
        """Returns the touch as a value."""
        return Touch(
            timestamp=self.event.timestamp,
            source=self.column_value_as_classified("attribution_source"),
            medium=self.column_value_as_classified("attribution_medium"),
            campaign=self.column_value_as_classified("utm_campaign"),
            term=self.column_value_as_classified("utm_term"),
            content=self.column_value_as_classified("utm_content"),
            channel=self.column_value_as_classified("channel"),
            click_id=self.column_value_as_classified("click_id"),
            click_id_type=self.column_value_as_classified("click_id_type"),
            referrer=self.event.referrer,
            landing_page=self.event.landing_page,
            lyr=self.column_value_as_classified("lyr"),
            utm_source=self.column_value_as_classified("utm_source"),
            utm_medium=self.column_value_as_classified("utm_medium"),
        )


def detect_touches_without_bots_and_repeats(
    events: Iterable[Event], person_of: Callable[[Event], str]
) -> Iterator[tuple[str, TouchEvent]]:
    """Yields every touch of a workspace with its person, oldest first.

    Args:
        events: all events of the workspace, in any order.
        person_of: returns the person of an event (`IdentityMap.merged_person_of_event`).
    """
    campaigns: dict[str, tuple[Any, ...]] = {}
    sessions: dict[tuple[str, str], tuple[Any, ...] | None] = {}
    for event in sorted((e for e in events if e.touchable and not e.is_bot), key=event_time_key):
        person, session = person_of(event), (event.visitor_id, event.session_id)
        first = session not in sessions
        latest = sessions.setdefault(session, None)
        values = tuple(getattr(event, column) for column in CAMPAIGN_COLUMNS)
        has_campaign = any(value is not None for value in values)
        repeats_campaign = has_campaign and campaigns.get(person) == values and not event.campaign_in_url
        if has_campaign:
            campaigns[person] = values
        touch = _classify_touch_or_none(event, repeats_campaign=repeats_campaign, is_first_of_session=first)
        if (
            touch
            and (
                distinguishing := tuple(
                    touch.column_value_as_classified(column) for column in _DISTINGUISHING_COLUMNS
                )
            )
            != latest
        ):
            sessions[session] = distinguishing
            yield person, touch


def list_client_reported_touches(event: Event) -> list[TouchEvent]:
    """Returns the touches that the client reported with an event, oldest first."""
    reported = event.reported_touches or {}
    touches = []
    for side in TOUCH_POSITIONS:
        if at := reported.get(f"{side}_timestamp"):
            columns: dict[str, Any] = {
                name: reported.get(f"{side}_{name}") for name in REPORTED_TOUCH_COLUMNS
            }
            when = datetime.fromisoformat(at).replace(tzinfo=UTC)
            touches.append(
                TouchEvent(replace(event, timestamp=when, **columns), TouchClassification.EVENT_VALUES)
            )
    return sorted(touches, key=lambda touch: touch.event.timestamp)


def _classify_touch_or_none(
    event: Event, *, repeats_campaign: bool, is_first_of_session: bool
) -> TouchEvent | None:
    if repeats_campaign:
        return TouchEvent(event, TouchClassification.REFERRER) if event.referral_channel else None
    if event.own_channel:
        return TouchEvent(event, TouchClassification.EVENT_VALUES)
    return TouchEvent(event, TouchClassification.DIRECT) if is_first_of_session else None
