"""Builds event rows for tests, with the columns that enrichment fills.

>>> builder = EventBuilder()
>>> builder.add_event("page_view", at="2026-03-02T15:00", visitor="A1", **campaign("google", "cpc"))
"""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from uuid import UUID, uuid4

from service_core.analytics.event_rules.event_synonyms import DEFAULT_CONVERSION_SET
from service_core.analytics.event_rules.order_deduplication import TRACKED_SOURCES
from service_core.analytics.ports import ConversionSet, QueryScope
from service_core.ingestion.event_source import TOUCH_EVENTS
from service_core.ingestion.models import CAMPAIGN_COLUMNS, Event
from service_core.kernel.time_ranges import TimeRange

STOREFRONT: Final = "shop"
"""The source that marks an event as reported by a storefront."""


def utc_instant(text: str) -> datetime:
    """Returns ``2026-03-02`` or ``2026-03-02T15:00`` as an instant in UTC."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def whole_utc_days(first: str, last: str) -> TimeRange:
    """Returns the range from the start of the first to the end of the last UTC day."""
    return TimeRange(utc_instant(first), utc_instant(last) + timedelta(days=1))


def campaign_columns(
    source: str,
    medium: str,
    campaign_name: str | None = None,
    *,
    channel: str = "paid_search",
    in_url: bool = True,
) -> dict[str, Any]:
    """Returns the columns of an event with UTM values, and their classification."""
    return {
        "utm_source": source,
        "utm_medium": medium,
        "utm_campaign": campaign_name,
        "campaign_in_url": in_url,
        **own_classification_columns(source, medium, channel),
    }


def referral_columns(source: str, medium: str, channel: str) -> dict[str, Any]:
    """Returns the columns of an event with an external referrer and no campaign."""
    return own_classification_columns(source, medium, channel) | _classification_columns(
        "referral", source, medium, channel
    )


def own_classification_columns(source: str, medium: str, channel: str) -> dict[str, Any]:
    """Returns the columns of a classification by the event's own campaign or referrer."""
    shown = {"attribution_source": source, "attribution_medium": medium, "channel": channel}
    return _classification_columns("own", source, medium, channel) | shown


def reported_touch_columns(
    position: str, at: str | datetime, source: str, medium: str, channel: str
) -> dict[str, str]:
    """Returns the columns of a first or last touch with UTM values that a client reports.

    Args:
        position: ``first`` or ``last``.
        at: time of the touch; a text is in UTC.
        source: UTM source of the touch.
        medium: UTM medium of the touch.
        channel: channel of the touch.
    """
    touch_time = utc_instant(at) if isinstance(at, str) else at
    columns = {
        "timestamp": touch_time.replace(tzinfo=None).isoformat(" ", "microseconds"),
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
"""The attribution columns of a session's first event without campaign or referrer."""


class EventBuilder:
    """Collects events of one workspace in the order of their arrival.

    Attributes:
        workspace_id: a new id, unless given.
        events: the events so far.
    """

    def __init__(self, workspace_id: UUID | None = None) -> None:
        self.workspace_id = workspace_id or uuid4()
        self.events: list[Event] = []
        # Sequence numbers are unique in a deployment, so builders of different workspaces never share one.
        self._next_seq = (self.workspace_id.int % 2**40 << 20) + 1
        self._latest_attribution_by_session: dict[tuple[str, str], Mapping[str, Any]] = {}

    def add_event(
        self, name: str, *, at: str | datetime, visitor: str, session: str = "s1", **columns: Any
    ) -> Event:
        """Appends an event to `events` and returns it.

        Defaults: received at its own time, in US dollars when it has revenue, and with the attribution of the
        session's previous event. It makes touches when it is a visit or has campaign values, unless it is a bot's.
        """
        timestamp = utc_instant(at) if isinstance(at, str) else at
        seq = self._next_seq
        self._next_seq += 1
        currency = {"currency": "USD"} if columns.get("revenue") is not None else {}
        has_campaign = any(columns.get(column) is not None for column in CAMPAIGN_COLUMNS)
        row: Mapping[str, Any] = {
            "event_id": f"{self.workspace_id}-{seq}",
            "received_at": timestamp,
            "user_id": columns.get("strong_id"),
            "touchable": not columns.get("is_bot")
            and columns.get("source", "browser") in TRACKED_SOURCES
            and (name in TOUCH_EVENTS or has_campaign),
            "is_storefront": columns.get("source") == STOREFRONT,
            "from_device": columns.get("source", "browser") in TRACKED_SOURCES,
            **currency,
            **self._latest_attribution_by_session.get((visitor, session), _DIRECT),
            **columns,
        }
        self._latest_attribution_by_session[visitor, session] = {column: row[column] for column in _DIRECT}
        event = Event(
            event_name=name,
            timestamp=timestamp,
            visitor_id=visitor,
            session_id=session,
            workspace_id=self.workspace_id,
            seq=seq,
            **row,
        )
        self.events.append(event)
        return event

    def query_scope(self, span: TimeRange, **overrides: Any) -> QueryScope:
        """Returns a scope of this workspace: in USD, UTC and with the default conversions, unless overridden."""
        defaults: dict[str, Any] = {"currency": "USD", "zone": "UTC", "conversions": DEFAULT_CONVERSION_SET}
        return QueryScope(self.workspace_id, span, **defaults | overrides)


def conversion_set(
    names: Iterable[str], *, any_revenue: bool = False, revenue_names: Iterable[str] = ()
) -> ConversionSet:
    """Returns a conversion set of these event names.

    Args:
        names: names that convert.
        any_revenue: the amounts of custom names are money and convert, too.
        revenue_names: names that the workspace lists as revenue events.
    """
    return ConversionSet(frozenset(names), any_revenue, frozenset(revenue_names), custom_revenue=any_revenue)
