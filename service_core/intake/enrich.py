"""Enrichment: an accepted body becomes an event row. Pure, and versioned by `RULES_VERSION`.

The same arrival, workspace and session state give the same row on every machine, so history can be
enriched again when the rules change.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from service_core.access.model import Workspace
from service_core.intake.accept import scalar
from service_core.intake.amounts import parts, revenue
from service_core.intake.attribution import attribution_columns, campaign_columns
from service_core.intake.bots import verdict
from service_core.intake.campaign import campaign, text
from service_core.intake.classify import Classifier
from service_core.intake.consent import impersonal, impersonal_address, is_denied
from service_core.intake.devices import accepted_language, agent_columns, sdk_columns
from service_core.intake.fields import Fields
from service_core.intake.model import PAGE_VIEWS, Arrival, Event, Queued
from service_core.intake.page import Page, read_page
from service_core.intake.ports import Devices, Geo, SessionState
from service_core.intake.rules import RULES_VERSION
from service_core.intake.told import told_columns
from service_core.intake.transport import (
    API,
    BROWSER,
    MOBILE_APP,
    WEB,
    AgentTokens,
    end_user_address,
    provider_of,
)

_TOUCHING: Final = PAGE_VIEWS | {"session_start", "app_install", "$deep_link"}
_SEEN_BY_BROWSER: Final = frozenset({BROWSER, WEB})
_PLACED: Final = frozenset({BROWSER, WEB, MOBILE_APP})
_ORDER_FIELDS: Final = ("order_id", "orderId", "transaction_id")
_PAYMENT_FIELDS: Final = ("payment_id", "paymentId")
_MAX_ORDER: Final = 255
_NOTHING: Final[Mapping[str, Mapping[str, str]]] = MappingProxyType({})


class Enricher:
    """Everything enrichment looks things up in.

    Args:
        devices: user agent -> device.
        geo: address -> place; None where no database is configured.
        classifier: source lists and channel rules.
        agents: what the project's own clients call themselves.
    """

    def __init__(
        self, devices: Devices, geo: Geo | None, classifier: Classifier, agents: AgentTokens | None = None
    ) -> None:
        self._devices = devices
        self._geo = geo
        self._classifier = classifier
        self._agents = agents or AgentTokens()

    def enrich(
        self,
        queued: Queued,
        fields: Fields,
        *,
        workspace: Workspace,
        session: SessionState | None,
        busy: bool = False,
        lent: Mapping[str, Mapping[str, str]] = _NOTHING,
    ) -> Event:
        """The row of an event whose fields are read.

        Args:
            queued: the arrival and its sequence.
            fields: what `fields.read` made of its body.
            workspace: its currency, own domains and own channels count.
            session: what is known of the event's session, None at its first event.
            busy: whether the visitor sends more events a minute than a person could.
            lent: UTM values of links by their tags, for what carries a tag and no UTM value itself.
        """
        arrival, sent = queued.arrival, fields.properties
        denied = is_denied(sent)
        source = provider_of(arrival) or self._agents.source(arrival.channel, arrival.user_agent)
        page = read_page(sent, workspace, self._classifier)
        brought = campaign(sent)
        brought.borrow(lent)
        address = end_user_address(fields.ip, arrival.address, source)
        is_bot, reasons = self._verdict(fields, arrival, source, page, busy=busy)
        amount, currency = revenue(sent, workspace.currency)
        return Event(
            workspace_id=arrival.workspace_id,
            seq=queued.seq,
            event_id=arrival.event_id,
            received_at=arrival.received_at,
            source=source,
            **_told(fields),
            **attribution_columns(brought, page, session, self._classifier, workspace.rules.channels),
            **campaign_columns(brought, sent, denied=denied),
            **_page_columns(page, session, denied=denied),
            revenue=amount,
            currency=currency,
            order_id=_first_id(sent, _ORDER_FIELDS),
            **self._device(fields, arrival, source),
            **self._place(address, source),
            is_bot=is_bot,
            bot_reasons=reasons,
            is_test=sent.get("test") is True,
            event_data=_event_data(fields, denied=denied),
            ip=None if denied else address,
            told=told_columns(sent, fields.timestamp, workspace, self._classifier, lent, denied=denied),
            **_told_of_payment(arrival, sent, amount, currency),
            touchable=not is_bot and (fields.name in _TOUCHING or not brought.empty),
            interactive=sent.get("interactive") is not False and not _is_system(fields.name),
            rules_version=RULES_VERSION,
        )

    def _verdict(
        self, fields: Fields, arrival: Arrival, source: str, page: Page, *, busy: bool
    ) -> tuple[bool, tuple[str, ...]]:
        if provider_of(arrival):
            return False, ()
        by_browser = source in _SEEN_BY_BROWSER
        agent = _own_agent(fields.context) or (scalar(arrival.user_agent) if by_browser else None)
        return verdict(
            self._devices.describe(agent) if agent else None,
            arrival.headers if by_browser else {},
            spam=page.spam,
            busy=busy,
            declared=fields.properties.get("bot") is True,
        )

    def _device(self, fields: Fields, arrival: Arrival, source: str) -> dict[str, Any]:
        if provider_of(arrival):
            return {}
        own = _own_agent(fields.context)
        if source == API:
            return agent_columns(self._devices.describe(own)) if own else {}
        agent = own or scalar(arrival.user_agent)
        columns = sdk_columns(fields.properties, fields.context)
        columns.setdefault("language", accepted_language(arrival.headers.get("accept-language")))
        return columns | agent_columns(self._devices.describe(agent) if agent else None)

    def _place(self, address: str | None, source: str) -> dict[str, Any]:
        if address is None or self._geo is None or source not in _PLACED:
            return {}
        place = self._geo.locate(address)
        if place is None:
            return {}
        return {
            "country": place.country,
            "region": place.region,
            "city": place.city,
            "timezone": place.timezone,
        }


def _told(fields: Fields) -> dict[str, Any]:
    """The columns of name, time, ids, session and SDK."""
    library, version = fields.context.get("library"), fields.context.get("version")
    if isinstance(library, dict):
        version = version or library.get("version")
        library = library.get("name")
    return {
        "event_name": fields.name,
        "timestamp": fields.timestamp,
        "time_adjusted": fields.time_adjusted,
        "visitor_id": fields.ids.visitor,
        "anonymous_id": fields.ids.anonymous,
        "distinct_id": fields.ids.distinct,
        "user_id": fields.ids.user,
        "strong_id": fields.ids.strong,
        "sent_visitor_id": fields.ids.second,
        "session_id": fields.session_id,
        "session_origin": fields.session_origin,
        "external_ids": fields.external_ids,
        "sdk_name": text(library) or "http",
        "sdk_version": text(version) or "0",
    }


def _page_columns(page: Page, session: SessionState | None, *, denied: bool) -> dict[str, Any]:
    url, referrer = (
        impersonal_address(address) if denied and address else address
        for address in (page.url, page.referrer)
    )
    return {
        "page_url": url,
        "page_path": page.path,
        "page_title": page.title,
        "referrer": referrer,
        "referrer_host": page.external,  # the site itself brings nobody; `referrer` keeps what was sent
        "landing_page": (session.landing_page if session else None) or page.path,
    }


def _event_data(fields: Fields, *, denied: bool) -> Mapping[str, Any]:
    """The payload column: properties as sent, plus what `$alias` joins."""
    data = impersonal(fields.properties) if denied else fields.properties
    return {**data, "previous_id": fields.ids.previous} if fields.ids.previous else data


def _own_agent(context: Mapping[str, Any]) -> str | None:
    return scalar(context.get("userAgent")) or scalar(context.get("user_agent"))


def _told_of_payment(
    arrival: Arrival, sent: Mapping[str, Any], amount: int | None, currency: str | None
) -> dict[str, Any]:
    """The columns by which an order is known to who was paid, and of what a provider says its money consists."""
    provider, payment = provider_of(arrival), _first_id(sent, _PAYMENT_FIELDS)
    if provider is None:
        chosen = arrival.event_id if arrival.claimed and amount is not None else None
        return {"payment_id": payment or chosen}
    known = {"payment_id": payment, "message_id": arrival.event_id.removeprefix(f"{provider}_")}
    return known if amount is None or amount < 0 or currency is None else known | parts(sent, currency)


def _first_id(properties: Mapping[str, Any], names: Sequence[str]) -> str | None:
    for name in names:
        if found := scalar(properties.get(name)):
            return found[:_MAX_ORDER]
    return None


def _is_system(name: str) -> bool:
    return name.startswith("$") and name not in PAGE_VIEWS
