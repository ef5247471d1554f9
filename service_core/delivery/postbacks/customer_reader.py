"""Loads the customer of a conversion from its event and the person's history.

It is read when a conversion is sent, so that the outbox holds none of it, and only of events that rules send.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from itertools import zip_longest
from typing import Any, Final

from service_core.access.models import Workspace
from service_core.analytics.event_rules.order_deduplication import TRACKED_SOURCES
from service_core.analytics.measures import Column, FilterOperator, Predicate
from service_core.analytics.people.ports import PersonReader
from service_core.analytics.people.traits import merge_traits_latest_non_null
from service_core.analytics.scope import scope_for_workspace_without_bots
from service_core.delivery.postbacks.models import ClickId, Customer
from service_core.delivery.postbacks.ports import ConversionSender
from service_core.ingestion.consent import is_consent_denied
from service_core.ingestion.event_ids import is_placeholder_id
from service_core.ingestion.event_names import IDENTIFY_EVENT
from service_core.ingestion.models import COLUMNS, Event
from service_core.ingestion.validation import text_of_string_or_number
from service_core.kernel.time_ranges import TimeRange

_ALL_TIME_START: Final = datetime(2020, 1, 1, tzinfo=UTC)
_COOKIE_FIELDS: Final = ("fbc", "fbp", "ttp")
_CLICK_COLUMNS: Final = frozenset(column.name for column in COLUMNS)
_FIELD_NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    "email": ("email",),
    "phone": ("phone", "phone_number"),
    "first_name": ("first_name", "firstName"),
    "last_name": ("last_name", "lastName"),
    "gender": ("gender",),
    "birth_date": ("birth_date", "birthDate", "date_of_birth", "birthday"),
    "city": ("city",),
    "region": ("region", "state", "province"),
    "postal_code": ("postal_code", "postalCode", "zip", "zip_code"),
    "country": ("country", "country_code"),
}
"""Field of a customer -> what traits and addresses call it."""


@dataclass(frozen=True, slots=True)
class CustomerReader:
    """Loads the customers of conversions."""

    people: PersonReader

    async def load_customer_of_order(
        self,
        workspace: Workspace,
        reports: Sequence[Event],
        user_agent: str | None,
        sender: ConversionSender,
        *,
        known_until: datetime,
    ) -> Customer:
        """Returns the customer of a conversion; what its event and person lack is taken from other reports of the order.

        Args:
            workspace: the workspace of the events.
            reports: the event of the conversion, then the other reports of its order.
            user_agent: of the event.
            sender: the sender of the platform.
            known_until: traits that the person sets later are left out.

        Raises:
            StoreUnavailable: persons cannot be read.
        """
        first, *others = [
            await self.load_customer_from_event_and_history(
                workspace, report, agent, sender, known_until=max(known_until, report.timestamp)
            )
            for report, agent in zip_longest(reports, (user_agent,))
        ]
        for other in others:
            known = {field.name: getattr(other, field.name) for field in fields(Customer)}
            first = _fill_missing_fields(first, known)
        return first

    async def load_customer_from_event_and_history(
        self,
        workspace: Workspace,
        event: Event,
        user_agent: str | None,
        sender: ConversionSender,
        *,
        known_until: datetime,
    ) -> Customer:
        """Returns the customer of an event, with the click and cookies the platform matches by.

        Raises:
            StoreUnavailable: persons cannot be read.
        """
        customer = _customer_from_event(event, user_agent)
        person = await self.people.find_person_of_any_id(workspace.id, event.strong_id or event.visitor_id)
        clicked = [event]
        if person is not None:
            identify_events = await self._latest_person_events_without_bots_up_to(
                workspace, person, _ALL_TIME_START, known_until, Predicate("event_name", value=IDENTIFY_EVENT)
            )
            customer = _fill_missing_fields(
                customer, _customer_fields_in_event_data(_person_traits(identify_events))
            )
            customer = await self._add_earlier_cookies_if_event_has_none(
                workspace, person, event, sender, customer
            )
            since = event.timestamp - sender.limits.click_window
            clicked[:0] = await self._latest_person_events_without_bots_up_to(
                workspace, person, since, event.timestamp, _click_predicate(sender)
            )
        return replace(
            customer,
            click=_latest_click_of_session_or_person(clicked, event, sender),
            country=customer.country or event.country,
        )

    async def _add_earlier_cookies_if_event_has_none(
        self, workspace: Workspace, person_id: str, event: Event, sender: ConversionSender, customer: Customer
    ) -> Customer:
        """Returns the customer with cookies of an earlier visit if the event has none."""
        wanted = [name for name in _COOKIE_FIELDS if name in sender.limits.match_keys]
        if not wanted or any(getattr(event, name) for name in wanted):
            return customer
        is_set = _any_column_is_set(wanted)
        seen = await self._latest_person_events_without_bots_up_to(
            workspace,
            person_id,
            event.timestamp - sender.limits.click_window,
            event.timestamp,
            is_set,
            limit=1,
        )
        return replace(
            customer, **{name: getattr(seen_event, name) for seen_event in seen for name in wanted}
        )

    async def _latest_person_events_without_bots_up_to(
        self,
        workspace: Workspace,
        person_id: str,
        since: datetime,
        until: datetime,
        condition: Predicate,
        **limit: int,
    ) -> list[Event]:
        span = TimeRange(since, until + datetime.resolution)
        scan = replace(scope_for_workspace_without_bots(workspace, span), filters=(condition,))
        return await self.people.list_latest_person_events(scan, person_id, **limit)


def has_match_key(customer: Customer, sender: ConversionSender) -> bool:
    """Returns whether the platform can match the person by the known fields."""
    known_fields = {field.name for field in fields(customer) if getattr(customer, field.name) is not None}
    clicks = {customer.click.type} if customer.click else set()
    return not sender.limits.match_keys.isdisjoint(known_fields | clicks)


def _customer_from_event(event: Event, user_agent: str | None) -> Customer:
    """Returns the customer as far as the event describes it."""
    customer = Customer(
        ip=event.ip,
        user_agent=user_agent,
        fbc=event.fbc,
        fbp=event.fbp,
        ttp=event.ttp,
        os=event.os,
        os_version=event.os_version,
        user_id=_sent_id(event, event.user_id),
        visitor_id=_sent_id(event, event.visitor_id),
        anonymous_id=_sent_id(event, event.anonymous_id),
    )
    return _fill_missing_fields(customer, _customer_fields_in_event_data(event.event_data))


def _person_traits(events: Iterable[Event]) -> Mapping[str, Any]:
    """Returns the traits that persons set for themselves and did not forbid to share."""
    return merge_traits_latest_non_null(
        event.event_data for event in events if not is_consent_denied(event.event_data)
    )


def _sent_id(event: Event, id_: str | None) -> str | None:
    """Returns an id that somebody sent: no placeholder, and none that stands for a provider's unknown customer."""
    is_made_up = (
        event.source not in TRACKED_SOURCES and id_ is not None and id_.startswith(f"{event.source}:")
    )
    return None if id_ is None or is_made_up or is_placeholder_id(id_) else id_


def _customer_fields_in_event_data(event_data: Mapping[str, Any]) -> dict[str, str]:
    """Returns the customer fields found in event data, its traits or its address."""
    return {
        name: text
        for name, spellings in _FIELD_NAMES.items()
        for text in [next(_texts_in_data_traits_or_address(event_data, spellings), None)]
        if text is not None
    }


def _texts_in_data_traits_or_address(
    event_data: Mapping[str, Any], field_names: tuple[str, ...]
) -> Iterator[str]:
    nested = event_data.get("traits")
    inner = nested if isinstance(nested, Mapping) else {}
    for place in (event_data, inner, event_data.get("address"), inner.get("address")):
        for spelling in field_names:
            if isinstance(place, Mapping) and (text := text_of_string_or_number(place.get(spelling))):
                yield text


def _fill_missing_fields(customer: Customer, known_fields: Mapping[str, Any]) -> Customer:
    """Returns the customer with missing fields filled from other data."""
    missing = {name: value for name, value in known_fields.items() if getattr(customer, name) is None}
    return replace(customer, **missing)


def _any_column_is_set(column_names: Sequence[str]) -> Predicate:
    """Returns the condition that at least one of the event columns has a value."""
    column, *fallbacks = map(Column, reversed(column_names))
    for name in fallbacks:
        column = name.or_else(column)
    return Predicate(column, FilterOperator.IS_SET)


def _click_predicate(sender: ConversionSender) -> Predicate:
    if _CLICK_COLUMNS.issuperset(sender.limits.click_types):
        return _any_column_is_set(sender.limits.click_types)
    return Predicate("click_id_type", FilterOperator.IN, sender.limits.click_types)


def _latest_click_of_session_or_person(
    history: list[Event], event: Event, sender: ConversionSender
) -> ClickId | None:
    """Returns the latest click of the conversion's session, else of the person, with its first occurrence."""
    clicks = [
        (clicked, click_id)
        for clicked in history
        for click_id in [_first_supported_click_id(clicked, sender)]
        if click_id
    ]
    if not clicks:
        return None
    own = [
        click_id
        for clicked, click_id in clicks
        if (clicked.visitor_id, clicked.session_id) == (event.visitor_id, event.session_id)
    ]
    type_, value = (own or [click_id for _, click_id in clicks])[-1]
    return ClickId(
        type_, value, min(clicked.timestamp for clicked, click_id in clicks if click_id == (type_, value))
    )


def _first_supported_click_id(event: Event, sender: ConversionSender) -> tuple[str, str] | None:
    for type_ in sender.limits.click_types:
        value = getattr(event, type_) if type_ in _CLICK_COLUMNS else None
        if value is None and event.click_id_type == type_:
            value = event.click_id
        if value is not None:
            return type_, value
    return None
