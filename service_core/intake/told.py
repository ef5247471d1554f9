"""The first and the last touch as a client tells them, beside an event (semantics 2.3, 8.7).

A client that keeps where its visitor came from sends it as properties. They begin with
``first_touch_`` and ``last_touch_`` and go on like

- the properties of an event that bring somebody: UTM values, click ids, ``clickId`` with
  ``clickIdType``, ``lyr``, ``referrer``, ``url``;
- or the fields of a touch as answers show it: ``source``, ``medium``, ``campaign``, ``term``,
  ``content``, ``click_id``, ``click_id_type``, ``landing_page``.

``first_touch_timestamp`` and ``last_touch_timestamp`` say when, as event times are written. A touch
without a time, or with one before 2020 or after its event, is not told; nor is one that says nothing
but when. It is classified by what it carries, like any visit. Two equal ones are one touch.
"""

from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from service_core.access.model import Workspace
from service_core.intake.attribution import campaign_columns
from service_core.intake.campaign import Campaign, campaign
from service_core.intake.classify import Classifier
from service_core.intake.consent import impersonal_address
from service_core.intake.event_time import EARLIEST, instant_of
from service_core.intake.model import CAMPAIGN_COLUMNS, SIDES
from service_core.intake.page import Page, read_page

_WHEN: Final = tuple(f"{side}_touch_timestamp" for side in SIDES)
_READ_AS: Final = MappingProxyType(
    {name: f"utm_{name}" for name in ("source", "medium", "campaign", "term", "content")}
    | {"click_id": "clickId", "click_id_type": "clickIdType", "landing_page": "url"}
)


class _Told(NamedTuple):
    """A touch that was told: when, by what, from where."""

    at: datetime
    brought: Campaign
    page: Page


def told_tags(sent: Mapping[str, Any]) -> list[str]:
    """Link tags of touches that are told without UTM values: those of their links count (semantics 7.1)."""
    if not any(name in sent for name in _WHEN):
        return []
    touches = [campaign(_properties(sent, side)) for side in SIDES]
    return [touch.lyr for touch in touches if touch.lyr and not touch.utm]


def told_columns(
    sent: Mapping[str, Any],
    happened: datetime,
    workspace: Workspace,
    classifier: Classifier,
    lent: Mapping[str, Mapping[str, str]],
    *,
    denied: bool,
) -> Mapping[str, str] | None:
    """What an event tells about the touches before it (`Event.told`); None when it tells nothing.

    Args:
        sent: its properties, secrets in page addresses redacted.
        happened: its time.
        workspace: its own domains and channels count.
        classifier: source lists and channel rules.
        lent: UTM values by link tag.
        denied: whether consent was denied; no id of a click is kept then.
    """
    if not any(name in sent for name in _WHEN):
        return None
    columns: dict[str, str] = {}
    before: Mapping[str, str] = {}
    for side in SIDES:
        touch = _read(sent, side, happened, workspace, classifier)
        if touch:
            touch.brought.borrow(lent)
        own = _columns(touch, workspace, classifier, denied=denied) if touch else {}
        if own and own != before:
            columns |= {f"{side}_{name}": value for name, value in own.items()}
        before = own
    return columns or None


def _read(
    sent: Mapping[str, Any], side: str, happened: datetime, workspace: Workspace, classifier: Classifier
) -> _Told | None:
    at = instant_of(sent.get(f"{side}_touch_timestamp"))
    if at is None or not EARLIEST <= at <= happened:
        return None
    properties = _properties(sent, side)
    touch = _Told(at, campaign(properties), read_page(properties, workspace, classifier))
    return None if touch.brought.empty and touch.page.external is None else touch


def _properties(sent: Mapping[str, Any], side: str) -> Mapping[str, Any]:
    """The properties of a touch, by their names on an event."""
    prefix = f"{side}_touch_"
    said = {name.removeprefix(prefix): value for name, value in sent.items() if name.startswith(prefix)}
    return {**{_READ_AS.get(name, name): value for name, value in said.items()}, **said}


def _columns(
    touch: _Told, workspace: Workspace, classifier: Classifier, *, denied: bool
) -> Mapping[str, str]:
    """The columns of the touch that are set, as text; its time is UTC without saying so."""
    brought, page = touch.brought, touch.page
    found = classifier.classify(brought, page.external, workspace.rules.channels)
    carried = campaign_columns(brought, {}, denied=denied)
    address = page.referrer
    columns = {
        "timestamp": touch.at.replace(tzinfo=None).isoformat(" ", "microseconds"),
        "own_source": found.source,
        "own_medium": found.medium,
        "own_channel": found.channel,
        **{name: carried.get(name) for name in CAMPAIGN_COLUMNS},
        "referrer": impersonal_address(address) if address and denied else address,
        "referrer_host": page.external,
        "landing_page": page.path,
    }
    return {name: value for name, value in columns.items() if value is not None}
