"""Revenue providers that are wrong in one thing, and the promise that catches each."""

from dataclasses import replace
from typing import ClassVar
from uuid import uuid4

import pytest

from service_core.plugin import MappedMessage, MessageFields, constant_time_equals, hmac_sha256
from service_core.testing.revenue_provider import ProviderHarness, Sample
from tests.plugin_kits.examples import load_example
from tests.plugin_kits.wrong_plugin import WrongPlugin

EXAMPLE, TESTS = load_example("revenue_provider")
Right = EXAMPLE.RightRevenueProvider
RightTests = TESTS.TestRightRevenueProvider


class WrongProvider(WrongPlugin, RightTests):
    example, plugin_name = TESTS, "RightRevenueProvider"


class TestSignatureIsNotChecked(
    WrongProvider, promise="verify_signature_refuses_missing_and_altered_headers"
):
    class Plugin(Right):
        def verify_signature(self, delivery, secrets):
            return True


class TestSignatureIsComparedInVariableTime(
    WrongProvider, promise="verify_signature_compares_in_constant_time"
):
    class Plugin(Right):
        def verify_signature(self, delivery, secrets):
            stamp, _, sent = delivery.headers.get("x-till-signature", "").partition(".")
            return sent == hmac_sha256(secrets["webhook_secret"], f"{stamp}.".encode() + delivery.body).hex()


class TestOldSignatureIsAccepted(
    WrongProvider, promise="verify_signature_refuses_times_over_300_seconds_off_where_time_is_signed"
):
    class Plugin(Right):
        def verify_signature(self, delivery, secrets):
            stamp, _, sent = delivery.headers.get("x-till-signature", "").partition(".")
            expected = hmac_sha256(secrets["webhook_secret"], f"{stamp}.".encode() + delivery.body).hex()
            return constant_time_equals(sent, expected)


class TestEmptySecretSigns(WrongProvider, promise="verify_signature_refuses_other_empty_and_missing_secrets"):
    class Plugin(Right):
        def verify_signature(self, delivery, secrets):
            stamp, _, sent = delivery.headers.get("x-till-signature", "").partition(".")
            secret = secrets.get("webhook_secret", "")
            return constant_time_equals(sent, hmac_sha256(secret, f"{stamp}.".encode() + delivery.body).hex())


class TestSpaceAroundTheBodyIsNotSigned(
    WrongProvider, promise="verify_signature_refuses_a_changed_body_where_the_body_is_signed"
):
    class Plugin(Right):
        def verify_signature(self, delivery, secrets):
            return super().verify_signature(replace(delivery, body=delivery.body.strip()), secrets)


class ChangedMapping(Right):
    """Changes what the right provider maps a message to."""

    def map_message(self, message, delivery, account_id):
        return self.change(super().map_message(message, delivery, account_id))


class TestRefundNamesNoOrder(WrongProvider, promise="money_given_back_names_its_order_or_payment"):
    class Plugin(ChangedMapping):
        def change(self, mapped):
            return replace(mapped, properties={**mapped.properties, "order_id": ""})


class TestRefundIsPositive(WrongProvider, promise="money_given_back_is_negative_and_money_paid_is_not"):
    class Plugin(ChangedMapping):
        def change(self, mapped):
            revenue = mapped.properties.get("revenue", "0").removeprefix("-")
            return replace(mapped, properties={**mapped.properties, "revenue": revenue})


class TestSaleIsNegative(WrongProvider, promise="money_given_back_is_negative_and_money_paid_is_not"):
    class Plugin(ChangedMapping):
        def change(self, mapped):
            revenue = mapped.properties.get("revenue", "0").removeprefix("-")
            return replace(mapped, properties={**mapped.properties, "revenue": f"-{revenue}"})


class TestEventNameIsASentence(WrongProvider, promise="event_names_are_in_snake_case"):
    class Plugin(ChangedMapping):
        def change(self, mapped):
            return replace(mapped, event_name="Sale completed!")


class TestRevenueIsAFloat(
    WrongProvider, promise="samples_map_to_their_event_test_mark_and_exact_amounts", raises=TypeError
):
    class Plugin(ChangedMapping):
        def change(self, mapped):
            revenue = float(mapped.properties.get("revenue", 0))
            return replace(mapped, properties={**mapped.properties, "revenue": revenue})


class TestTestMarkIsLost(WrongProvider, promise="samples_map_to_their_event_test_mark_and_exact_amounts"):
    class Plugin(ChangedMapping):
        def change(self, mapped):
            return replace(mapped, test=False)


class TestTimeHasNoZone(WrongProvider, promise="samples_map_to_their_event_test_mark_and_exact_amounts"):
    class Plugin(ChangedMapping):
        def change(self, mapped):
            return replace(mapped, occurred_at=mapped.occurred_at.replace(tzinfo=None))


class TestMessageIdIsNewEachTime(
    WrongProvider, promise="message_ids_are_unique_and_equal_when_a_message_is_redelivered"
):
    class Plugin(ChangedMapping):
        def change(self, mapped):
            return replace(mapped, message_id=str(uuid4()))


class TestOrderIsTheMessageId(
    WrongProvider, promise="message_ids_are_unique_and_equal_when_a_message_is_redelivered"
):
    class Plugin(ChangedMapping):
        def change(self, mapped):
            return replace(mapped, message_id=mapped.properties.get("order_id", mapped.message_id))


class TestTimeIsThatOfTheDelivery(
    WrongProvider, promise="message_ids_are_unique_and_equal_when_a_message_is_redelivered"
):
    class Plugin(Right):
        def map_message(self, message, delivery, account_id):
            mapped = super().map_message(message, delivery, account_id)
            return replace(mapped, occurred_at=delivery.received_at)


class TestUnknownKindIsASale(WrongProvider, promise="unknown_message_kind_is_marked_and_has_a_message_id"):
    class Plugin(ChangedMapping):
        def change(self, mapped):
            return replace(mapped, event_name=mapped.event_name or "purchase")


class TestMissingValueIsAKeyError(
    WrongProvider, promise="malformed_values_are_mapped_or_raise_value_error", raises=KeyError
):
    class Plugin(Right):
        def map_message(self, message, delivery, account_id):
            return super().map_message({**message, "kind": message["kind"]}, delivery, account_id)


class TestErrorRepeatsTheMessage(WrongProvider, promise="malformed_values_are_mapped_or_raise_value_error"):
    class Plugin(Right):
        def map_message(self, message, delivery, account_id):
            try:
                return super().map_message(message, delivery, account_id)
            except ValueError:
                raise ValueError(f"{message} cannot be read") from None

    @pytest.fixture
    def harness(self):
        sale = Sample(TESTS.SALE | {"email": "ada@example.com"}, "purchase", revenue=450)
        unknown = Sample({"id": "m4", "kind": "opened", "at": 1782900000}, None)
        return ProviderHarness(self.Plugin(), {"webhook_secret": "s3cret"}, TESTS.signed, (sale,), unknown)


CENTS = TESTS.SALE | {"total": 450}
CENTS_BACK = TESTS.BACK | {"total": 100}


class CentTill(Right):
    """Reads minor units, with the decimals of their currency."""

    decimals: ClassVar = {"EUR": 2, "JPY": 0}

    def map_message(self, message, delivery, account_id):
        fields = MessageFields(message)
        cents, decimals = fields.number("total"), self.decimals.get(fields.currency("currency"))
        if fields.text("kind") not in {"sale", "return"} or not cents:
            return super().map_message(message, delivery, account_id)
        if decimals is None:
            raise ValueError("the currency is unknown")
        total = f"{cents.scaleb(-decimals):f}"
        return super().map_message({**message, "total": total}, delivery, account_id)


class TestRightMinorUnits(RightTests):
    """The right plugin, whose wrong one follows."""

    plugin = CentTill

    @pytest.fixture
    def harness(self):
        samples = (Sample(CENTS, "purchase", revenue=450), Sample(CENTS_BACK, "refund", revenue=-100))
        unknown = Sample({"id": "m4", "kind": "opened", "at": 1782900000}, None)
        return ProviderHarness(self.plugin(), {"webhook_secret": "s3cret"}, TESTS.signed, samples, unknown)


class TestYenHaveCents(WrongPlugin, TestRightMinorUnits, promise="minor_units_follow_the_currency"):
    class plugin(CentTill):  # noqa: N801 - it takes the place of an attribute
        decimals: ClassVar = {"EUR": 2, "JPY": 2}


class TestRevenueIsLost(
    WrongProvider, promise="samples_become_event_rows_with_source_revenue_and_no_visit_columns"
):
    class Plugin(Right):
        def map_message(self, message, delivery, account_id):
            mapped = super().map_message(message, delivery, account_id)
            return MappedMessage(mapped.message_id, mapped.event_name, mapped.occurred_at)
