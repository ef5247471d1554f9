"""The conformance kit of revenue providers: what everything that brings one must do.

Say in a fixture how it signs and what it sends, and inherit the rest::

    class TestShop(RevenueProviderConformance):
        @pytest.fixture
        def sender(self) -> Sender:
            return Sender(
                Shop(), {"webhook_secret": "s"}, signed, samples=(Sample(SALE, "purchase"),), unknown=...
            )
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, Final

import pytest

from service_core.commerce.providers.map_message import (
    IDENTITY_BOUND_EVENT,
    UnmappedMessage,
    map_delivery,
    to_arrival,
)
from service_core.commerce.providers.models import MappedMessage, WebhookDelivery
from service_core.commerce.providers.ports import RevenueProvider
from service_core.commerce.providers.signatures import TOLERANCE_SECONDS
from service_core.ingestion.amounts import CHARGE_COMPONENTS
from service_core.ingestion.enrichment import Enricher
from service_core.ingestion.models import Event, QueuedEvent
from service_core.ingestion.traffic_classification import TrafficClassifier
from service_core.ingestion.validation import ValidatedEvent, validate_event
from service_core.testing.ingestion_stubs import (
    NOON,
    WORKSPACE_ID,
    StubDevices,
    StubGeo,
    StubPublicSuffixes,
    enrich_body,
    make_workspace,
)

ACCOUNT: Final = "acct_1"
_INSIDE: Final = timedelta(seconds=TOLERANCE_SECONDS - 1)
_OUTSIDE: Final = timedelta(seconds=TOLERANCE_SECONDS + 1)
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
"""Body, secrets and time of sending -> the headers that prove who sent it, in lower case."""


@dataclass(frozen=True, slots=True)
class Sample:
    """A message as its provider documents it, and what it becomes; lean ones make the kit quick.

    Attributes:
        body: as JSON.
        event_name: of the event; None for identity only.
        headers: that say what it is, signatures apart.
        test: whether the provider marks it as a test.
        revenue: the event's, in minor units.
    """

    body: Mapping[str, Any]
    event_name: str | None
    headers: Mapping[str, str] = field(default_factory=dict)
    test: bool = False
    revenue: int | None = None


@dataclass(frozen=True, slots=True)
class ProviderHarness:
    """A provider, and how it is sent messages.

    Attributes:
        samples: at least one of every kind it maps, each another message.
        unknown: a genuine message of a kind it does not map.
        signs_body, signs_time: whether the signature is over them; a fixed password is over neither.
    """

    provider: RevenueProvider
    secrets: Mapping[str, str]
    sign: SignMessage
    samples: tuple[Sample, ...]
    unknown: Sample
    signs_body: bool = True
    signs_time: bool = True

    def make_delivery(
        self, sample: Sample, *, sent: datetime = NOON, body: bytes | None = None
    ) -> WebhookDelivery:
        """A message as it comes at noon."""
        content = json.dumps(sample.body).encode() if body is None else body
        signature = self.sign(content, self.secrets, sent)
        return WebhookDelivery({**sample.headers, **signature}, content, NOON)

    def map_sample(self, sample: Sample, message: Mapping[str, Any] | None = None) -> MappedMessage:
        """What a message says."""
        told = sample.body if message is None else message
        return self.provider.map_message(told, self.make_delivery(sample), ACCOUNT)

    def event_row(self, sample: Sample) -> Event:
        """The event row that a message becomes."""
        told = map_delivery(self.provider, self.make_delivery(sample), ACCOUNT, json.loads)
        assert isinstance(told, MappedMessage), told
        arrival = to_arrival(WORKSPACE_ID, self.provider, self.make_delivery(sample), told)
        body = json.loads(arrival.body)
        assert isinstance(validate_event(body), ValidatedEvent)
        return enrich_body(_ENRICHER, QueuedEvent(1, arrival), body, workspace=make_workspace())


class RevenueProviderConformance:
    """Every scenario of the kit; override the fixture ``sender``."""

    @pytest.fixture
    def sender(self) -> ProviderHarness:
        """The provider under test."""
        raise pytest.UsageError("override the fixture `sender` with the provider under test")

    def test_what_it_signed_is_genuine(self, sender: ProviderHarness) -> None:
        for sample in (*sender.samples, sender.unknown):
            assert sender.provider.verify_signature(sender.make_delivery(sample), sender.secrets)

    def test_what_is_forged_is_not(self, sender: ProviderHarness) -> None:
        genuine = sender.make_delivery(sender.samples[0])
        proof = sender.sign(genuine.body, sender.secrets, NOON)
        for name, value in proof.items():
            others = {key: text for key, text in genuine.headers.items() if key != name}
            assert not self._holds(sender, others, genuine.body), f"without {name}"
            for junk in (*_INVALID_SIGNATURES, _alter_middle_character(value)):
                assert not self._holds(sender, {**others, name: junk}, genuine.body), f"{name}: {junk[:20]}"
        assert not self._holds(sender, {}, genuine.body)

    def test_another_secret_or_none_proves_nothing(self, sender: ProviderHarness) -> None:
        genuine = sender.make_delivery(sender.samples[0])
        blank = dict.fromkeys(sender.secrets, "")
        for secrets in (
            {},
            blank,
            {name: _alter_middle_character(value) for name, value in sender.secrets.items()},
        ):
            assert not sender.provider.verify_signature(genuine, secrets)
        try:
            signed_with_nothing = sender.sign(genuine.body, blank, NOON)
        except ValueError:
            return
        assert not sender.provider.verify_signature(
            WebhookDelivery(signed_with_nothing, genuine.body, NOON), blank
        )

    def test_a_body_that_was_changed_or_cut_is_not_genuine(self, sender: ProviderHarness) -> None:
        if not sender.signs_body:
            pytest.skip("the body is not signed")
        genuine = sender.make_delivery(sender.samples[0])
        body = genuine.body
        for other in (b"", body[:-1], body[: len(body) // 2], body + b" ", body[1:], body.swapcase()):
            assert not self._holds(sender, genuine.headers, other)

    def test_what_was_signed_more_than_300_seconds_off_is_not_genuine(self, sender: ProviderHarness) -> None:
        if not sender.signs_time:
            pytest.skip("the time is not signed")
        for sent, holds in ((_INSIDE, True), (-_INSIDE, True), (_OUTSIDE, False), (-_OUTSIDE, False)):
            delivery = sender.make_delivery(sender.samples[0], sent=NOON + sent)
            assert sender.provider.verify_signature(delivery, sender.secrets) is holds, sent

    def test_a_message_says_what_it_documents(self, sender: ProviderHarness) -> None:
        for sample in sender.samples:
            mapped = sender.map_sample(sample)
            assert (mapped.event_name, mapped.test) == (sample.event_name, sample.test), sample.body
            assert not mapped.is_unknown_kind
            assert mapped.occurred_at.tzinfo is UTC
            _assert_exact_amounts(mapped.properties)
            facts: list[Any] = [*mapped.states, *mapped.payments]
            for fact in facts:
                assert (fact.provider, fact.account_id) == (sender.provider.id, ACCOUNT)
                assert (fact.message_id, fact.test) == (mapped.message_id, mapped.test)
                assert fact.subscription_id
                assert fact.at.tzinfo is UTC

    def test_a_message_becomes_an_event_of_its_provider(self, sender: ProviderHarness) -> None:
        for sample in sender.samples:
            event = sender.event_row(sample)
            assert event.event_name == (sample.event_name or IDENTITY_BOUND_EVENT)
            assert (event.source, event.is_test, event.is_bot) == (sender.provider.id, sample.test, False)
            assert event.revenue == sample.revenue, sample.body
            assert (event.browser, event.country, event.ip, event.page_url) == (None,) * 4
            assert not event.touchable

    def test_every_message_has_an_id_that_stays_when_it_comes_again(self, sender: ProviderHarness) -> None:
        ids = set()
        for sample in (*sender.samples, sender.unknown):
            first = sender.map_sample(sample)
            again = sender.make_delivery(sample, sent=NOON + timedelta(seconds=30))
            later = WebhookDelivery(again.headers, again.body, NOON + timedelta(minutes=2))
            second = sender.provider.map_message(sample.body, later, ACCOUNT)
            assert first.message_id == second.message_id
            assert first == second or first.is_unknown_kind
            ids.add(first.message_id)
        assert "" not in ids
        assert len(ids) == len(sender.samples) + 1

    def test_a_kind_of_message_nobody_knows_says_nothing_and_has_an_id(self, sender: ProviderHarness) -> None:
        mapped = sender.map_sample(sender.unknown)
        assert mapped.is_unknown_kind
        assert mapped.message_id

    def test_whatever_a_message_holds_in_place_of_a_value_it_is_read_or_refused(
        self, sender: ProviderHarness
    ) -> None:
        for sample in (*sender.samples, sender.unknown):
            for message in _malformed_variants(sample.body):
                try:
                    mapped = sender.map_sample(sample, message)
                except ValueError:
                    continue
                arrival = to_arrival(WORKSPACE_ID, sender.provider, sender.make_delivery(sample), mapped)
                assert validate_event(json.loads(arrival.body)), message

    def test_a_body_that_is_no_object_is_kept_as_it_came(self, sender: ProviderHarness) -> None:
        for body in (b"", b"[]", b"{", b'"x"', b"\xff", b"null"):
            delivery = sender.make_delivery(sender.samples[0], body=body)
            told = map_delivery(sender.provider, delivery, ACCOUNT, json.loads)
            assert isinstance(told, UnmappedMessage)
            assert to_arrival(WORKSPACE_ID, sender.provider, delivery, told).body == body

    @staticmethod
    def _holds(sender: ProviderHarness, headers: Mapping[str, str], body: bytes) -> bool:
        return sender.provider.verify_signature(WebhookDelivery(headers, body, NOON), sender.secrets)


def _alter_middle_character(text: str) -> str:
    """The text with the character in its middle replaced."""
    middle = len(text) // 2
    return text[:middle] + ("1" if text[middle] != "1" else "2") + text[middle + 1 :]


def _assert_exact_amounts(properties: Mapping[str, Any]) -> None:
    """Amounts are exact texts, and say in which currency."""
    amounts = {name: properties[name] for name in ("revenue", *CHARGE_COMPONENTS) if name in properties}
    for name, amount in amounts.items():
        assert isinstance(amount, str), f"{name} is no text"
        assert Decimal(amount).is_finite()
        assert name == "revenue" or Decimal(amount) >= 0
    if amounts:
        currency = properties["currency"]
        assert currency == currency.upper()
        assert len(currency) == len("EUR")
    json.dumps(dict(properties), allow_nan=False)


def _malformed_variants(message: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The message with one value replaced by what it cannot be, or left out, each in turn."""
    for path in [*_value_paths(message)]:
        *above, last = path
        for wrong in (*_WRONG_VALUES, KeyError):
            spoilt = deepcopy(dict(message))
            place: Any = spoilt
            for step in above:
                place = place[step]
            if wrong is KeyError:
                del place[last]
            else:
                place[last] = wrong
            yield spoilt


def _value_paths(value: Any, above: tuple[Any, ...] = ()) -> Iterable[tuple[Any, ...]]:
    """Where every value of a document stands."""
    steps: Iterable[Any] = value if isinstance(value, dict) else range(len(value))
    for step in steps:
        yield (*above, step)
        if isinstance(value[step], dict | list):
            yield from _value_paths(value[step], (*above, step))
