"""An event of Stripe around the object it is about, and who that is about."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, Final

from service_core.plugin import MappedMessage, MessageFields

PROVIDER: Final = "stripe"
PAYMENT_NAMESPACE: Final = "stripe_payment"
"""Namespace of ids of payments: all events of one belong to one person."""

CHECKOUT_SESSION_NAMESPACE: Final = "stripe_checkout_session"
"""Namespace of ids of Checkout sessions, which an event ``$stripe_checkout_session`` of the site carries, too."""


@dataclass(frozen=True, slots=True)
class StripeEvent:
    """A webhook, read as far as all kinds are alike.

    Attributes:
        object: the object of the event.
        previous_attributes: former values of the changed fields of the object.
    """

    id: str
    kind: str
    occurred_at: datetime
    object: MessageFields
    previous_attributes: MessageFields
    account_id: str
    test: bool

    @classmethod
    def parse(cls, message: Mapping[str, Any], account_id: str) -> "StripeEvent":
        """Read a message.

        Raises:
            ValueError: it has no id, type or time.
        """
        fields = MessageFields(message)
        data, at = fields.object("data"), fields.epoch_seconds("created")
        if at is None:
            raise ValueError("created is missing")
        return cls(
            id=fields.required_text("id"),
            kind=fields.required_text("type"),
            occurred_at=at,
            object=data.object("object"),
            previous_attributes=data.object("previous_attributes"),
            account_id=fields.text("account") or account_id,
            test=not fields.is_true("livemode"),
        )

    def to_message(
        self,
        event_name: str | None,
        properties: Mapping[str, Any] | None = None,
        *,
        payment_id: str | None = None,
        checkout_session_id: str | None = None,
        **states_or_payments: Any,
    ) -> MappedMessage:
        """Returns the mapped message, with all ids of the person.

        Args:
            event_name: by the map of the provider.
            properties: of the event; those without a value are left out.
            payment_id: id of the payment it is about.
            checkout_session_id: id of the Checkout session it is about.
            states_or_payments: states or payments.
        """
        ids = {
            PROVIDER: self.customer_id,
            PAYMENT_NAMESPACE: payment_id,
            CHECKOUT_SESSION_NAMESPACE: checkout_session_id,
        }
        return MappedMessage(
            message_id=self.id,
            event_name=event_name,
            occurred_at=self.occurred_at,
            identity=self._visitor_id_user_id_and_email(),
            properties={name: value for name, value in (properties or {}).items() if value is not None},
            external_ids={name: id_ for name, id_ in ids.items() if id_ is not None},
            test=self.test,
            **states_or_payments,
        )

    @property
    def customer_id(self) -> str | None:
        """Id of the customer."""
        about = self.object
        return (
            about.required_text("id")
            if about.text("object") == "customer"
            else referenced_id(about, "customer")
        )

    def required_currency(self) -> str:
        """Returns the currency of all amounts of the object.

        Raises:
            ValueError: it names none.
        """
        code = self.object.currency("currency")
        if code is None:
            raise ValueError("currency is missing")
        return code

    def required_amount_in_stripe_units(self, field_name: str) -> Decimal:
        """Returns an amount of the object in Stripe's units.

        Raises:
            ValueError: it is missing.
        """
        amount = self.object.number(field_name)
        if amount is None:
            raise ValueError(f"{field_name} is missing")
        return amount

    def _visitor_id_user_id_and_email(self) -> dict[str, str]:
        about = self.object
        metadata = (
            about.object("metadata"),
            *(inner.object("metadata") for inner in subscription_details(about)),
        )
        known = {
            "visitor_id": about.text("client_reference_id") or _first_text(metadata, "visitor_id"),
            "user_id": _first_text(metadata, "user_id"),
            "email": about.text("email")
            or about.text("customer_email")
            or about.text("receipt_email")
            or about.object("customer_details").text("email")
            or about.object("billing_details").text("email"),
        }
        return {name: id_ for name, id_ in known.items() if id_ is not None}


def referenced_id(fields: MessageFields, name: str) -> str | None:
    """Returns the id of a referenced object, whether the reference is expanded or not."""
    return fields.text(name) or fields.object(name).text("id")


def subscription_details(invoice: MessageFields) -> tuple[MessageFields, MessageFields]:
    """Returns the subscription details of an invoice as API versions since 2025-03-31 have them, and as earlier ones do."""
    return invoice.object("parent").object("subscription_details"), invoice.object("subscription_details")


def _first_text(candidates: tuple[MessageFields, ...], field_name: str) -> str | None:
    return next((text for candidate in candidates if (text := candidate.text(field_name))), None)
