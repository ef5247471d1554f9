"""The conformance kit of polled revenue providers: the tests that every provider which lists messages passes.

Override the fixture ``harness`` with a provider and a server on the loopback, and inherit the tests::

    class TestPolledShop(PollingProviderConformance):
        @pytest.fixture
        async def harness(self):
            async with my_server() as server:
                yield PollHarness(
                    Shop().at(server.url), {"api_key": "k"}, (), server.fail_with, server.add_message
                )
"""

import json
from collections.abc import Callable, Collection, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import Final

import pytest

from service_core.commerce.platform_errors import CredentialsRejected, PlatformUnavailable
from service_core.commerce.providers.map_message import UnmappedMessage, map_verified_delivery
from service_core.commerce.providers.models import PolledMessage, WebhookDelivery
from service_core.commerce.providers.ports import PollableProvider, PollRequest
from service_core.testing.ad_platform import RETRY_SECONDS, ServerFailure
from service_core.testing.ingestion_stubs import NOON
from service_core.testing.socket_calls import record_socket_calls

_MESSAGE_COUNT: Final = 5


@dataclass(frozen=True, slots=True)
class PollHarness:
    """A provider and control over the server that it polls.

    Attributes:
        secrets: the credentials of the provider; no answer of the server has them.
        accounts: the accounts of the connection.
        fail_with: makes every later answer of the server the given failure; None ends it.
        add_message: adds one message to those that the server lists.
    """

    provider: PollableProvider
    secrets: Mapping[str, str]
    accounts: tuple[str, ...]
    fail_with: Callable[[ServerFailure | None], None]
    add_message: Callable[[], None]

    def make_poll_request(self, known_ids: Collection[str] = ()) -> PollRequest:
        """Returns a request for all messages; its look-up of known ids answers from ``known_ids``."""

        async def select_known_ids(ids: Collection[str]) -> Collection[str]:
            return set(ids) & set(known_ids)

        return PollRequest(self.secrets, self.accounts, None, (), select_known_ids)

    async def poll_all_messages(self, known_ids: Collection[str] = ()) -> list[PolledMessage]:
        """Returns the messages of all pages of one poll."""
        async with aclosing(self.provider.poll_messages(self.make_poll_request(known_ids))) as pages:
            return [message async for page in pages for message in page]

    def sorted_mapped_message_ids(self, messages: Collection[PolledMessage]) -> list[str]:
        """Returns the sorted ids of messages after mapping; asserts that the provider maps each."""
        mapped = [
            map_verified_delivery(
                self.provider, WebhookDelivery(message.headers, message.body, NOON), "", json.loads
            )
            for message in messages
        ]
        assert not [message for message in mapped if isinstance(message, UnmappedMessage)]
        return sorted(message.message_id for message in mapped)


class PollingProviderConformance:
    """All tests of the kit; override the fixture ``harness``."""

    @pytest.fixture
    async def harness(self) -> PollHarness:
        """Returns the provider under test with its server."""
        raise pytest.UsageError("override the fixture `harness` with the provider under test")

    def test_can_poll_with_polling_secrets_and_not_with_a_webhook_secret_alone(
        self, harness: PollHarness
    ) -> None:
        """The provider is a `PollableProvider` and can poll only with the secrets that polling needs."""
        assert isinstance(harness.provider, PollableProvider)
        assert harness.provider.can_poll(harness.secrets)
        assert not harness.provider.can_poll({"webhook_secret": "s"})

    async def test_polling_lists_each_message_once_with_ids_that_stay_the_same(
        self, harness: PollHarness
    ) -> None:
        """Polling returns each message once under a stable id, and at least the unknown ones when some ids are known."""
        assert await harness.poll_all_messages() == []
        for _ in range(_MESSAGE_COUNT):
            harness.add_message()
        ids = harness.sorted_mapped_message_ids(await harness.poll_all_messages())
        assert len(set(ids)) == len(ids) == _MESSAGE_COUNT
        assert harness.sorted_mapped_message_ids(await harness.poll_all_messages()) == ids
        assert set(
            harness.sorted_mapped_message_ids(await harness.poll_all_messages(known_ids=ids[:2]))
        ) >= set(ids[2:])

    async def test_polling_does_not_block_the_event_loop(self, harness: PollHarness) -> None:
        """No call waits for the server, or sleeps, in the thread of the event loop."""
        harness.add_message()
        with record_socket_calls() as calls:
            await harness.poll_all_messages()
        assert calls.blocking == []

    async def test_rejected_credentials_raise_credentials_rejected_with_a_message(
        self, harness: PollHarness
    ) -> None:
        """Credentials that the server refuses raise `CredentialsRejected` with a text."""
        harness.fail_with(ServerFailure.REFUSED)
        with pytest.raises(CredentialsRejected) as raised:
            await harness.poll_all_messages()
        assert str(raised.value)

    async def test_rate_limited_poll_raises_platform_unavailable_with_retry_after(
        self, harness: PollHarness
    ) -> None:
        """A busy server raises `PlatformUnavailable` with the seconds that the server asked for."""
        harness.fail_with(ServerFailure.BUSY)
        with pytest.raises(PlatformUnavailable) as raised:
            await harness.poll_all_messages()
        assert raised.value.retry_after == RETRY_SECONDS

    @pytest.mark.parametrize(
        "failure", [ServerFailure.GARBAGE, ServerFailure.BROKEN, ServerFailure.CUT, ServerFailure.HALF]
    )
    async def test_unreadable_answer_raises_platform_unavailable_and_a_later_poll_works(
        self, harness: PollHarness, failure: ServerFailure
    ) -> None:
        """Garbage, status 500, a cut connection and half an answer raise `PlatformUnavailable`.

        The next poll returns the message.
        """
        harness.add_message()
        harness.fail_with(failure)
        with pytest.raises(PlatformUnavailable):
            await harness.poll_all_messages()
        harness.fail_with(None)
        assert len(await harness.poll_all_messages()) == 1

    async def test_poll_may_be_closed_after_its_first_page(self, harness: PollHarness) -> None:
        """Closing a poll after its first page raises nothing."""
        for _ in range(_MESSAGE_COUNT):
            harness.add_message()
        async with aclosing(harness.provider.poll_messages(harness.make_poll_request())) as pages:
            assert await anext(pages)
