"""A conversion as a sender receives it, and the outcome of sending it."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import TypeAlias
from uuid import UUID


class ActionSource(StrEnum):
    """Where a conversion happened."""

    WEBSITE = "website"
    APP = "app"
    SYSTEM = "system_generated"


@dataclass(frozen=True, slots=True)
class ClickId:
    """The ad click of a conversion: ``type`` is the URL parameter, such as ``gclid``."""

    type: str
    value: str
    clicked_at: datetime


@dataclass(frozen=True, slots=True, repr=False)
class Customer:
    """Who converted, raw: the sender hashes what its platform takes hashed.

    Its repr shows nothing, so no log does. What is not known is None; texts are trimmed and never empty.

    Attributes:
        gender, birth_date, country, region, postal_code: as received, in any form.
        click: of the types the sender takes, that of the conversion's session, else the latest of the person
            within the sender's ``click_window``.
        fbc, fbp, ttp: what cookies of platforms hold.
        user_id, visitor_id, anonymous_id: ids of the event, none of which is a placeholder.
        os, os_version: of the device, such as ``iOS`` and ``17.4``.
    """

    email: str | None = None
    phone: str | None = None
    first_name: str | None = None
    last_name: str | None = None
    gender: str | None = None
    birth_date: str | None = None
    city: str | None = None
    region: str | None = None
    postal_code: str | None = None
    country: str | None = None
    ip: str | None = None
    user_agent: str | None = None
    click: ClickId | None = None
    fbc: str | None = None
    fbp: str | None = None
    ttp: str | None = None
    user_id: str | None = None
    visitor_id: str | None = None
    anonymous_id: str | None = None
    os: str | None = None
    os_version: str | None = None


@dataclass(frozen=True, slots=True)
class LineItem:
    """A purchased item; ``price`` is per piece, in minor units of the conversion's currency."""

    id: str
    quantity: int = 1
    price: int | None = None
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Conversion:
    """One conversion for one destination.

    Attributes:
        id: of the delivery; the same in every attempt.
        event: name the platform takes: that of the rule, or its ``custom_event_name``.
        is_custom: whether the name is the rule's own.
        event_id: the order id, else the id of the event; the platform drops its twin by it.
        value: minor units of ``currency``; both are None together.
        consent_granted: whether the sender of the event said that consent was given; one that was denied is never sent.
    """

    id: UUID
    event: str
    event_id: str
    occurred_at: datetime
    action_source: ActionSource
    customer: Customer
    is_custom: bool = False
    source_url: str | None = None
    value: int | None = None
    currency: str | None = None
    order_id: str | None = None
    line_items: tuple[LineItem, ...] = ()
    consent_granted: bool = False


@dataclass(frozen=True, slots=True)
class Destination:
    """The account and asset that receive the conversions of one call.

    Attributes:
        account_id, asset_id, asset_name: as they are connected: the pixel, or the conversion action.
        test: a trial: the request says so by ``test_code`` or by a flag of the platform.
    """

    account_id: str
    asset_id: str
    asset_name: str | None = None
    test: bool = False
    test_code: str | None = None


@dataclass(frozen=True, slots=True)
class Accepted:
    """The platform accepted the conversion."""

    http_status: int | None = None


@dataclass(frozen=True, slots=True)
class Deferred:
    """The platform could not accept the conversion now.

    Attributes:
        code: the platform's own, such as ``131009``; never its message, which may repeat what was sent.
        retry_after: seconds it asks to wait, when it says so.
    """

    code: str
    http_status: int | None = None
    retry_after: float | None = None


@dataclass(frozen=True, slots=True)
class Rejected:
    """The platform rejected the conversion for good; ``code`` as in `Deferred`."""

    code: str
    http_status: int | None = None


SendOutcome: TypeAlias = Accepted | Deferred | Rejected
"""The result of sending one postback."""
