"""Telling a story in events: rows for tests, with the columns enrichment would have filled.

>>> story = Story()
>>> story.happens("page_view", at="2026-03-02T15:00", visitor="A1", **campaign("google", "cpc"))
"""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from uuid import UUID, uuid4

from service_core.analytics.event_rules.event_synonyms import DEFAULT_CONVERSION_SET
from service_core.analytics.ports import ConversionSet, QueryScope
from service_core.ingestion.event_names import PAGE_VIEWS
from service_core.ingestion.models import CAMPAIGN_COLUMNS, Event
from service_core.kernel.time_ranges import TimeRange

TOUCH_EVENTS: Final = PAGE_VIEWS | {"session_start", "app_install", "$deep_link"}

STOREFRONT: Final = "shop"
"""Source of events that a storefront reports."""


def utc_instant(text: str) -> datetime:
    """``2026-03-02`` or ``2026-03-02T15:00`` as an instant in UTC."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def whole_utc_days(first: str, last: str) -> TimeRange:
    """UTC days, both whole."""
    return TimeRange(utc_instant(first), utc_instant(last) + timedelta(days=1))


def campaign(
    source: str, medium: str, name: str | None = None, *, channel: str = "paid_search", in_url: bool = True
) -> dict[str, Any]:
    """Columns of an event that carries UTM values."""
    return {
        "utm_source": source,
        "utm_medium": medium,
        "utm_campaign": name,
        "campaign_in_url": in_url,
        **own_classification(source, medium, channel),
    }


def referral(source: str, medium: str, channel: str) -> dict[str, Any]:
    """Columns of an event that carries an external referrer and nothing else."""
    return own_classification(source, medium, channel) | _classification_columns(
        "referral", source, medium, channel
    )


def own_classification(source: str, medium: str, channel: str) -> dict[str, Any]:
    """Columns of the classification by what the event carries."""
    shown = {"attribution_source": source, "attribution_medium": medium, "channel": channel}
    return _classification_columns("own", source, medium, channel) | shown


def reported_touch(
    position: str, at: str | datetime, source: str, medium: str, channel: str
) -> dict[str, str]:
    """One side of `Event.told`: a first or last touch with UTM values."""
    when = utc_instant(at) if isinstance(at, str) else at
    columns = {
        "timestamp": when.replace(tzinfo=None).isoformat(" ", "microseconds"),
        **{
            f"own_{name}": value
            for name, value in (("source", source), ("medium", medium), ("channel", channel))
        },
        "utm_source": source,
        "utm_medium": medium,
    }
    return {f"{position}_{name}": value for name, value in columns.items()}


def _classification_columns(side: str, source: str, medium: str, channel: str) -> dict[str, Any]:
    return {f"{side}_source": source, f"{side}_medium": medium, f"{side}_channel": channel}


_DIRECT: Final[Mapping[str, Any]] = {
    "attribution_source": "(direct)",
    "attribution_medium": "(none)",
    "channel": "direct",
}
"""What an event shows that nothing brought; later events of a session show what the latest one did."""


class EventBuilder:
    """The events of one workspace in the order they came in.

    Attributes:
        workspace_id: a new workspace, unless given.
        events: what happened so far.
    """

    def __init__(self, workspace_id: UUID | None = None) -> None:
        self.workspace_id = workspace_id or uuid4()
        self.events: list[Event] = []
        # Sequences are unique in a deployment, so stories of several workspaces never share one.
        self._next = (self.workspace_id.int % 2**40 << 20) + 1
        self._shown: dict[tuple[str, str], Mapping[str, Any]] = {}

    def add_event(
        self, name: str, *, at: str | datetime, visitor: str, session: str = "s1", **columns: Any
    ) -> Event:
        """Add an event; it is received when it happens, unless ``received_at`` is given."""
        when = utc_instant(at) if isinstance(at, str) else at
        seq = self._next
        self._next += 1
        money = {"currency": "USD"} if columns.get("revenue") is not None else {}
        carries = any(columns.get(column) is not None for column in CAMPAIGN_COLUMNS)
        row: Mapping[str, Any] = {
            "event_id": f"{self.workspace_id}-{seq}",
            "received_at": when,
            "user_id": columns.get("strong_id"),
            "touchable": not columns.get("is_bot") and (name in TOUCH_EVENTS or carries),
            "is_storefront": columns.get("source") == STOREFRONT,
            **money,
            **self._shown.get((visitor, session), _DIRECT),
            **columns,
        }
        self._shown[visitor, session] = {column: row[column] for column in _DIRECT}
        event = Event(
            event_name=name,
            timestamp=when,
            visitor_id=visitor,
            session_id=session,
            workspace_id=self.workspace_id,
            seq=seq,
            **row,
        )
        self.events.append(event)
        return event

    def scan(self, span: TimeRange, **fields: Any) -> QueryScope:
        """A scan of this workspace: USD, UTC and the default conversions, unless given."""
        plain: dict[str, Any] = {"currency": "USD", "zone": "UTC", "conversions": DEFAULT_CONVERSION_SET}
        return QueryScope(self.workspace_id, span, **plain | fields)


def conversion_set(names: Iterable[str], *, any_revenue: bool = False) -> ConversionSet:
    """A conversion set of these names."""
    return ConversionSet(frozenset(names), any_revenue=any_revenue)
