"""The conformance kit of conversion senders: what they send, and each way in which a server may fail.

Write a server that records conversions in `ReceivedConversions` and rejects the order `REJECTED_ORDER_ID` in the
platform's own way, and override the fixture ``harness`` with it and the sender; pytest needs ``asyncio_mode = "auto"``::

    class TestMySender(ConversionSenderConformance):
        @pytest.fixture
        async def harness(self):
            async with my_server() as server:
                yield SenderHarness(
                    MySender(api=server.url),
                    {"api_key": "hush"},
                    server.received,
                    server.fail_with,
                    server.respond,
                )
"""

import asyncio
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from uuid import UUID

import pytest

from service_core.commerce.platform_errors import CredentialsRejected, PlatformUnavailable
from service_core.delivery.postbacks.models import (
    Accepted,
    ActionSource,
    ClickId,
    Conversion,
    Customer,
    Destination,
    LineItem,
    Rejected,
    SendOutcome,
)
from service_core.delivery.postbacks.ports import BatchRejected, ConversionSender
from service_core.testing.ad_platform import RETRY_SECONDS, ServerFailure
from service_core.testing.socket_calls import record_socket_calls

REJECTED_ORDER_ID: Final = "order_poison"
"""The order id of a conversion that the server always rejects."""
DESTINATION: Final = Destination("1111111111", "9001", "Shop")
OTHER_DESTINATION: Final = Destination("1111111111", "9002")
NOON: Final = datetime(2026, 7, 1, 12, tzinfo=UTC)
CUSTOMER: Final = Customer(
    email=" Ada@Example.com ",
    phone="+1 (555) 123-4567",
    first_name="Ada",
    last_name="Lovelace-Byron",
    gender="female",
    birth_date="1990-12-10",
    city="San Francisco",
    region="CA",
    postal_code="94107-1234",
    country="US",
    ip="203.0.113.7",
    user_agent="Mozilla/5.0",
    fbp="fb.1.1782800000000.1098115397",
    ttp="2F7h37YkS1j57AYSKTI7IHhJPYH",
    user_id="User_1",
    visitor_id="v-1",
    os="iOS",
    os_version="17.4",
)
"""A customer with every field but the click."""
_PERSONAL_DATA: Final = ("ada@example.com", "555", "lovelace", "1990-12-10", "user_1")
"""Texts in lower case that no request may have unhashed."""


@dataclass
class ReceivedConversions:
    """The conversions that a server has accepted, without duplicates, and the bodies it got.

    Attributes:
        accepted: asset id, event id and event name of counted conversions, in order.
        validated: the same of conversions sent to a test destination.
        bodies: the bodies of all requests that send conversions, also of failed ones.
    """

    accepted: list[tuple[str, str, str]] = field(default_factory=list)
    validated: list[tuple[str, str, str]] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)

    def record_unless_duplicate(
        self, asset_id: str, event_id: str, event_name: str, *, is_test: bool
    ) -> None:
        """Adds a conversion to `accepted`, or to `validated` when it is a test, unless it is there already."""
        conversions = self.validated if is_test else self.accepted
        conversion = asset_id, event_id, event_name
        if conversion not in conversions:
            conversions.append(conversion)

    def accepted_event_ids(self, asset_id: str = DESTINATION.asset_id) -> list[str]:
        """Returns the event ids of the counted conversions of an asset, in order."""
        return [event_id for asset, event_id, _ in self.accepted if asset == asset_id]


@dataclass(frozen=True, slots=True)
class SenderHarness:
    """A sender and control over the server that it calls.

    Attributes:
        secrets: valid credentials, each of which is required.
        received: the conversions that the server has.
        fail_with: makes every later answer of the server the given failure.
        respond_with_status: makes every later answer to a sending request the given status with an empty object.
    """

    sender: ConversionSender
    secrets: Mapping[str, str]
    received: ReceivedConversions
    fail_with: Callable[[ServerFailure], None]
    respond_with_status: Callable[[int], None]

    async def send(self, *order_ids: str, destination: Destination = DESTINATION) -> Sequence[SendOutcome]:
        """Sends conversions with these order ids in one call; returns an outcome for each."""
        return await self.sender.send(
            destination, [self.make_conversion(order) for order in order_ids], self.secrets
        )

    def make_conversion(self, order_id: str, **overrides: Any) -> Conversion:
        """Returns a conversion of `CUSTOMER` with every field set, a click of the first supported type, and overrides."""
        platform = self.sender.platform
        click = ClickId(self.sender.limits.click_types[0], f"Click-{order_id}", NOON - timedelta(hours=1))
        conversion = Conversion(
            id=UUID(int=1),
            event=platform.event_names[0] if platform.event_names else "Purchase",
            event_id=order_id,
            occurred_at=NOON,
            action_source=ActionSource.WEBSITE,
            customer=replace(CUSTOMER, click=click),
            source_url="https://shop.example.com/thanks",
            value=12_345,
            currency="USD",
            order_id=order_id,
            line_items=(LineItem("sku-1", 2, 5_000, "Blue shirt"), LineItem("sku-2", 1, 2_345)),
            consent_granted=True,
        )
        return replace(conversion, **overrides)

    async def send_halving_rejected_batches(self, order_ids: Sequence[str]) -> dict[str, SendOutcome]:
        """Returns the outcome of each order id when batches that are rejected whole are sent again in halves.

        A rejected batch of one is `Rejected`, as in the delivery of Touchpoint.
        """
        try:
            return dict(zip(order_ids, await self.send(*order_ids), strict=True))
        except BatchRejected as error:
            if len(order_ids) == 1:
                return {order_ids[0]: Rejected(error.code, error.http_status)}
            half = len(order_ids) // 2
            return {
                **await self.send_halving_rejected_batches(order_ids[:half]),
                **await self.send_halving_rejected_batches(order_ids[half:]),
            }


class ConversionSenderConformance:
    """All tests of the kit; override the fixture ``harness``."""

    @pytest.fixture
    def harness(self) -> SenderHarness:
        """Returns the sender with its server."""
        raise pytest.UsageError(
            "override the fixture `harness` with the sender and a server that takes conversions"
        )

    def test_declared_limits_are_positive_and_name_known_fields(self, harness: SenderHarness) -> None:
        """The declared limits are positive, and match keys and event names are ones that exist."""
        sender, limits = harness.sender, harness.sender.limits
        assert sender.id == sender.platform.id
        assert limits.batch_size >= 1
        assert limits.throttle.calls >= 1
        assert min(limits.age_limit, limits.click_window, limits.throttle.per) > timedelta(0)
        customer_fields = {item.name for item in fields(Customer)} - {"click"}
        assert limits.match_keys
        assert limits.match_keys <= customer_fields | set(limits.click_types)
        assert limits.value_required <= set(sender.platform.event_names)

    async def test_batch_is_accepted_in_order(self, harness: SenderHarness) -> None:
        """Every conversion of a batch is accepted, and the server gets them in their order."""
        outcomes = await harness.send("a", "b", "c")
        assert [type(outcome) for outcome in outcomes] == [Accepted] * 3
        assert harness.received.accepted_event_ids() == ["a", "b", "c"]

    async def test_resending_a_batch_sends_the_same_body_and_counts_once(
        self, harness: SenderHarness
    ) -> None:
        """A batch sent twice has equal bodies and outcomes, and the server counts it once."""
        first, again = await harness.send("a", "b"), await harness.send("a", "b")
        assert [type(outcome) for outcome in (*first, *again)] == [Accepted] * 4
        assert harness.received.accepted_event_ids() == ["a", "b"]
        assert harness.received.bodies[0] == harness.received.bodies[1]

    async def test_repeated_event_id_in_one_batch_is_accepted_and_counts_once(
        self, harness: SenderHarness
    ) -> None:
        """A conversion that is twice in a batch is accepted twice and counts once."""
        outcomes = await harness.send("a", "b", "a")
        assert [type(outcome) for outcome in outcomes] == [Accepted] * 3
        assert harness.received.accepted_event_ids() == ["a", "b"]

    async def test_batch_of_the_declared_size_is_one_request(self, harness: SenderHarness) -> None:
        """As many conversions as `batch_size` go out in one request."""
        orders = [str(number) for number in range(harness.sender.limits.batch_size)]
        assert len(await harness.send(*orders)) == len(orders)
        assert harness.received.accepted_event_ids() == orders
        assert len(harness.received.bodies) == 1

    @pytest.mark.parametrize("position", [0, 2, 4])
    async def test_one_rejected_conversion_leaves_the_others_accepted(
        self, harness: SenderHarness, position: int
    ) -> None:
        """A conversion that the server refuses, at any position, is rejected alone."""
        orders = [*"abcd"]
        orders.insert(position, REJECTED_ORDER_ID)
        outcomes = await harness.send_halving_rejected_batches(orders)
        assert isinstance(outcomes.pop(REJECTED_ORDER_ID), Rejected)
        assert {type(outcome) for outcome in outcomes.values()} == {Accepted}
        assert harness.received.accepted_event_ids() == [*"abcd"]

    async def test_rejection_has_a_code_without_secrets_or_personal_data(
        self, harness: SenderHarness
    ) -> None:
        """The code of a rejection has neither a credential nor personal data."""
        rejected = (await harness.send_halving_rejected_batches([REJECTED_ORDER_ID]))[REJECTED_ORDER_ID]
        assert isinstance(rejected, Rejected)
        assert rejected.code
        _assert_no_secrets_or_personal_data(rejected.code, harness)

    @pytest.mark.parametrize(
        "failure",
        [
            ServerFailure.BUSY,
            ServerFailure.BROKEN,
            ServerFailure.GARBAGE,
            ServerFailure.CUT,
            ServerFailure.HALF,
        ],
    )
    async def test_failing_server_raises_platform_unavailable_and_accepts_nothing(
        self, harness: SenderHarness, failure: ServerFailure
    ) -> None:
        """Rate limits, status 500, garbage, cut and half answers raise `PlatformUnavailable` without secrets or personal data."""
        harness.fail_with(failure)
        with pytest.raises(PlatformUnavailable) as raised:
            await harness.send("a", "b")
        assert failure is ServerFailure.HALF or harness.received.accepted == []
        _assert_no_secrets_or_personal_data(str(raised.value), harness)
        if failure is ServerFailure.BUSY:
            assert raised.value.retry_after in {None, RETRY_SECONDS}

    async def test_calls_do_not_block_the_event_loop(self, harness: SenderHarness) -> None:
        """No call waits for the server, or sleeps, in the thread of the event loop."""
        with record_socket_calls() as calls:
            await harness.send("a", "b")
        assert calls.blocking == []

    @pytest.mark.parametrize("failure", [ServerFailure.BUSY, ServerFailure.BROKEN])
    async def test_failed_request_is_not_sent_again(
        self, harness: SenderHarness, failure: ServerFailure
    ) -> None:
        """A sender leaves retries to the outbox: no request is repeated within a call."""
        harness.fail_with(failure)
        with record_socket_calls() as calls, pytest.raises(PlatformUnavailable):
            await harness.send("a")
        calls.assert_no_request_is_repeated()

    async def test_rejected_credentials_raise_credentials_rejected_without_secrets(
        self, harness: SenderHarness
    ) -> None:
        """Refused credentials raise `CredentialsRejected` whose text has no secret and no personal data."""
        harness.fail_with(ServerFailure.REFUSED)
        with pytest.raises(CredentialsRejected) as raised:
            await harness.send("a")
        _assert_no_secrets_or_personal_data(str(raised.value), harness)

    @pytest.mark.parametrize("status", [408, 429, 500, 502, 503])
    async def test_temporary_http_status_raises_platform_unavailable_with_the_status(
        self, harness: SenderHarness, status: int
    ) -> None:
        """Status 408, 429, 500, 502 and 503 raise `PlatformUnavailable` with that status."""
        harness.respond_with_status(status)
        with pytest.raises(PlatformUnavailable) as raised:
            await harness.send("a")
        assert raised.value.http_status == status

    @pytest.mark.parametrize("status", [401, 403])
    async def test_http_401_and_403_raise_credentials_rejected(
        self, harness: SenderHarness, status: int
    ) -> None:
        """Status 401 and 403 raise `CredentialsRejected`."""
        harness.respond_with_status(status)
        with pytest.raises(CredentialsRejected):
            await harness.send("a")

    @pytest.mark.parametrize("status", [400, 404, 413, 422])
    async def test_other_http_errors_reject_each_conversion_with_the_status(
        self, harness: SenderHarness, status: int
    ) -> None:
        """Status 400, 404, 413 and 422 reject each conversion for good with that status."""
        harness.respond_with_status(status)
        outcomes = await harness.send_halving_rejected_batches(["a", "b"])
        assert [type(outcome) for outcome in outcomes.values()] == [Rejected] * 2
        assert {outcome.http_status for outcome in outcomes.values()} == {status}

    async def test_missing_credential_is_named_in_credentials_rejected(self, harness: SenderHarness) -> None:
        """A missing credential raises `CredentialsRejected` that names it."""
        for name in harness.secrets:
            incomplete = {other: value for other, value in harness.secrets.items() if other != name}
            with pytest.raises(CredentialsRejected, match=name):
                await harness.sender.send(DESTINATION, [harness.make_conversion("a")], incomplete)

    async def test_personal_data_is_hashed_in_the_request(self, harness: SenderHarness) -> None:
        """A request has no e-mail, phone, name, birth date or user id in the clear."""
        await harness.send("a")
        sent = harness.received.bodies[0].decode().lower()
        assert [text for text in _PERSONAL_DATA if text in sent] == []

    async def test_unknown_fields_are_left_out_of_the_request(self, harness: SenderHarness) -> None:
        """A conversion with an e-mail only is accepted, and its request has no empty value."""
        minimal = Conversion(
            UUID(int=2),
            harness.make_conversion("a").event,
            "a",
            NOON,
            ActionSource.SYSTEM,
            Customer(email="a@b.co"),
        )
        (outcome,) = await harness.sender.send(DESTINATION, [minimal], harness.secrets)
        assert isinstance(outcome, Accepted)
        assert list(_paths_of_empty_values(json.loads(harness.received.bodies[0]))) == []

    async def test_test_destination_validates_conversions_without_counting_them(
        self, harness: SenderHarness
    ) -> None:
        """Conversions to a test destination are accepted and validated, but not counted."""
        outcomes = await harness.send(
            "a", "b", destination=replace(DESTINATION, test=True, test_code="TEST42")
        )
        assert [type(outcome) for outcome in outcomes] == [Accepted] * 2
        assert harness.received.accepted == []
        assert [event_id for _, event_id, _ in harness.received.validated] == ["a", "b"]

    async def test_concurrent_batches_reach_their_own_destinations(self, harness: SenderHarness) -> None:
        """Concurrent batches to two destinations reach each its own."""
        await asyncio.gather(
            *(
                harness.send("a", "b", destination=destination)
                for destination in (DESTINATION, OTHER_DESTINATION)
            ),
            harness.send("c"),
        )
        assert sorted(harness.received.accepted_event_ids()) == ["a", "b", "c"]
        assert harness.received.accepted_event_ids(OTHER_DESTINATION.asset_id) == ["a", "b"]


def _assert_no_secrets_or_personal_data(text: str, harness: SenderHarness) -> None:
    """Asserts that a text has no credential and no personal data."""
    assert not any(value in text for value in harness.secrets.values())
    assert not any(value in text.lower() for value in _PERSONAL_DATA)


def _paths_of_empty_values(value: Any, path: str = "") -> Iterator[str]:
    """Yields the path of every None, empty text, list and object in a JSON document."""
    if value in (None, "", [], {}):
        yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from _paths_of_empty_values(item, f"{path}/{key}")
