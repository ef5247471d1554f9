"""Who converted: what the event tells, and what is known of its person besides.

It is read when a conversion is sent, so that the outbox holds none of it, and only of events that rules send.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from typing import Any, Final

from service_core.access.model import Workspace
from service_core.delivery.postbacks.model import ClickId, Customer
from service_core.delivery.postbacks.ports import ConversionSender
from service_core.insight.measures import Op, Predicate
from service_core.insight.people.ports import People
from service_core.insight.people.traits import IDENTIFY, traits
from service_core.insight.scans import workspace_scan
from service_core.intake.accept import scalar
from service_core.intake.consent import is_denied
from service_core.intake.identity import is_placeholder
from service_core.intake.model import COLUMNS, Event
from service_core.kernel.ranges import Span

_EVER: Final = datetime(2020, 1, 1, tzinfo=UTC)
_COOKIES: Final = ("fbc", "fbp", "ttp")
_CLICK_COLUMNS: Final = frozenset(column.name for column in COLUMNS)
_SPELLINGS: Final[Mapping[str, tuple[str, ...]]] = {
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
class Customers:
    """Reads the persons of conversions."""

    people: People

    async def customer(
        self, workspace: Workspace, event: Event, user_agent: str | None, sender: ConversionSender
    ) -> Customer:
        """Who an event is about, with the click and the cookies the sender's platform knows them by.

        Raises:
            StoreUnavailable: persons cannot be read.
        """
        told = _told(event, user_agent)
        person = await self.people.resolve(workspace.id, event.strong_id or event.visitor_id)
        clicked = [event]
        if person is not None:
            said = await self._history(
                workspace, person, _EVER, event, Predicate("event_name", value=IDENTIFY)
            )
            told = _completed(told, _described(_traits(said)))
            told = await self._with_cookies(workspace, person, event, sender, told)
            since = event.timestamp - sender.terms.click_window
            clicked[:0] = await self._history(workspace, person, since, event, _has_click(sender))
        return replace(told, click=_click(clicked, event, sender), country=told.country or event.country)

    async def _with_cookies(
        self, workspace: Workspace, person: str, event: Event, sender: ConversionSender, told: Customer
    ) -> Customer:
        """The customer with cookies of an earlier visit, where the event has none, as one of a server."""
        wanted = [name for name in _COOKIES if name in sender.terms.match_keys]
        if not wanted or any(getattr(event, name) for name in wanted):
            return told
        is_set = Predicate("|".join(wanted), Op.IS_SET)
        seen = await self._history(
            workspace, person, event.timestamp - sender.terms.click_window, event, is_set, limit=1
        )
        return replace(told, **{name: getattr(one, name) for one in seen for name in wanted})

    async def _history(
        self,
        workspace: Workspace,
        person: str,
        since: datetime,
        event: Event,
        condition: Predicate,
        **limit: int,
    ) -> list[Event]:
        span = Span(since, event.timestamp + datetime.resolution)
        scan = replace(workspace_scan(workspace, span), filters=(condition,))
        return await self.people.history(scan, person, **limit)


def suffices(customer: Customer, sender: ConversionSender) -> bool:
    """Whether a platform can find the person by what is known."""
    told = {field.name for field in fields(customer) if getattr(customer, field.name) is not None}
    clicks = {customer.click.type} if customer.click else set()
    return not sender.terms.match_keys.isdisjoint(told | clicks)


def _told(event: Event, user_agent: str | None) -> Customer:
    """What the event itself tells."""
    told = Customer(
        ip=event.ip,
        user_agent=user_agent,
        fbc=event.fbc,
        fbp=event.fbp,
        ttp=event.ttp,
        os=event.os,
        os_version=event.os_version,
        user_id=_real(event.user_id),
        visitor_id=_real(event.visitor_id),
        anonymous_id=_real(event.anonymous_id),
    )
    return _completed(told, _described(event.event_data))


def _traits(said: Iterable[Event]) -> Mapping[str, Any]:
    """What somebody said of themselves, and did not forbid to tell."""
    return traits(one.event_data for one in said if not is_denied(one.event_data))


def _real(id_: str | None) -> str | None:
    return None if id_ is None or is_placeholder(id_) else id_


def _described(data: Mapping[str, Any]) -> dict[str, str]:
    """The fields that data of a person tells, flat, in its traits or in its address."""
    return {
        name: text
        for name, spellings in _SPELLINGS.items()
        for text in [next(_texts(data, spellings), None)]
        if text is not None
    }


def _texts(data: Mapping[str, Any], spellings: tuple[str, ...]) -> Iterator[str]:
    nested = data.get("traits")
    inner = nested if isinstance(nested, Mapping) else {}
    for place in (data, inner, data.get("address"), inner.get("address")):
        for spelling in spellings:
            if isinstance(place, Mapping) and (text := scalar(place.get(spelling))):
                yield text


def _completed(told: Customer, known: Mapping[str, str]) -> Customer:
    """The customer with what was said before, where the event says nothing."""
    missing: dict[str, Any] = {name: text for name, text in known.items() if getattr(told, name) is None}
    return replace(told, **missing)


def _has_click(sender: ConversionSender) -> Predicate:
    if _CLICK_COLUMNS.issuperset(sender.terms.click_types):
        return Predicate("|".join(sender.terms.click_types), Op.IS_SET)
    return Predicate("click_id_type", Op.IN, sender.terms.click_types)


def _click(history: list[Event], event: Event, sender: ConversionSender) -> ClickId | None:
    """The latest click of the conversion's session, else of the person; its instant is that of its first event."""
    clicks = [(one, found) for one in history for found in [_click_of(one, sender)] if found]
    if not clicks:
        return None
    own = [
        found
        for one, found in clicks
        if (one.visitor_id, one.session_id) == (event.visitor_id, event.session_id)
    ]
    type_, value = (own or [found for _, found in clicks])[-1]
    return ClickId(type_, value, min(one.timestamp for one, found in clicks if found == (type_, value)))


def _click_of(event: Event, sender: ConversionSender) -> tuple[str, str] | None:
    for type_ in sender.terms.click_types:
        value = getattr(event, type_) if type_ in _CLICK_COLUMNS else None
        if value is None and event.click_id_type == type_:
            value = event.click_id
        if value is not None:
            return type_, value
    return None
