"""Webhook sources that are wrong in one thing, and the promise that catches each."""

from dataclasses import replace
from uuid import uuid4

from tests.plugin_kits.examples import load_example
from tests.plugin_kits.wrong_plugin import WrongPlugin

EXAMPLE, TESTS = load_example("webhook_source")
Right = EXAMPLE.RightWebhookSource


class WrongSource(WrongPlugin, TESTS.TestRightWebhookSource):
    example, plugin_name = EXAMPLE, "RightWebhookSource"


class ChangedMapping(Right):
    """Changes what the right source maps a message to."""

    def map_message(self, message, delivery, account_id):
        mapped = super().map_message(message, delivery, account_id)
        return mapped if mapped.event_name is None else self.change(mapped)


class TestSignatureIsNotChecked(WrongSource, promise="verify_signature_refuses_missing_and_altered_headers"):
    class Plugin(Right):
        def verify_signature(self, delivery, secrets):
            return True


class TestEventHasAnAmount(WrongSource, promise="no_event_of_a_source_is_money"):
    class Plugin(ChangedMapping):
        def change(self, mapped):
            return replace(mapped, properties={**mapped.properties, "value": 12})


class TestEventIsRevenue(WrongSource, promise="no_event_of_a_source_is_money"):
    class Plugin(ChangedMapping):
        def change(self, mapped):
            return replace(mapped, properties={**mapped.properties, "revenue": 12, "currency": "EUR"})


class TestEventIsAPurchase(WrongSource, promise="no_event_of_a_source_is_money"):
    class Plugin(ChangedMapping):
        def change(self, mapped):
            return replace(mapped, event_name="purchase")


class TestEventHasAnotherName(WrongSource, promise="samples_map_to_their_event_test_mark_and_exact_amounts"):
    class Plugin(ChangedMapping):
        def change(self, mapped):
            return replace(mapped, event_name="form_submitted")


class TestMessageIdIsNewEachTime(
    WrongSource, promise="message_ids_are_unique_and_equal_when_a_message_is_redelivered"
):
    class Plugin(ChangedMapping):
        def change(self, mapped):
            return replace(mapped, message_id=str(uuid4()))


class TestUnknownKindIsAnEvent(WrongSource, promise="unknown_message_kind_is_marked_and_has_a_message_id"):
    class Plugin(Right):
        def map_message(self, message, delivery, account_id):
            return super().map_message({**message, "kind": "form.filled"}, delivery, account_id)


class TestDamagedMessageIsAServerError(
    WrongSource, promise="malformed_values_are_mapped_or_raise_value_error", raises=AttributeError
):
    class Plugin(Right):
        def map_message(self, message, delivery, account_id):
            message["form"].strip()
            return super().map_message(message, delivery, account_id)
