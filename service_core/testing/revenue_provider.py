"""The conformance kit of revenue providers: the tests that every provider with webhooks passes.

Override the fixture ``harness`` with the provider, its signature and sample messages, and inherit the tests::

    class TestShop(RevenueProviderConformance):
        @pytest.fixture
        def harness(self) -> ProviderHarness:
            return ProviderHarness(
                Shop(), {"webhook_secret": "s"}, signed, samples=(Sample(SALE, "purchase"),), unknown=...
            )
"""

import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, Final

import pytest

from service_core.commerce.providers.map_message import (
    IDENTITY_BOUND_EVENT,
    UnmappedMessage,
    map_verified_delivery,
    to_received_event,
)
from service_core.commerce.providers.models import MappedMessage, WebhookDelivery
from service_core.commerce.providers.ports import RevenueProvider
from service_core.commerce.providers.signatures import TOLERANCE_SECONDS
from service_core.ingestion.amounts import CHARGE_COMPONENTS
from service_core.ingestion.enrichment import Enricher
from service_core.ingestion.event_names import PURCHASE_EVENTS, REFUND_EVENTS
from service_core.ingestion.models import Event, QueuedEvent
from service_core.ingestion.traffic_classification import TrafficClassifier
from service_core.ingestion.validation import ValidatedEvent, validate_name_and_identity
from service_core.testing.ingestion_stubs import (
    NOON,
    WORKSPACE_ID,
    StubDevices,
    StubGeo,
    StubPublicSuffixes,
    make_workspace,
    parse_and_enrich_body,
)

ACCOUNT: Final = "acct_1"
_WITHIN_TOLERANCE: Final = timedelta(seconds=TOLERANCE_SECONDS - 1)
_BEYOND_TOLERANCE: Final = timedelta(seconds=TOLERANCE_SECONDS + 1)
_WRONG_VALUES: Final[tuple[Any, ...]] = (
    None,
    True,
    0,
    -1,
    1.5,
    10**30,
    "",
    "x",
    "\0",
    [],
    [None],
    {},
    {"id": {}},
)
_INVALID_SIGNATURES: Final = ("", " ", "x", "t=,v1=", "\xff\0", "=" * 5_000)
_ENRICHER: Final = Enricher(StubDevices(), StubGeo(), TrafficClassifier(StubPublicSuffixes()))

SignMessage = Callable[[bytes, Mapping[str, str], datetime], Mapping[str, str]]
"""Body, secrets and time of signing -> the signature headers, with names in lower case."""


@dataclass(frozen=True, slots=True)
class Sample:
    """A message as its provider documents it, and the event it becomes. Small messages keep the kit fast.

    Attributes:
        body: the JSON object of the message.
        event_name: name of the event; None for a message with identities only.
        headers: headers that name its kind, without signatures.
        test: whether the message is marked as a test.
        revenue: revenue of the event in minor units.
    """

    body: Mapping[str, Any]
    event_name: str | None
    headers: Mapping[str, str] = field(default_factory=dict)
    test: bool = False
    revenue: int | None = None


@dataclass(frozen=True, slots=True)
class ProviderHarness:
    """A provider, its signature and its sample messages.

    Attributes:
        samples: at least one message of each kind that the provider maps, all different.
        unknown: a genuine message of a kind that the provider does not map.
        signs_body, signs_time: whether the signature covers them; a fixed password covers neither.
        signs_with_public_key: whether the signature is checked with a key that anybody may know.
    """

    provider: RevenueProvider
    secrets: Mapping[str, str]
    sign: SignMessage
    samples: tuple[Sample, ...]
    unknown: Sample
    signs_body: bool = True
    signs_time: bool = True
    signs_with_public_key: bool = False

    def make_delivery(
        self, sample: Sample, *, signed_at: datetime = NOON, body: bytes | None = None
    ) -> WebhookDelivery:
        """Returns a signed delivery, received at `NOON`, of a sample or of another body."""
        content = json.dumps(sample.body).encode() if body is None else body
        signature = self.sign(content, self.secrets, signed_at)
        return WebhookDelivery({**sample.headers, **signature}, content, NOON)

    def map_sample(self, sample: Sample, other_body: Mapping[str, Any] | None = None) -> MappedMessage:
        """Returns the mapping of a sample, or of another body under its headers."""
        body = sample.body if other_body is None else other_body
        return self.provider.map_message(body, self.make_delivery(sample), ACCOUNT)

    def queued_and_enriched_event(self, sample: Sample) -> Event:
        """Returns the event row of a sample after mapping, validation, queueing and enrichment."""
        mapped = map_verified_delivery(self.provider, self.make_delivery(sample), ACCOUNT, json.loads)
        assert isinstance(mapped, MappedMessage), mapped
        arrival = to_received_event(WORKSPACE_ID, self.provider, self.make_delivery(sample), mapped)
        body = json.loads(arrival.body)
        assert isinstance(validate_name_and_identity(body), ValidatedEvent)
        return parse_and_enrich_body(_ENRICHER, QueuedEvent(1, arrival), body, workspace=make_workspace())


class RevenueProviderConformance:
    """All tests of the kit; override the fixture ``harness``."""

    @pytest.fixture
    def harness(self) -> ProviderHarness:
        """Returns the provider under test."""
        raise pytest.UsageError("override the fixture `harness` with the provider under test")

    def test_verify_signature_accepts_genuine_deliveries(self, harness: ProviderHarness) -> None:
        """`verify_signature` accepts each sample, and a message of an unknown kind, as signed."""
        for sample in (*harness.samples, harness.unknown):
            assert harness.provider.verify_signature(harness.make_delivery(sample), harness.secrets)

    def test_verify_signature_refuses_missing_and_altered_headers(self, harness: ProviderHarness) -> None:
        """A delivery whose signature header is missing, empty, malformed or altered is not verified."""
        genuine = harness.make_delivery(harness.samples[0])
        signature_headers = harness.sign(genuine.body, harness.secrets, NOON)
        for name, value in signature_headers.items():
            others = {key: text for key, text in genuine.headers.items() if key != name}
            assert not self._is_verified(harness, others, genuine.body), f"without {name}"
            for invalid in (*_INVALID_SIGNATURES, _alter_middle_character(value)):
                assert not self._is_verified(harness, {**others, name: invalid}, genuine.body), (
                    f"{name}: {invalid[:20]}"
                )
        assert not self._is_verified(harness, {}, genuine.body)

    def test_verify_signature_refuses_other_empty_and_missing_secrets(self, harness: ProviderHarness) -> None:
        """A delivery is not verified with another secret, an empty one or none, even when it was signed with an empty one."""
        genuine = harness.make_delivery(harness.samples[0])
        blank = dict.fromkeys(harness.secrets, "")
        for secrets in (
            {},
            blank,
            {name: _alter_middle_character(value) for name, value in harness.secrets.items()},
        ):
            assert not harness.provider.verify_signature(genuine, secrets)
        try:
            signed_with_nothing = harness.sign(genuine.body, blank, NOON)
        except ValueError:
            return
        assert not harness.provider.verify_signature(
            WebhookDelivery(signed_with_nothing, genuine.body, NOON), blank
        )

    def test_verify_signature_refuses_a_changed_body_where_the_body_is_signed(
        self, harness: ProviderHarness
    ) -> None:
        """A changed, cut or empty body is not verified where the signature covers the body."""
        if not harness.signs_body:
            pytest.skip("the body is not signed")
        genuine = harness.make_delivery(harness.samples[0])
        body = genuine.body
        for other in (b"", body[:-1], body[: len(body) // 2], body + b" ", body[1:], body.swapcase()):
            assert not self._is_verified(harness, genuine.headers, other)

    def test_verify_signature_refuses_times_over_300_seconds_off_where_time_is_signed(
        self, harness: ProviderHarness
    ) -> None:
        """A delivery signed more than 300 seconds before or after is not verified where the signature covers the time."""
        if not harness.signs_time:
            pytest.skip("the time is not signed")
        for offset, is_valid in (
            (_WITHIN_TOLERANCE, True),
            (-_WITHIN_TOLERANCE, True),
            (_BEYOND_TOLERANCE, False),
            (-_BEYOND_TOLERANCE, False),
        ):
            delivery = harness.make_delivery(harness.samples[0], signed_at=NOON + offset)
            assert harness.provider.verify_signature(delivery, harness.secrets) is is_valid, offset

    def test_verify_signature_compares_in_constant_time(self, harness: ProviderHarness) -> None:
        """A signature made with a secret is compared by `hmac.compare_digest`, whose duration tells nothing about it."""
        if harness.signs_with_public_key:
            pytest.skip("the key is not secret")
        delivery = harness.make_delivery(harness.samples[0])
        with _record_builtin_calls() as called:
            harness.provider.verify_signature(delivery, harness.secrets)
        assert any("compare_digest" in name for name in called)

    def test_samples_map_to_their_event_test_mark_and_exact_amounts(self, harness: ProviderHarness) -> None:
        """Each sample maps to its event name and test mark, amounts are exact texts, subscription reports have ids and UTC times."""
        for sample in harness.samples:
            mapped = harness.map_sample(sample)
            assert (mapped.event_name, mapped.test) == (sample.event_name, sample.test), sample.body
            assert not mapped.is_unknown_kind
            assert mapped.occurred_at.tzinfo is UTC
            _assert_decimal_text_amounts_with_currency(mapped.properties)
            reports: list[Any] = [*mapped.states, *mapped.payments]
            for report in reports:
                assert (report.provider, report.account_id) == (harness.provider.id, ACCOUNT)
                assert (report.message_id, report.test) == (mapped.message_id, mapped.test)
                assert report.subscription_id
                assert report.at.tzinfo is UTC

    def test_event_names_are_in_snake_case(self, harness: ProviderHarness) -> None:
        """Names of events are lower-case words joined by underscores, as Touchpoint names its own."""
        for sample in harness.samples:
            name = harness.map_sample(sample).event_name
            assert name is None or re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", name), name

    def test_money_given_back_is_negative_and_money_paid_is_not(self, harness: ProviderHarness) -> None:
        """An event of `REFUND_EVENTS` has no positive revenue, and a purchase no negative one."""
        for sample in harness.samples:
            mapped = harness.map_sample(sample)
            revenue = Decimal(mapped.properties.get("revenue", 0))
            assert mapped.event_name not in REFUND_EVENTS or revenue <= 0, sample.body
            assert mapped.event_name not in PURCHASE_EVENTS or revenue >= 0, sample.body

    def test_money_given_back_names_its_order_or_payment(self, harness: ProviderHarness) -> None:
        """A negative revenue has an `order_id` or `payment_id`, without which no charge is reduced by it."""
        for sample in harness.samples:
            properties = harness.map_sample(sample).properties
            if Decimal(properties.get("revenue", 0)) < 0:
                assert properties.get("order_id") or properties.get("payment_id"), sample.body

    def test_minor_units_follow_the_currency(self, harness: ProviderHarness) -> None:
        """A message that gives minor units gives whole yen in a currency without decimals."""
        for sample in harness.samples:
            mapped = harness.map_sample(sample)
            currency, revenue = mapped.properties.get("currency"), sample.revenue
            if not revenue or abs(revenue) not in _values_of_type(sample.body, int):
                continue
            in_yen = json.loads(
                re.sub(rf'"{currency}"', '"JPY"', json.dumps(sample.body), flags=re.IGNORECASE)
            )
            with suppress(ValueError):
                mapped = harness.map_sample(sample, in_yen)
                assert Decimal(mapped.properties["revenue"]) == revenue, sample.body

    def test_samples_become_event_rows_with_source_revenue_and_no_visit_columns(
        self, harness: ProviderHarness
    ) -> None:
        """The event of a sample has the provider as source, its revenue, no browser, country or page, and makes no touch."""
        for sample in harness.samples:
            event = harness.queued_and_enriched_event(sample)
            assert event.event_name == (sample.event_name or IDENTITY_BOUND_EVENT)
            assert (event.source, event.is_test, event.is_bot) == (harness.provider.id, sample.test, False)
            assert event.revenue == sample.revenue, sample.body
            assert (event.browser, event.country, event.ip, event.page_url) == (None,) * 4
            assert not event.touchable

    def test_message_ids_are_unique_and_equal_when_a_message_is_redelivered(
        self, harness: ProviderHarness
    ) -> None:
        """Each message has its own id, and a later delivery of it has the same id and mapping."""
        ids = set()
        for sample in (*harness.samples, harness.unknown):
            first = harness.map_sample(sample)
            again = harness.make_delivery(sample, signed_at=NOON + timedelta(seconds=30))
            later = WebhookDelivery(again.headers, again.body, NOON + timedelta(minutes=2))
            second = harness.provider.map_message(sample.body, later, ACCOUNT)
            assert first.message_id == second.message_id
            assert first == second or first.is_unknown_kind
            ids.add(first.message_id)
        assert "" not in ids
        assert len(ids) == len(harness.samples) + 1

    def test_unknown_message_kind_is_marked_and_has_a_message_id(self, harness: ProviderHarness) -> None:
        """A message of an unknown kind is marked as such and has an id."""
        mapped = harness.map_sample(harness.unknown)
        assert mapped.is_unknown_kind
        assert mapped.message_id

    def test_malformed_values_are_mapped_or_raise_value_error(self, harness: ProviderHarness) -> None:
        """With any value missing or wrong, a message maps to a valid event or raises `ValueError` without its e-mail addresses, nothing else."""
        for sample in (*harness.samples, harness.unknown):
            for message in _variants_with_one_value_wrong_or_missing(sample.body):
                try:
                    mapped = harness.map_sample(sample, message)
                except ValueError as problem:
                    reason = str(problem)
                    emails = [text for text in _values_of_type(message, str) if "@" in text]
                else:
                    arrival = to_received_event(
                        WORKSPACE_ID, harness.provider, harness.make_delivery(sample), mapped
                    )
                    assert validate_name_and_identity(json.loads(arrival.body)), message
                    continue
                assert not any(email in reason for email in emails), "operators read the text of an error"

    def test_body_that_is_no_json_object_is_kept_unchanged_as_unmapped(
        self, harness: ProviderHarness
    ) -> None:
        """A body that is not a JSON object is unmapped, and is queued byte for byte."""
        for body in (b"", b"[]", b"{", b'"x"', b"\xff", b"null"):
            delivery = harness.make_delivery(harness.samples[0], body=body)
            unmapped = map_verified_delivery(harness.provider, delivery, ACCOUNT, json.loads)
            assert isinstance(unmapped, UnmappedMessage)
            assert to_received_event(WORKSPACE_ID, harness.provider, delivery, unmapped).body == body

    @staticmethod
    def _is_verified(harness: ProviderHarness, headers: Mapping[str, str], body: bytes) -> bool:
        return harness.provider.verify_signature(WebhookDelivery(headers, body, NOON), harness.secrets)


def _alter_middle_character(text: str) -> str:
    """Returns the text with its middle character replaced."""
    middle = len(text) // 2
    return text[:middle] + ("1" if text[middle] != "1" else "2") + text[middle + 1 :]


@contextmanager
def _record_builtin_calls() -> Iterator[list[str]]:
    """Records the names of the functions of C modules that this thread calls."""
    names: list[str] = []
    before = sys.getprofile()
    sys.setprofile(
        lambda _frame, event, function: names.append(function.__name__) if event == "c_call" else None
    )
    try:
        yield names
    finally:
        sys.setprofile(before)


def _assert_decimal_text_amounts_with_currency(properties: Mapping[str, Any]) -> None:
    """Asserts that amounts are finite decimal texts, components are not negative, and a currency is given."""
    amounts = {name: properties[name] for name in ("revenue", *CHARGE_COMPONENTS) if name in properties}
    for name, amount in amounts.items():
        assert isinstance(amount, str), f"{name} is not a text"
        assert Decimal(amount).is_finite()
        assert name == "revenue" or Decimal(amount) >= 0
    if amounts:
        currency = properties["currency"]
        assert currency == currency.upper()
        assert len(currency) == len("EUR")
    json.dumps(dict(properties), allow_nan=False)


def _variants_with_one_value_wrong_or_missing(message: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yields copies of the message, each with one value left out or replaced by a value of another kind."""
    for path in [*_value_paths(message)]:
        *parents, last_key = path
        for wrong in (*_WRONG_VALUES, KeyError):
            variant = deepcopy(dict(message))
            container: Any = variant
            for key in parents:
                container = container[key]
            if wrong is KeyError:
                del container[last_key]
            else:
                container[last_key] = wrong
            yield variant


def _value_paths(value: Any, parent_path: tuple[Any, ...] = ()) -> Iterable[tuple[Any, ...]]:
    """Returns the path of every value in a JSON document, containers included."""
    keys: Iterable[Any] = value if isinstance(value, dict) else range(len(value))
    for key in keys:
        yield (*parent_path, key)
        if isinstance(value[key], dict | list):
            yield from _value_paths(value[key], (*parent_path, key))


def _values_of_type(message: Mapping[str, Any], kind: type) -> list[Any]:
    """Returns the values of exactly this type, wherever they stand in a JSON document."""
    found = []
    for path in _value_paths(message):
        value: Any = message
        for key in path:
            value = value[key]
        found += [value] if type(value) is kind else []
    return found
